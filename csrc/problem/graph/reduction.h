/* This module eliminates velocities that no constraint moves, once per solve.
 *
 * In one tree let u be the velocities whose columns of J are exactly zero in all constraints, t the
 * others. At the minimum of (17) over v_u
 *
 *     A_uu (v_u - v*_u) + A_ut (v_t - v*_t) = 0
 *
 * for every v_t, and a cost of the same form in v_t remains:
 *
 *     min_{v_u} l_p(v) = 1/2 |v_t - v*_t|^2_{A'} + sum_i l_i(J_t v_t)
 *     A' = A_tt - A_tu A_uu^-1 A_ut
 *
 * The iterations run on v_t with A' and J_t, where (A (v - v*))_t = A' (v_t - v*_t), (A (v - v*))_u
 * = 0 and (J^T gamma)_u = 0: the same gradient, the same minimiser. v_u follows from v_t wherever
 * the whole velocity counts, and the certificate uses the whole A.
 *
 * A tree stays whole if that saves little, if no constraint moves it at all, or if A_uu or A' is
 * not positive definite to round-off. A reduction owns its memory; its results are valid until the
 * next call. */
#ifndef SAPWOOD_PROBLEM_GRAPH_REDUCTION_H
#define SAPWOOD_PROBLEM_GRAPH_REDUCTION_H

#include "base/memory.h"
#include "linalg/kernels/kernels.h"
#include "problem/triples.h"
#include "problem/products/vectors.h"

/* A reduced tree; "whole" arrays have all of its n velocities in the order of the problem. */
struct sap_reduced_tree {
  int32_t n, n_u, n_t;
  int32_t *u, *t; /* (n_u), (n_t) velocities of the tree, ascending; t follows u in memory */
  double *panel;  /* (n, n) first n_u columns: L_uu over A_tu L_uu^-T, see sap_kernels.factor */
  double *A;      /* (n_t, n_t) A' */

  /* whole A and v* of the problem */
  const double *A_whole, *v_star;

  /* (n) whole arrays from sap_reduced_restore() */
  double *v, *dw, *momentum;          /* v, v - v*, A (v - v*) */
  double *impulse, *gradient, *error; /* scratch of the certificate */
};

struct sap_reduction {
  struct sap_block block;
  /* (n_trees) number of remaining velocities; tree_nv of the problem if no tree is reduced */
  const int32_t *size;
  /* (n_trees) NULL for a whole tree; NULL itself if all are whole */
  struct sap_reduced_tree **tree;
};

/* Leaves every tree whole. */
void sap_reduction_clear(struct sap_reduction *reduction, const sap_problem *problem);

/* Finds the velocities that can be eliminated and eliminates them. Only the sizes of the problem
 * must have been checked: where A or J breaks a rule, the tree stays whole, and so does a tree that
 * is left out (n_trees, or NULL for none). Returns SAP_OUT_OF_MEMORY or SAP_OK. */
sap_status sap_reduction_find(struct sap_reduction *reduction, const sap_problem *problem,
                              const struct sap_triples *triples, const int8_t *left_out,
                              const struct sap_kernels *kernels,
                              const struct sap_vector_loops *loops, const sap_allocator *memory);

/* Writes v*, D = diag(A)^(-1/2) and A v* of the remaining velocities (n_t each), with the whole A;
 * returns |D A v*|^2 of the eliminated ones, where A v = A v*. */
double sap_reduced_bind(const struct sap_reduced_tree *tree, const struct sap_vector_loops *loops,
                        double *v_star, double *scale, double *momentum_star);

/* Finds the whole v, v - v* and A (v - v*) from v_t and dw_t = v_t - v*_t, and the remaining part
 * momentum (n_t) of A (v - v*). Returns |D grad|^2 of the eliminated velocities: round-off. */
double sap_reduced_restore(const struct sap_reduced_tree *tree, const struct sap_kernels *kernels,
                           const struct sap_vector_loops *loops, const double *v_t,
                           const double *dw_t, double *momentum);

#endif
