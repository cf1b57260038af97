/* Torsional and rolling friction of the contacts of one step: what sap_problem.spin points at.
 *
 *     J    = axes (w_b2 - w_b1)     angular velocities about (n, t1, t2)
 *     mu_k                          the engine's coefficients, m
 *
 * The engine puts its least coefficient, 1e-5, in the place of 0: up to there it is none.
 *
 * Ownership: the arrays lie in the workspace of the gather. */
#ifndef SAPWOOD_STEP_CONTACTS_TORSIONAL_CONTACTS_H
#define SAPWOOD_STEP_CONTACTS_TORSIONAL_CONTACTS_H

#include "base/memory.h"
#include "step/dynamics/point_jacobian.h"
#include "step/contacts/listed_contact.h"

struct sap_torsional_contacts {
  sap_spin spin;    /* over the arrays below; n contacts have such friction */
  int64_t nJ;       /* length of J */
  int32_t *contact; /* (n) */
  double *mu;       /* (n, 3) */
  double *J;
  double *gamma; /* (n, 3) room for the solver's output, N m s */
  double *v_c;   /* (n, 3) rad/s */
};

/* room for up to `count` contacts, but for J; none has such friction yet */
void sap_torsional_contacts_carve(struct sap_torsional_contacts *gather, struct sap_arena *arena,
                                  size_t count);

/* Adds the torsional and rolling friction of a contact of four or six dimensions, number `number`
 * of the problem, where it has any; motion (n_geoms). There must be room in J. A contact whose
 * geoms no dof turns against each other is left out. A surface that turns about n is a fault. */
enum sap_fault sap_torsional_contacts_add(struct sap_torsional_contacts *gather,
                                          const struct sap_forest *forest,
                                          const struct sap_motion *motion, const double *cdof,
                                          const struct sap_contact_list *list,
                                          const struct sap_listed_contact *contact, int32_t number);

#endif
