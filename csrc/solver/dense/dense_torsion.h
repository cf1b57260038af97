/* A contact of dense_contacts.h, and what it has of torsional and rolling friction, by the law of
 * constraints/wide.h. */
#ifndef SAPWOOD_SOLVER_DENSE_DENSE_TORSION_H
#define SAPWOOD_SOLVER_DENSE_DENSE_TORSION_H

#include <stdint.h>

#include "constraints/laws/contact.h"
#include "problem/products/vectors.h"
#include "sapwood.h"

/* torsion and rolling of a contact */
struct sap_dense_torsion {
  const double *J; /* (3, n), NULL where there is none */
  int32_t index;   /* of the problem's spins */
  double scale[3]; /* mu_k/mu, as in constraints/wide.h */
  double v_c[3], gamma[3];
};

struct sap_dense_contact {
  struct sap_contact law;
  const double *J; /* (3, n) */
  int32_t index;   /* of the problem */
  double v_c[3], gamma[3], bound;
  struct sap_contact_state at;
  struct sap_dense_torsion spin;
};

/* gives the contact the spin of this index, whose rows are J (3, n); 0 where a number breaks a
 * rule */
int sap_dense_torsion_take(struct sap_dense_contact *contact, const sap_spin *spin, int32_t index,
                           const double *J);

/* sap_dense_contact_evaluate() from y of the contact's own rows on */
double sap_dense_torsion_evaluate(struct sap_dense_contact *contact,
                                  const struct sap_vector_loops *loops, int32_t n, const double *v,
                                  const double y[3], double *impulse);

/* sap_dense_contact_certify() */
double sap_dense_torsion_certify(const struct sap_dense_contact *contact,
                                 const struct sap_vector_loops *loops, int32_t n, const double *v,
                                 double terms, double *e);

void sap_dense_torsion_write(const struct sap_dense_torsion *spin, const sap_solution *solution);

#endif
