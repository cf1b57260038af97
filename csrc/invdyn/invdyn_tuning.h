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

/* A residual falls if a pass leaves at most this part of it: a larger part takes passes that gain
 * nothing, a smaller one ends before the residual is round-off. */
static const double invdyn_slowest_fall = 0.9;

/* Part of the largest velocity of a contact by which the nearest joint velocities open contacts,
 * and part of the velocity scale up to which an edge counts as closed: forces of contacts that are
 * nearly held against contacts that open by round-off. */
static const double invdyn_opening = 1e-8, invdyn_closed_edge = 1e-8;

/* ---- no slip --------------------------------------------------------------------------------- */

/* Part of the velocities of contacts that counts as zero, of the same trade. */
static const double invdyn_closed_contact = 1e-9;

/* ---- Coulomb's friction ---------------------------------------------------------------------- */

/* Velocity that one impulse alone gives its contact, over the largest velocity that is given, above
 * which a solution presses contacts against each other and is refused. Smaller limits refuse hard
 * impacts, larger ones let such forces through. */
static const double invdyn_squeeze_limit = 1e4;

/* Most contacts, and most convex programs, of the search for the nearest torques: its work is
 * exponential in the number of contacts, 2^12 choices for two with pyramids of four edges. More of
 * both find torques where the time of a call has no limit of use. */
enum { INVDYN_NEAREST_CONTACTS = 2, INVDYN_MOST_NODES = 1 << 14 };

/* ---- task control ---------------------------------------------------------------------------- */

/* Velocity above which a contact slides, m/s. Smaller ones let a foot that creeps lose its hold,
 * larger ones plan friction in a wrong direction. */
static const double tasks_sliding = 1e-2;

/* Velocity of a joint, or of a contact that rolls, from which on dry friction is whole, rad/s or
 * m/s. Smaller ones make torques jump at rest, larger ones plan too little friction. */
static const double tasks_moving = 1e-3;

#endif
