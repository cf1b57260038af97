/* Energy of impacts that rebound.
 *
 * The impulse of a contact c acts on the mean of its velocities v*_c of the free motion and v_c of
 * the solution, against its surface. So all contacts of an island do the work
 *
 *     W = sum of gamma_c . (v*_c + v_c)/2
 *
 * by which they change the kinetic energy of the free motion. Without rebounds W is negative, but
 * for the correction of violations. With friction, rebounds at the speeds e u may make it positive
 * (Kane's paradox). W_g = g dt/2 sum of gamma_n is allowed, because u is that of the state before
 * the step and gravity may have slowed the approach. If W > W_g, the step is solved once more
 * without rebounds, which gives the velocity v^0 and the work W^0, and the island takes
 *
 *     v = v^0 + s (v^1 - v^0), impulses likewise     largest s <= 1: W - W_g <= max(W^0 - W_g, 0)
 *
 * from the velocity v^1 with rebounds. W - W_g is a quadratic function of s. Impulses stay in their
 * friction cones, which are convex, and no contact closes faster than in both solutions. Where the
 * solver finds no v^1, s is 0, because W is that of the velocities only for a solution.
 *
 * Ownership: the struct owns its memory, which grows as needed and is kept. */
#ifndef SAPWOOD_STEP_REBOUNDS_H
#define SAPWOOD_STEP_REBOUNDS_H

#include "step/gather.h"

enum { SAP_SOLUTION_ARRAYS = 7 }; /* arrays of a solution in a gather */

struct sap_rebounds {
  int32_t *island;                   /* (n_trees) another tree of the same island, or itself */
  double *share;                     /* (n_trees) s of the island, at its first tree */
  uint8_t *is_solved;                /* (n_trees) 1 if its v^1 was found, at its first tree */
  double *work;                      /* (n_trees, 4) 2 (W - W_g) for s = 1, 0, its slope, a scale */
  double *before;                    /* (n_contacts, 3) v*_c against the surface, m/s */
  double *spin_before;               /* (n_spins, 3) the same for torsional friction, rad/s */
  double *kept[SAP_SOLUTION_ARRAYS]; /* the solution with rebounds */
  struct sap_block block;
};

/* Keeps the solution, which is that in the gather, and finds W of its islands; `fall` is g dt. Sets
 * *gains to 1 if an island with a rebound is not solved or has W > W_g. Returns 0 if memory runs
 * out. */
int sap_rebounds_keep(struct sap_rebounds *rebounds, const struct sap_gather *gather,
                      const sap_solution *solution, double fall, int *gains);

/* Replaces the solution without rebounds in the gather by the combination of both. */
void sap_rebounds_combine(struct sap_rebounds *rebounds, struct sap_gather *gather);

void sap_rebounds_release(struct sap_rebounds *rebounds, const sap_allocator *allocator);

#endif
