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
#ifndef SAPWOOD_PROBLEM_BRANCHES_H
#define SAPWOOD_PROBLEM_BRANCHES_H

#include <stdint.h>

/* Finds the elimination tree of A (n, n) row-major from the entries below its diagonal that are not
 * zero: parent (n), -1 for a root. What is filled in is set in A. */
void sap_branches_find(int32_t n, double *A, int32_t *parent);

/* the first entry below the diagonal of A (n, n) row-major that is not zero where it has to be, or
 * -1 */
int64_t sap_branches_broken(int32_t n, const int32_t *parent, const double *A);

#endif
