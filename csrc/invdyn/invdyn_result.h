/* This module derives the result from the impulses: torques, forces, velocities, states, and the
 * residual of every condition. */
#ifndef SAPWOOD_INVDYN_INVDYN_RESULT_H
#define SAPWOOD_INVDYN_INVDYN_RESULT_H

#include "invdyn/unactuated.h"

struct invdyn_result {
  double *desired; /* (n_q) desired joint velocities */
  double *y;       /* (n_b) */
  double *u;       /* (n, 3) */
  double *balance; /* (m) */
};

void invdyn_result_carve(struct invdyn_result *result, const invdyn_problem *most,
                         struct sap_arena *arena);

/* Writes everything except outcome, pivots and regularization of the solution, from z (n, 3). */
void invdyn_write(struct invdyn_result *result, const struct invdyn_reduction *reduction,
                  const invdyn_settings *settings, const double *z, invdyn_solution *solution);

/* Returns INVDYN_SOLVED, or the fault of the written impulses of a controller. If torque limits
 * count, they explain contacts that approach, or slip where they are held. */
invdyn_outcome invdyn_check_result(const struct invdyn_result *result,
                                   const struct invdyn_reduction *reduction,
                                   const invdyn_settings *settings, int is_limited,
                                   const invdyn_solution *solution);

/* Writes zeros and returns 0 unless the whole result is finite. */
int invdyn_keep_finite(const invdyn_problem *problem, invdyn_solution *solution);
void invdyn_write_zeros(const invdyn_problem *problem, invdyn_solution *solution);

#endif
