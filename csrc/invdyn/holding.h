/* Contacts that hold: their tangential rows, freed of what would be held by forces without bound.
 *
 * Directions of the base that tangential rows T determine by less than a part of what they
 * determine best are left out, T <- T span^T span: two feet whose heights differ by a micrometre
 * would else hold the base from turning, by forces that grow with the inverse of that. And a
 * contact that opens holds nothing: its rows become zero. */
#ifndef SAPWOOD_INVDYN_HOLDING_H
#define SAPWOOD_INVDYN_HOLDING_H

#include "invdyn/unactuated.h"

struct invdyn_holding {
  double *rest; /* (2n, n_b) of the rows of T, what lies beside the span */
  double *span; /* (rank, n_b) orthonormal rows */
  int8_t *open; /* (n) let go in this call */
  int32_t rank;
  double tolerance;
};

/* is it for a controller whose contacts hold? */
static inline int invdyn_is_noslip(const invdyn_settings *settings) {
  return settings->controller == INVDYN_LCP_NOSLIP || settings->controller == INVDYN_QP_NOSLIP;
}

void invdyn_holding_carve(struct invdyn_holding *of, const invdyn_problem *most,
                          struct sap_arena *arena);

/* All contacts of a new problem hold. Directions that tangential rows determine by less than the
 * tolerance, of the longest, are taken from the rows of the reduction. */
void invdyn_hold_all(struct invdyn_holding *of, struct invdyn_reduction *reduction,
                     double tolerance);

/* Lets go of the contacts that open fastest, by velocities u (n, 3) beyond `still`, without a
 * normal impulse of z (n, 3), and finds the span anew; 0 where there are none. */
int invdyn_let_go(struct invdyn_holding *of, struct invdyn_reduction *reduction, const double *z,
                  const double *u, double still);

/* does a contact that was let go push by z (n, 3)? */
int invdyn_pushes_open(const struct invdyn_holding *of, int32_t n, const double *z);

/* row of 2n: two of each contact's three */
static inline double *invdyn_tangent(const struct invdyn_reduction *reduction, int32_t row) {
  return reduction->J_y + (3 * (int64_t)(row / 2) + (int64_t)(row % 2)) * reduction->n_b;
}

/* x <- x - (q^T x) q; returns q^T x */
static inline double invdyn_remove_part(int32_t n, const double *q, double *x) {
  double part = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    part += q[i] * x[i];
  }
  for (int32_t i = 0; i < n; ++i) {
    x[i] -= part * q[i];
  }
  return part;
}

/* x (n_b) less its part in the span */
static inline void invdyn_beside(const struct invdyn_holding *of, int32_t n_b, double *x) {
  for (int32_t k = 0; k < of->rank; ++k) {
    invdyn_remove_part(n_b, of->span + (int64_t)k * n_b, x);
  }
}

#endif
