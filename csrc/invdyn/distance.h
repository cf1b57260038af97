/* This module finds the nearest point of a polyhedron by the dual active-set method (Goldfarb and
 * Idnani 1983):
 *
 *     minimise 1/2 |x - x0|^2  subject to  A x >= b, with equality in some rows
 *
 * Its multipliers u are the solution of the dual,
 *
 *     minimise 1/2 |A^T u + x0|^2 - b^T u  subject to  u >= 0, of any sign for an equality
 *
 * The normals of active rows are the columns of Q^T R. The rows of Q are an orthonormal basis, the
 * first n_active of them a basis of the span, and R is upper triangular. A row enters by one
 * reflection and leaves by rotations. Rows that depend on active ones enter in exchange for one of
 * them. */
#ifndef SAPWOOD_INVDYN_DISTANCE_H
#define SAPWOOD_INVDYN_DISTANCE_H

#include "base/memory.h"

enum invdyn_distance_end { INVDYN_NEAREST, INVDYN_NO_POINT, INVDYN_PIVOT_LIMIT };

struct invdyn_distance {
  /* the problem; At is stored by unknowns, so that long loops evaluate all rows */
  int32_t n, d;         /* rows, unknowns */
  int32_t ld;           /* >= n */
  double *At;           /* (d, ld) A^T */
  double *b;            /* (n) */
  double *x0;           /* (d) */
  unsigned char *equal; /* (n) */
  /* part of its length that an implied equality may have outside the span of active rows */
  double negligible;

  double *x; /* (d) */
  double *u; /* (n) */
  int32_t pivots;

  /* work */
  double *Q;                /* (d, d) */
  double *R;                /* (d, d) by columns */
  double *w, *r, *a;        /* (d) */
  double *excess;           /* (n) */
  double *length;           /* (n) lengths of the rows; 1 where a row is nearly zero */
  double *allowed;          /* (n) allowed violation of each row */
  int32_t *active;          /* (d) */
  unsigned char *is_active; /* (n) */
  int32_t n_active;
};

/* Carves the memory for n_max rows and d_max unknowns. */
void invdyn_distance_carve(struct invdyn_distance *dual, int32_t n_max, int32_t d_max,
                           struct sap_arena *arena);

/* Solves the problem given by n, d, ld, At, b, x0 and equal. `start` (n) or NULL: not 0 for
 * inequalities that are expected to be active. Of dependent ones some are left out; a search that
 * fails from this start restarts without it. */
enum invdyn_distance_end invdyn_distance_solve(struct invdyn_distance *dual, const int8_t *start);

/* Solves after a change of x0 only, from the present active rows. */
enum invdyn_distance_end invdyn_distance_resume(struct invdyn_distance *dual);

#endif
