/* The tuned constants of the kernels. */
#ifndef SAPWOOD_LINALG_LINALG_TUNING_H
#define SAPWOOD_LINALG_LINALG_TUNING_H

#include <stdint.h>

/* Columns of a panel that are multiplied at once. Fewer load and store the product more often; with
 * more, the rows of the factors leave the cache. Products of 650 x 650 with 507 columns, AVX2 and
 * 512 KiB of cache, Gflop/s: 33 with 48 or 64, 35 with 96, 29 with 128, 22 with all. Narrower
 * matrices do not see it; `python -m benchmarks soft`. */
enum { SAP_SLICE = 96 };

/* Returns the end of the slice of a panel of n columns that begins here; the last one is wider. */
static inline int32_t sap_slice_end(int32_t begin, int32_t n) {
  return n - begin < 2 * SAP_SLICE ? n : begin + SAP_SLICE;
}

/* Columns of a mass matrix that are inverted at once, with products of matrices for the rest: fewer
 * have narrow products, more leave more to the loops of factor_loops.h. */
enum { SAP_INVERSE_COLUMNS = 48 };

/* Velocities of a tree from which on a problem keeps the factor of its constant block of A for
 * solves: the cube of the size in time against its square in memory;
 * `python -m benchmarks soft`. */
enum { SAP_KEPT_FACTOR = 64 };

/* Words of 64 bits of a set of nodes, so that a component of up to 256 nodes is ordered by least
 * degree on sets: each step looks at all words. Larger components go to AMD;
 * `python -m benchmarks noise FOLDER --against REV`. */
enum { SAP_ORDERING_WORDS = 4 };

/* ---- unsymmetric factors; python -m benchmarks coulomb FOLDER -------------------------------- */

/* Largest pivot block of an unsymmetric factorization, into which larger trees are cut: wide
 * products against pivots that are exchanged among fewer rows. A multiple of the width of
 * vectors. */
enum { SAP_LU_BLOCK = 8 };

/* Right-hand sides that go through a factor together, and the most of these sets: more columns load
 * the factor less often, and follow the paths of all. */
enum { SAP_PATH_COLUMNS = 16, SAP_PATH_SETS = 8 };

#endif
