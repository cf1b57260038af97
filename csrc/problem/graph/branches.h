/* This module finds the branches of a tree, and so the entries of the factor of its block of A that
 * are zero.
 *
 * A_ij is zero if neither of two velocities lies on the path from the other one to the root, as
 * their branches move independently (section XI; R. Featherstone, Rigid Body Dynamics Algorithms,
 * section 6.5). Elimination from the last velocity to the first, leaves before their trunk, causes
 * no fill-in:
 *
 *     A = U U^T,  S = U^-1,  S^T S = A^-1:  U_ij = S_ij = 0  but for i = j and i above j
 *
 * with i above j where it is among parent[j], parent[parent[j]] and so on: the elimination tree. */
#ifndef SAPWOOD_PROBLEM_GRAPH_BRANCHES_H
#define SAPWOOD_PROBLEM_GRAPH_BRANCHES_H

#include <stdint.h>

/* Finds the elimination tree of A (n, n) row-major from the nonzero entries below its diagonal:
 * parent (n), -1 for a root. Writes the fill-in into A. */
void sap_branches_find(int32_t n, double *A, int32_t *parent);

/* Returns the first entry below the diagonal of A (n, n) that must be zero and is not, or -1. */
int64_t sap_branches_broken(int32_t n, const int32_t *parent, const double *A);

/* Returns the shift of the strips that describe the nonzero blocks of S: rows and columns in strips
 * of 2^shift, at least 8, and at most 64 strips. Bit i of strips[k] is set where columns of strip k
 * may have entries in the rows of strip i. Tests of single columns would often be mispredicted. */
static inline int32_t sap_strip_shift(int32_t n) {
  int32_t shift = 3;
  while ((n - 1) >> shift > 63) {
    ++shift;
  }
  return shift;
}

/* Finds the strips (room for n) of one tree; with parent NULL all above the diagonal. */
void sap_branches_strips(int32_t n, const int32_t *parent, uint64_t *strips);

#endif
