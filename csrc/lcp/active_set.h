/* This module finds the point of a polyhedron that is nearest to the origin, by a dual active-set
 * method on the Gram matrix of the active rows (Arnstroem, Bemporad and Axehill 2022):
 *
 *     minimise 1/2 |y|^2   subject to  a_i^T y >= b_i,  or a_i^T y = b_i for equalities.
 *
 * Its dual is  minimise 1/2 |A^T u|^2 - b^T u  over u >= 0, free for equalities, with y = A^T u. A
 * strictly convex program has this form in y = L^T x + L^-1 g, where H = L L^T. Rows are read one
 * by one when they become active, so that a program with structure need not be stored.
 *
 * The multipliers stay feasible and the dual cost falls from step to step. A row that depends on
 * active ones enters in exchange for one of them; where there is none, no point is feasible. Each
 * step starts from the residuals of the active rows at y, which corrects the round-off of the steps
 * before. The caller carves the memory, and judges the result. */
#ifndef SAPWOOD_LCP_ACTIVE_SET_H
#define SAPWOOD_LCP_ACTIVE_SET_H

#include "base/memory.h"
#include "linalg/kernels/kernels.h"

/* The rows, which belong to the caller. */
struct qp_active_rows {
  void *context;
  int32_t n_rows;
  const int8_t *equality; /* (n_rows) */
  /* Sets slack (n_rows) = A y - b. */
  void (*evaluate)(void *context, const double *y, double *slack);
  /* Writes row i of A to a (n). */
  void (*read_row)(void *context, int32_t i, double *a);
  /* Violation of a row that counts as none, and residual at which active rows hold. A row that is
   * the sum of active ones repeats their residuals times its factors: if these exceed what is
   * allowed, it enters and leaves in a cycle. */
  double allowed, held;
};

/* The last one: too many changes, or active rows that round-off keeps from holding. */
enum qp_active_end { QP_ACTIVE_SOLVED, QP_ACTIVE_NO_POINT, QP_ACTIVE_LIMIT };

struct qp_active_set {
  const struct sap_kernels *kernels;
  int32_t n;  /* unknowns, also the largest number of active rows */
  int32_t ld; /* n rounded up to whole vectors */

  double *y;         /* (n) V^T u */
  int32_t n_active;  /* number of active rows */
  int32_t *row;      /* (n) active rows */
  double *u;         /* (n) their multipliers */
  double *V;         /* (n_active + 1, ld) active rows of A, and the candidate behind them */
  double *G;         /* (n_active, ld) column-major factor of V V^T, 1/diagonal on the diagonal */
  int8_t *is_active; /* (n_rows) */
  int32_t changes;   /* rows that entered or left, without those of the start */
  double allowed;    /* violation that counts as none by now */

  /* work */
  double *outside;    /* (n) part of a row outside the span of the active ones */
  double *target;     /* (n) direction of u */
  double *column;     /* (n) L^-1 V a of a row a */
  double *correction; /* (n) of column */
  double *slack;      /* (n_rows) A y - b */
};

void qp_active_set_carve(struct qp_active_set *set, int32_t n, int32_t n_rows,
                         struct sap_arena *arena);

/* Solves for n unknowns. `start` (n_rows) or NULL: not 0 for inequalities that are expected to be
 * active. */
enum qp_active_end qp_active_set_solve(struct qp_active_set *set, int32_t n,
                                       const struct qp_active_rows *rows, const int8_t *start);

/* Overwrites x (n_active) by (V V^T)^-1 x. */
void qp_active_set_solve_gram(const struct qp_active_set *set, double *x);

#endif
