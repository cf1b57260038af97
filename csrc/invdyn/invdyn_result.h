/* What follows from the impulses: torques, forces, velocities, states, and what every condition
 * lacks. */
#ifndef SAPWOOD_INVDYN_INVDYN_RESULT_H
#define SAPWOOD_INVDYN_INVDYN_RESULT_H

#include "invdyn/unactuated.h"

struct invdyn_result {
  double *wanted;  /* (n_q) joints' velocities that were asked for */
  double *y;       /* (n_b) */
  double *u;       /* (n, 3) */
  double *balance; /* (m) */
};

void invdyn_result_carve(struct invdyn_result *of, const invdyn_problem *most,
                         struct sap_arena *arena);

/* Writes all but outcome, pivots and regularization of the solution, from z (n, 3). */
void invdyn_write(struct invdyn_result *of, const struct invdyn_reduction *reduction,
                  const invdyn_settings *settings, const double *z, invdyn_solution *solution);

/* INVDYN_SOLVED, or what is wrong with impulses that a controller has found, once written. If
 * torque limits count, they are why contacts approach, or slip where they are held. */
invdyn_outcome invdyn_judge(const struct invdyn_result *of,
                            const struct invdyn_reduction *reduction,
                            const invdyn_settings *settings, int is_limited,
                            const invdyn_solution *solution);

/* Zeros in place of all that was written, where not all of it is finite; 0 there. */
int invdyn_keep_finite(const invdyn_problem *problem, invdyn_solution *solution);
void invdyn_write_zeros(const invdyn_problem *problem, invdyn_solution *solution);

#endif
