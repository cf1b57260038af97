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
  FEM_LEAF_TETRAHEDRA = 4
};

#endif
