/* The tuned constants of the speculative search. They choose between ways to find that two geoms
 * stay separated; which contacts are listed does not depend on them. Each trades the time of its
 * own test for calls of the narrow phase. `python -m benchmarks ablation --piece "pair search"`
 * measures the search as a whole; pieces of the search have names of their own there. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_SPECULATIVE_TUNING_H
#define SAPWOOD_MUJOCO_SPECULATIVE_SPECULATIVE_TUNING_H

enum {
  /* number of pairs of geoms that two bodies are searched for one by one; for more, trees of boxes
   * are faster */
  SAP_MOST_GEOM_PAIRS = 1 << 14,
  /* length of the list of pairs; longer ones are left to the engine's broad phase */
  SAP_MOST_PAIRS = 1 << 10,
  /* numbers of explicit pairs and of excluded bodies that the search reads */
  SAP_MOST_GIVEN = 1 << 8,
  SAP_MOST_EXCLUDED = 1 << 10,
  /* number of measured distances that a step spends on pairs which turn out to be near, and number
   * of kept distances that it measures again; the pieces "distances of fast pairs" and "of slow
   * pairs" */
  SAP_MOST_DISTANCES = 24
};

/* Upper limit of motion bound over bounding radius for a slow geom: few meshes lie within its
 * margin then. */
static const double sap_slow_share = 0.005;

/* A kept gap is measured again once the pair has moved by the first share of the sizes of both
 * geoms; it is measured up to the second share of them beyond the required distance. */
static const double sap_measured_again = 0.01, sap_measured_beyond = 0.5;

/* A fast pair of one tree is measured again once it has moved by this multiple of its required
 * distance. That takes some eight steps. */
static const double sap_lasting_moves = 4.0;

#endif
