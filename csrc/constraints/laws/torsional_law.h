/* This module reads the pairs of triples of contacts under the law of torsional.h from a pool. */
#ifndef SAPWOOD_CONSTRAINTS_LAWS_TORSIONAL_LAW_H
#define SAPWOOD_CONSTRAINTS_LAWS_TORSIONAL_LAW_H

#include "constraints/laws.h"
#include "constraints/laws/torsional.h"

/* Returns the law of the contact whose own triple is at place i, with its present friction. */
static inline struct sap_radial sap_torsional_get(const struct sap_pool *p, const int cone,
                                                  int32_t i) {
  return (struct sap_radial){sap_pool_get(p, i), cone, cone ? 0 : p->contact.bound[i]};
}

/* Gathers five components of x, stored by row; rotations about (n, t1, t2) times mu_k/mu. */
static inline void sap_torsional_gather(const struct sap_pool *p, int32_t i, double *const x[3],
                                        double x_t[SAP_TORSIONAL]) {
  x_t[0] = x[0][i];
  x_t[1] = x[1][i];
  for (int r = 0; r < 3; ++r) {
    x_t[2 + r] = p->torsional.scale[r][i] * x[r][i + 1];
  }
}

/* Returns the state at the iterate, whose y contains mu_k/mu. */
static inline struct sap_torsional_state sap_torsional_state(const struct sap_pool *p,
                                                             const struct sap_radial *law,
                                                             int32_t i) {
  const double y_t[SAP_TORSIONAL] = {p->y[0][i], p->y[1][i], p->y[0][i + 1], p->y[1][i + 1],
                                     p->y[2][i + 1]};
  return sap_torsional_at_impulse(law, y_t, p->y[2][i]);
}

#endif
