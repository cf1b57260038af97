/* Open contacts that are far from closing wait outside of the problem: listed ahead of time, most
 * never act, but would join islands that have nothing to do with each other. Which may wait is said
 * by far_open.h. With the velocity found it is checked whether it would have been rightly left out:
 * gamma_n = 0 where phi0 + h v_n >= 0. Else something pushed it, which goes on to push others: the
 * step is gathered and solved anew with all contacts. So what is found is what all of them together
 * give.
 * Convex friction, where gamma_n depends on what slides, lets none wait.
 *
 * Ownership: arrays are in blocks of the gather. */
#ifndef SAPWOOD_STEP_INACTIVE_INACTIVE_H
#define SAPWOOD_STEP_INACTIVE_INACTIVE_H

#include "base/memory.h"
#include "sapwood.h"

/* a contact that waits; its row of J_n follows that of the one before */
struct sap_inactive_contact {
  int32_t tree[2]; /* the second -1 for none */
  double phi0;     /* m */
  double h;        /* s */
};

struct sap_inactive {
  int32_t n;
  struct sap_inactive_contact *contacts;
  double *J; /* normal rows of the contacts that wait, compact */
  int64_t nJ;
  int all_act; /* none may wait: one that did had to act */
};

/* `count` contacts of the engine's list */
void sap_inactive_carve(struct sap_inactive *inactive, struct sap_arena *arena, size_t count);

/* Takes an open contact, whose J (3, nv) by trees is given, where it can wait; 0 where it acts. */
int sap_inactive_take(struct sap_inactive *inactive, const sap_forest *forest,
                      const struct sap_inactive_contact *contact, const double *J,
                      const double *v_0, const double *v_star);

/* 1 where one of them has to act at v: from then on all do. */
int sap_inactive_check(struct sap_inactive *inactive, const sap_forest *forest, const double *v);

#endif
