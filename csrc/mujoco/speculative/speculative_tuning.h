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
  /* pairs up to which a search is kept for nearby states: their memory against a new search */
  SAP_KEPT_PAIRS = 1 << 7,
  /* numbers of explicit pairs and of excluded bodies that the search reads */
  SAP_MOST_GIVEN = 1 << 8,
  SAP_MOST_EXCLUDED = 1 << 10
};

/* Overlap of touching flanges, m: their vertices have single precision. */
static const double sap_flange_overlap = 1e-7;

/* Round-off of a known gap, m. */
static const double sap_gap_round_off = 1e-12;

#endif
