/* The inactive set of open contacts. An engine lists contacts in advance, and most never act.
 * sap_is_far_open (far_open.h) selects the contacts that the problem leaves out. After the solve,
 * sap_inactive_check tests whether that was right: gamma_n = 0 where phi0 + h v_n >= 0. Otherwise
 * something pushed the contact, and the step is gathered and solved again with all contacts. So the
 * result is that of all contacts together.
 *
 * Contacts between two trees stay in the problem: bodies of a pile push each other, and nearly all
 * their steps would be solved twice. Convex friction has no inactive contacts, because its gamma_n
 * depends on the sliding velocity.
 *
 * Ownership: the arrays are in blocks of the gather. */
#ifndef SAPWOOD_STEP_INACTIVE_INACTIVE_H
#define SAPWOOD_STEP_INACTIVE_INACTIVE_H

#include "base/memory.h"
#include "sapwood.h"

/* An inactive contact; the rows J_n lie one after the other in the order of the contacts. */
struct sap_inactive_contact {
  int32_t tree; /* the only tree that it moves */
  double phi0;  /* gap, m */
  double h;     /* dt + tau_d, s */
};

struct sap_inactive {
  int32_t n;
  struct sap_inactive_contact *contacts;
  double *J; /* normal rows of the inactive contacts, compact */
  int64_t nJ;
  int all_act; /* 1: no contact may be inactive, since one that was had to act */
};

/* Reserves arrays for `count` contacts of the engine's list. */
void sap_inactive_carve(struct sap_inactive *inactive, struct sap_arena *arena, size_t count);

/* Adds an open contact to the set if it is far open, and returns 1; returns 0 if it must act. J (3,
 * nv) holds its rows. */
int sap_inactive_take(struct sap_inactive *inactive, const sap_forest *forest,
                      const struct sap_inactive_contact *contact, const double *J,
                      const double *v_0, const double *v_star);

/* Returns 1 if a contact of the set has to act at v; from then on all contacts act. */
int sap_inactive_check(struct sap_inactive *inactive, const sap_forest *forest, const double *v);

#endif
