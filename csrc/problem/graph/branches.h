/* The branches of a tree: which entries of the factor of its block of A are zero.
 *
 * A_ij is zero where neither of two velocities lies on the way from the other one to the root, of
 * branches that move independently of each other (section XI; R. Featherstone, Rigid Body Dynamics
 * Algorithms, section 6.5). Eliminated from the last velocity to the first, leaves before the trunk
 * that they hang on, such a block fills nothing in:
 *
 *     A = U U^T,  S = U^-1,  S^T S = A^-1:  U_ij = S_ij = 0  but for i = j and i above j
 *
 * with i above j where it is among parent[j], parent[parent[j]] and so on: the elimination tree. */
#ifndef SAPWOOD_PROBLEM_GRAPH_BRANCHES_H
#define SAPWOOD_PROBLEM_GRAPH_BRANCHES_H

#include <stdint.h>

/* Finds the elimination tree of A (n, n) row-major from the entries below its diagonal that are not
 * zero: parent (n), -1 for a root. What is filled in is set in A. */
void sap_branches_find(int32_t n, double *A, int32_t *parent);

/* the first entry below the diagonal of A (n, n) row-major that is not zero where it has to be, or
 * -1 */
int64_t sap_branches_broken(int32_t n, const int32_t *parent, const double *A);

/* Which entries S may have, by blocks: rows and columns in strips of 2^shift, at least 8, and no
 * more than 64 strips. Bit i of strips[k] is set where columns of strip k may have some in the rows
 * of strip i. Whether single columns do would be asked so often that processors guess wrong. */
static inline int32_t sap_strip_shift(int32_t n) {
  int32_t shift = 3;
  while ((n - 1) >> shift > 63) {
    ++shift;
  }
  return shift;
}

/* the strips of one tree; parent NULL: all above the diagonal. There has to be room for n. */
void sap_branches_strips(int32_t n, const int32_t *parent, uint64_t *strips);

/* The same of n velocities of several trees: columns (n) of each of those of one tree, which are
 * [first, end) among all; then the strips in their place. */
void sap_branches_list(int32_t n, int32_t first, int32_t end, const int32_t *parent,
                       uint64_t *columns);
void sap_branches_merge(int32_t n, uint64_t *columns);

#endif
