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

/* Regularization of the linear systems, over their largest entries, which are about 1: a smaller
 * one fails to factor degenerate systems, a larger one takes more refinement. */
static const double qp_regularization = 1e-10, qp_polishing_regularization = 1e-7;

/* Steps of refinement of a direction, of polishing, and of a solution by active rows; mostly one or
 * two suffice. */
enum { QP_REFINEMENTS = 20, QP_POLISHING_REFINEMENTS = 12, QP_DEFINITE_REFINEMENTS = 3 };

/* Refinement goes on while a step leaves at most the first part of the residual. Degenerate rows,
 * whose W differ by 1e10 and more, leave more of it: a residual above the part qp_coarse of the
 * right-hand side, which would end the search, goes on while a step leaves at most the last
 * part. */
static const double qp_slowest = 0.5, qp_coarse = 1e-8, qp_slowest_coarse = 0.9;

/* Residual of directions towards a solution, and towards a proof that there is none, over the
 * right-hand side: iterations against steps of refinement. */
static const double qp_direction_accuracy = 1e-10, qp_proof_accuracy = 1e-15;

/* A shorter step ends the search. */
static const double qp_shortest_step = 1e-9;

/* Part of the tolerance that polishing, and a solution by its active rows, must reach: later
 * iterations are cheaper than a solution that the next check refuses. */
static const double qp_polished_share = 1e-3;

/* Polishing is tried below the residual qp_early, and after a failure again below the part qp_again
 * of it: an early success saves iterations, a failure costs a factorization. The limit of its
 * rounds holds at the start and at the end. */
static const double qp_early = 1e-3, qp_again = 1e-2;
enum { QP_POLISHING_ROUNDS = 4 };

/* ---- complementarity problems ---------------------------------------------------------------- */

/* Dictionaries on which a method goes on after round-off has ended it, and artificial columns that
 * Lemke's method tries before a ray counts. */
enum { LCP_MOST_RENEWALS = 3, LCP_MOST_COVERS = 4 };

/* Factor per renewal of the limit below 0 up to which values count as >= 0: digits of the result
 * against ties that round-off breaks. */
static const double lcp_finer = 1e-4;

/* steps of iterative refinement of a solution: its digits against products with M */
enum { LCP_REFINEMENTS = 3 };

#endif
