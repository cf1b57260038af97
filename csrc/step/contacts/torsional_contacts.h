/* Torsional and rolling friction of the contacts of one step, for sap_problem.spin.
 *
 *     J    = axes (w_b2 - w_b1)     angular velocities about (n, t1, t2)
 *     mu_k                          the engine's coefficients, m
 *
 * The engine replaces a coefficient of 0 by its least one, 1e-5: values up to there count as none.
 *
 * Ownership: the arrays lie in the workspace of the gather. */
#ifndef SAPWOOD_STEP_CONTACTS_TORSIONAL_CONTACTS_H
#define SAPWOOD_STEP_CONTACTS_TORSIONAL_CONTACTS_H

#include "base/memory.h"
#include "step/dynamics/point_jacobian.h"
#include "step/contacts/listed_contact.h"

struct sap_torsional_contacts {
  sap_spin spin;    /* view of the arrays below; n contacts have such friction */
  int64_t nJ;       /* length of J */
  int32_t *contact; /* (n) number of the contact in the problem */
  double *mu;       /* (n, 3) */
  double *J;
  double *gamma; /* (n, 3) output of the solver, N m s */
  double *v_c;   /* (n, 3) rad/s */
};

/* Reserves the arrays for up to `count` contacts, without J; none has such friction yet. */
void sap_torsional_contacts_carve(struct sap_torsional_contacts *gather, struct sap_arena *arena,
                                  size_t count);

/* Writes J of a contact between two geoms, the blocks of the trees one after the other. Returns its
 * length, 0 if it is zero. */
int64_t sap_torsional_jacobian(const struct sap_forest *forest, const struct sap_motion *one,
                               const struct sap_motion *two, const double *frame,
                               const double *cdof, double *J);

/* Adds the torsional and rolling friction of contact `number` of the problem, if it has any; the
 * contact has four or six dimensions. J of the contact, of this length, follows the others; it is
 * left out if the length is 0. A surface that turns about n is a fault. */
enum sap_fault sap_torsional_contacts_add(struct sap_torsional_contacts *gather,
                                          const struct sap_contact_list *list,
                                          const struct sap_listed_contact *contact, int32_t number,
                                          int64_t length);

#endif
