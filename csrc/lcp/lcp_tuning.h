/* The tuned constants of complementarity problems and quadratic programs. Tolerances of round-off
 * stand where they are compared. All are ratios or numbers; one command measures their times and
 * whether anything is left unsolved:
 *
 *     python -m benchmarks lcp */
#ifndef SAPWOOD_LCP_LCP_TUNING_H
#define SAPWOOD_LCP_LCP_TUNING_H

/* ---- programs -------------------------------------------------------------------------------- */

/* A row with more than n/QP_SPARSE entries is dense: indices against zeros that are multiplied. */
enum { QP_SPARSE = 4 };

/* Rounds of scaling. Each takes the root of the factor between the largest entries and 1; more of
 * them cost a pass over the program each. */
enum { QP_SCALING_ROUNDS = 4 };

/* ---- active sets ----------------------------------------------------------------------------- */

/* Changes of the active rows, over the number of rows and unknowns, after which the interior-point
 * method takes over. */
enum { QP_MOST_CHANGES = 10 };

/* ---- interior points ------------------------------------------------------------------------- */

/* Part of the distance to the boundary that a step may cover: longer steps need fewer iterations,
 * and leave less room to the next. */
static const double qp_to_boundary = 0.99;

/* Iterations without progress that end the search. */
enum { QP_MOST_STAGNATION = 12 };

/* Polishing is tried below the residual qp_early, and after a failure again below the part qp_again
 * of it: an early success saves iterations, a failure costs a factorization. The limit of its
 * rounds holds at the start and at the end. */
static const double qp_early = 1e-3, qp_again = 1e-2;
enum { QP_POLISHING_ROUNDS = 4 };

/* ---- complementarity problems ---------------------------------------------------------------- */

/* Dictionaries on which a method goes on after round-off has ended it, and artificial columns that
 * Lemke's method tries before a ray counts. */
enum { LCP_MOST_RENEWALS = 3, LCP_MOST_COVERS = 4 };

#endif
