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

/* Largest changes of positions (m, rad), velocities and activations in a difference of the state:
 * larger ones have more curvature, smaller ones more round-off. */
static const double sap_largest_change[3] = {1e-6, 1e-4, 1e-5};

/* Part of these changes in a one-sided difference, whose curvature is its error, and the largest part
 * of the way to the boundary of a region that it may go: a longer difference has two sides, which
 * cost twice the stages. */
static const double sap_one_sided_part = 0.1, sap_straight_part = 0.01;

/* Largest part of a difference by which its sides may disagree, and the factor of the next width if
 * they do: then it crosses the boundary of a region, or bends. Each width costs a difference, so that
 * widths grow by the last factor at most from step to step. */
static const double sap_largest_bend = 1e-4, sap_narrower = 0.1, sap_wider = 2.0;

/* Least change of positions, m or rad, in a difference: with the round-off of gaps, 1e-16 m, it has
 * an error of 1e-6. */
static const double sap_least_change = 1e-10;

#endif
