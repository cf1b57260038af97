/* The tuned constants of inverse dynamics. Tolerances of round-off stand where they are compared.
 * All are ratios or numbers, where no unit is named.
 *
 *     python -m benchmarks invdyn          # times and pivots
 *     python -m benchmarks tasks           # errors of forces and changes of torques
 *     sapwood figure id-table-3            # walks that fall where a motion is not found */
#ifndef SAPWOOD_INVDYN_INVDYN_TUNING_H
#define SAPWOOD_INVDYN_INVDYN_TUNING_H

/* ---- two stages ------------------------------------------------------------------------------ */

/* Weight of equality rows, compared with minimised rows: a larger one takes fewer passes of the
 * method of multipliers, and loses digits of the rest. */
static const double invdyn_equality_weight = 1e3;

/* Passes of the method of multipliers. Their steps grow by the factor while the residual does not
 * fall, up to the longest step. */
enum { INVDYN_MOST_PASSES = 100 };
static const double invdyn_growth = 2.0, invdyn_longest_step = 16.0;

/* ---- Coulomb's friction ---------------------------------------------------------------------- */

/* Velocity that one impulse alone gives its contact, over the largest velocity that is given, above
 * which a solution presses contacts against each other and is refused. Smaller limits refuse hard
 * impacts, larger ones let such forces through. */
static const double invdyn_squeeze_limit = 1e4;

/* ---- task control ---------------------------------------------------------------------------- */

/* Velocity above which a contact slides, m/s. Smaller ones let a foot that creeps lose its hold,
 * larger ones plan friction in a wrong direction. */
static const double tasks_sliding = 1e-2;

/* Velocity of a joint, or of a contact that rolls, from which on dry friction is whole, rad/s or
 * m/s. Smaller ones make torques jump at rest, larger ones plan too little friction. */
static const double tasks_moving = 1e-3;

#endif
