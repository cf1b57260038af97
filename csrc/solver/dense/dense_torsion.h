/* A contact of dense_contacts.h, and its torsional and rolling friction by the law of
 * constraints/laws/torsional.h. */
#ifndef SAPWOOD_SOLVER_DENSE_DENSE_TORSION_H
#define SAPWOOD_SOLVER_DENSE_DENSE_TORSION_H

#include <stdint.h>

#include "constraints/laws/contact.h"
#include "problem/products/vectors.h"
#include "sapwood.h"

/* Torsional and rolling friction of a contact. */
struct sap_dense_torsion {
  const double *J; /* (3, n) angular rows, NULL without torsion */
  int32_t index;   /* index among the spins of the problem */
  double scale[3]; /* mu_k/mu (constraints/laws/torsional.h) */
  double v_c[3], gamma[3];
};

struct sap_dense_contact {
  struct sap_contact law;
  const double *J; /* (3, n) */
  int32_t index;   /* index in the problem */
  double v_c[3], gamma[3], bound;
  struct sap_contact_state at;
  struct sap_dense_torsion spin;
};

/* Gives the contact the spin of this index with rows J (3, n). Returns 0 if a number breaks a
 * rule. */
int sap_dense_torsion_take(struct sap_dense_contact *contact, const sap_spin *spin, int32_t index,
                           const double *J);

/* Continues sap_dense_contact_evaluate() from y of the contact's linear rows. */
double sap_dense_torsion_evaluate(struct sap_dense_contact *contact,
                                  const struct sap_vector_loops *loops, int32_t n, const double *v,
                                  const double y[3], double *impulse);

/* Implements sap_dense_contact_certify() for a contact with torsion. */
double sap_dense_torsion_certify(const struct sap_dense_contact *contact,
                                 const struct sap_vector_loops *loops, int32_t n, const double *v,
                                 double terms, double *e);

void sap_dense_torsion_write(const struct sap_dense_torsion *spin, const sap_solution *solution);

#endif
