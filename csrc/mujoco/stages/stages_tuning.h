/* The tuned constants of linearized steps: lengths of differences. Longer ones have more curvature,
 * shorter ones more round-off. One command measures their errors, unless a section names its own:
 *
 *     python -m benchmarks linearize FOLDER */
#ifndef SAPWOOD_MUJOCO_STAGES_STAGES_TUNING_H
#define SAPWOOD_MUJOCO_STAGES_STAGES_TUNING_H

/* Smallest difference of a position, m or rad. Round-off of gaps is some 1e-16 m. */
static const double sap_least_difference = 1e-9;

/* Differences of velocities, m/s or rad/s, and of activations and controls, in their units; smooth
 * forces are mostly polynomials in them. */
static const double sap_velocity_step = 1e-5, sap_input_step = 1e-6;

/* Share of the largest entry of A by which the sides of a position's difference have to differ for
 * a jump to be looked for, at twice the cost of that difference. */
static const double sap_jump_share = 1e-4;

/* ---- derivatives of runs; python -m benchmarks gradients ------------------------------------- */

/* Largest changes of positions (m, rad), velocities and activations in a difference of the state.
 * Larger ones bend: 5e-7 has errors of 2e-5 on Go1. Smaller ones have more round-off of gaps, some
 * 1e-15 m: 1e-8 has errors of 1e-5 on G1. */
static const double sap_largest_change[3] = {1e-7, 1e-5, 1e-6};

/* Part of them within which a boundary of the contact law is near, and the least part in a
 * difference with sensors: a larger one meets more boundaries, a smaller one has more round-off. */
static const double sap_least_part = 1e-3;

#endif
