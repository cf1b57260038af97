/* The tuned constants of a step from plain arrays. They choose and time its algorithms. Constants
 * of its physics stand beside their derivations: SAP_OPEN_TIME (gather.h), release speeds
 * (joints/release.h). Constants without a unit are ratios. One command measures them against
 * another revision of the sources, unless a section names its own:
 *
 *     python -m benchmarks models --speed --against REV FOLDER */
#ifndef SAPWOOD_STEP_STEP_TUNING_H
#define SAPWOOD_STEP_STEP_TUNING_H

/* ---- the inactive set; python -m benchmarks ablation --piece "inactive contacts" ------------- */

/* A constraint is far open if its gap exceeds these multiples of h v: by the rate before the step,
 * and by the slower of the rates before the step and of the free motion. Larger ones keep more
 * constraints in the problem, smaller ones solve more steps twice. */
static const double sap_open_before = 1.1, sap_open_after = 2.0;

/* ---- separation bounds; python -m benchmarks ablation --piece "body separations" ------------- */

/* Pairs of bodies that are tested one by one; for more, the engine's broad phase is faster. */
enum { SAP_MOST_BODY_PAIRS = 1 << 14 };

/* Entries of the table of bounds, and consecutive ones that a pair of geoms may have: memory and
 * time of a lookup against new measurements. */
enum { SAP_SEPARATION_BOUNDS = 512, SAP_BOUND_PLACES = 8 };

/* Farther away, m, bounds are forgotten: sums of the motion of bodies at rest would lose digits. Up
 * to there they lose less than the second number, m, in 1e8 steps. */
static const double sap_farthest_bound = 100.0, sap_bound_error = 1e-6;

/* Normals that differ by less are equal, and a bound goes on along them. */
static const double sap_same_normal = 1e-12;

/* ---- round-off; python -m benchmarks models FOLDER ------------------------------------------- */

/* Entries of contact Jacobians up to here, m, have no lever arm: the contact lies on the axis of a
 * hinge. It takes 1e33 N to move their round-off. */
static const double sap_no_arm = 1e-9;

/* Entries of other rows up to here, m or rad, are 0. */
static const double sap_still = 1e-13;

/* Share of the work of an approach below which what rebounds gain is round-off. A larger one lets
 * energy grow, with a smaller one islands lose rebounds that gain nothing. */
static const double sap_rebound_round_off = 1e-9;

/* ---- free rotation; python -m benchmarks closed-forms ---------------------------------------- */

/* Limit of Newton's steps, which converge quadratically. */
enum { SAP_ROTATION_STEPS = 8 };

/* Largest number of parts of a step. Each doubling lets a body turn twice as far, and takes twice
 * the time. */
enum { SAP_ROTATION_PARTS = 1024 };

/* Step of Newton's method, over the velocities, after which it ends. */
static const double sap_last_rotation_step = 1e-8;

/* ---- derivatives; python -m benchmarks linearize --------------------------------------------- */

/* Largest part of the way to another region that a difference goes: smaller differences have more
 * round-off, larger ones more curvature. */
static const double sap_largest_part = 0.1;

/* Least share of 1/sigma of the centre that is left at the end of a difference. */
static const double sap_least_sigma_share = 0.5;

/* Residual of the unsymmetric system of Coulomb's friction, over its right-hand side, above which a
 * step has no derivatives. */
static const double sap_linear_residual = 1e-6;

/* ---- memory ---------------------------------------------------------------------------------- */

/* Records of a first contact log: 200 kB against the number of its growths. */
enum { SAP_FIRST_RECORDS = 1024 };

#endif
