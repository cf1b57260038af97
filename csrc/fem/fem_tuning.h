/* The tuned constants of soft bodies, which change results by round-off alone. One command measures
 * the steps of large bodies:
 *
 *     python -m benchmarks soft --scale */
#ifndef SAPWOOD_FEM_FEM_TUNING_H
#define SAPWOOD_FEM_FEM_TUNING_H

enum {
  /* Vertices of a set up to which the dissection does not cut it: smaller sets have more and
   * narrower panels, larger ones have dense panels with zeros in them. */
  FEM_UNCUT_VERTICES = 20,
  /* Columns of L_pp that are multiplied at once: fewer load and store the product more often, more
   * of them leave the cache. */
  FEM_STRIP = 48,
  /* Tetrahedra of a leaf of the balls: fewer have more balls, more have more pairs to compare. */
  FEM_LEAF_TETRAHEDRA = 4,
  /* Iterations of Newton's method for the polar rotation, which takes four at strains of 10 %, six
   * at a stretch by 2. Its errors grow with the condition number: worse matrices go to the slower
   * Jacobi's method. */
  FEM_MOST_AVERAGES = 6,
  /* Sweeps of Jacobi's method, which converges quadratically; six are the most that was seen. */
  FEM_MOST_SWEEPS = 30
};

#endif
