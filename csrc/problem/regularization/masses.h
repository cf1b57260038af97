/* The effective inverse mass w = |W|_F/n of the rows of a constraint, W = sum_t J_t A_t^-1 J_t^T
 * (section IX-A), from the inverse factors of A. The caller owns the memory of the factors. */
#ifndef SAPWOOD_PROBLEM_REGULARIZATION_MASSES_H
#define SAPWOOD_PROBLEM_REGULARIZATION_MASSES_H

#include "base/memory.h"
#include "linalg/kernels/kernels.h"
#include "problem/products/vectors.h"
#include "sapwood.h"

/* Values of the trees that constraints touch, which regularization needs. */
struct sap_masses {
  const struct sap_kernels *kernels;
  const struct sap_vector_loops *loops;
  int64_t *tree_A; /* (n_trees) first entry of the block of each tree in A and S */
  int64_t *tree_v; /* (n_trees) first velocity of each tree */
  double *S;       /* (nA) and (nv) as sap_invert_mass() writes them */
  uint64_t *strips;
  double *inverse; /* (nv) diagonal of A^-1 of a tree, valid if its first entry is not 0 */
  int32_t *island; /* (n_trees) scratch for the loads of islands, see loads.h */
  double *load;    /* (n_trees) */
};

/* Checks trees and A, and finds the masses of all trees in `block`, which the caller releases. */
sap_status sap_masses_find(struct sap_masses *masses, const sap_problem *problem,
                           struct sap_block *block, const sap_allocator *allocator,
                           sap_error *error);

/* Checks the numbers that contacts and groups share. */
sap_status sap_check_scalars(double dt, double sigma, double beta, sap_delassus delassus,
                             sap_error *error);

/* Adds J A_t^-1 J^T of one tree to W (3, 3), by the selected estimate, for J (n_rows <= 3, n); A
 * holds all trees. */
void sap_add_delassus(const struct sap_masses *masses, sap_delassus delassus, int32_t n,
                      const double *A, int32_t tree, int32_t n_rows, const double *J, double W[9]);

/* Returns w = |W|_F/n_rows (section IX-A). */
double sap_inverse_mass(const double W[9], int32_t n_rows);

#endif
