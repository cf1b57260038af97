/* This module keeps the tangential rows of holding contacts, without directions that only unbounded
 * forces would hold.
 *
 * It leaves out directions of the base that the tangential rows T determine much less than others,
 * T <- T span^T span: two feet whose heights differ by a micrometre would otherwise keep the base
 * from turning, by forces that grow with the inverse of that difference. A contact that opens holds
 * nothing: its rows become zero. */
#ifndef SAPWOOD_INVDYN_HOLDING_H
#define SAPWOOD_INVDYN_HOLDING_H

#include "invdyn/unactuated.h"

struct invdyn_holding {
  double *remainder; /* (2n, n_b) part of the rows of T outside the span */
  double *span;      /* (rank, n_b) orthonormal rows */
  int8_t *open;      /* (n) released in this call */
  int32_t rank;
  double tolerance;
};

/* Does the controller assume that contacts hold? */
static inline int invdyn_is_noslip(const invdyn_settings *settings) {
  return settings->controller == INVDYN_LCP_NOSLIP || settings->controller == INVDYN_QP_NOSLIP;
}

void invdyn_holding_carve(struct invdyn_holding *holding, const invdyn_problem *most,
                          struct sap_arena *arena);

/* Lets all contacts of a new problem hold. Removes from the rows of the reduction the directions
 * that tangential rows determine by less than the tolerance, relative to the longest. */
void invdyn_hold_all(struct invdyn_holding *holding, struct invdyn_reduction *reduction,
                     double tolerance);

/* Releases the contacts that open fastest, by velocities u (n, 3) beyond `still` and without a
 * normal impulse in z (n, 3), and finds the span again; 0 if there are none. */
int invdyn_let_go(struct invdyn_holding *holding, struct invdyn_reduction *reduction,
                  const double *z, const double *u, double still);

/* Does a released contact push by z (n, 3)? */
int invdyn_pushes_open(const struct invdyn_holding *holding, int32_t n, const double *z);

/* Returns one of the 2n tangential rows, two per contact. */
static inline double *invdyn_tangent(const struct invdyn_reduction *reduction, int32_t row) {
  return reduction->J_y + (3 * (int64_t)(row / 2) + (int64_t)(row % 2)) * reduction->n_b;
}

/* Sets x <- x - (q^T x) q; returns q^T x. */
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

/* Removes from x (n_b) its part in the span. */
static inline void invdyn_remove_span(const struct invdyn_holding *holding, int32_t n_b,
                                      double *x) {
  for (int32_t k = 0; k < holding->rank; ++k) {
    invdyn_remove_part(n_b, holding->span + (int64_t)k * n_b, x);
  }
}

#endif
