/* Velocities that no constraint moves, eliminated once per solve.
 *
 * In one tree let u be the velocities whose columns of J are exactly zero in all constraints, t the
 * others. At the minimum of (17) over v_u
 *
 *     A_uu (v_u - v*_u) + A_ut (v_t - v*_t) = 0
 *
 * whatever v_t is, and what is left is a cost of the same form in v_t alone:
 *
 *     min_{v_u} l_p(v) = 1/2 |v_t - v*_t|^2_{A'} + sum_i l_i(J_t v_t)
 *     A' = A_tt - A_tu A_uu^-1 A_ut
 *
 * The iterations run on v_t with A' and J_t, where (A (v - v*))_t = A' (v_t - v*_t), (A (v - v*))_u
 * = 0 and (J^T gamma)_u = 0: the same gradient, the same minimiser. v_u follows from v_t wherever
 * the whole velocity counts, and what is proved about it is proved with the whole A.
 *
 * A tree stays whole where that saves little, where no constraint moves it at all, and where A_uu
 * or A' is not positive definite to round-off. The memory of a reduction is its own; what it found
 * is valid until the next call. */
#ifndef SAPWOOD_PROBLEM_GRAPH_REDUCTION_H
#define SAPWOOD_PROBLEM_GRAPH_REDUCTION_H

#include "base/memory.h"
#include "linalg/kernels.h"
#include "problem/triples.h"
#include "problem/products/vectors.h"

/* A tree that has been reduced; "whole" arrays have all of its n velocities in the order of the
 * problem. */
struct sap_reduced_tree {
  int32_t n, n_u, n_t;
  int32_t *u, *t; /* (n_u), (n_t) velocities of the tree, ascending; t follows u in memory */
  double *panel;  /* (n, n) its first n_u columns: L_uu over A_tu L_uu^-T, see sap_kernels.factor */
  double *A;      /* (n_t, n_t) A' */

  /* the problem's: whole A and v* */
  const double *A_whole, *v_star;

  /* (n) whole, from sap_reduced_restore() */
  double *v, *dw, *momentum;          /* v, v - v*, A (v - v*) */
  double *impulse, *gradient, *error; /* for the certificate */
};

struct sap_reduction {
  struct sap_block block;
  /* (n_trees) velocities that stay: the problem's tree_nv where nothing is reduced */
  const int32_t *size;
  struct sap_reduced_tree **tree; /* (n_trees) or NULL where it is whole; NULL where all are */
};

/* leaves every tree whole */
void sap_reduction_clear(struct sap_reduction *reduction, const sap_problem *problem);

/* Finds what can be eliminated and eliminates it. Of the problem, sizes alone need to have been
 * checked: where A or J breaks a rule, the tree stays whole. SAP_OUT_OF_MEMORY, or SAP_OK. */
sap_status sap_reduction_find(struct sap_reduction *reduction, const sap_problem *problem,
                              const struct sap_triples *triples, const struct sap_kernels *kernels,
                              const struct sap_vector_loops *loops, const sap_allocator *memory);

/* v*, D = diag(A)^(-1/2) and A v* of the velocities that stay (n_t each), with the whole A; returns
 * |D A v*|^2 of those that do not, where A v = A v*. */
double sap_reduced_bind(const struct sap_reduced_tree *tree, const struct sap_vector_loops *loops,
                        double *v_star, double *scale, double *momentum_star);

/* The whole v, v - v* and A (v - v*) from v_t and dw_t = v_t - v*_t; momentum (n_t) becomes the
 * part of A (v - v*) that stays. Returns |D grad|^2 of the velocities that were eliminated:
 * rounding errors. */
double sap_reduced_restore(const struct sap_reduced_tree *tree, const struct sap_kernels *kernels,
                           const struct sap_vector_loops *loops, const double *v_t,
                           const double *dw_t, double *momentum);

#endif
