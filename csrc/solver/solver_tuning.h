/* The tuned constants of the solver. They choose and time its algorithms; the proof of a result's
 * accuracy does not depend on them. Each comment says the unit and what the constant trades.
 * Constants without a unit are ratios. Two commands measure them against another revision of the
 * sources, unless a section names a command of its own:
 *
 *     python -m benchmarks noise FOLDER --against REV             problem files
 *     python -m benchmarks models --speed --against REV FOLDER    steps of models */
#ifndef SAPWOOD_SOLVER_SOLVER_TUNING_H
#define SAPWOOD_SOLVER_SOLVER_TUNING_H

#include <float.h>

/* ---- Newton's search ------------------------------------------------------------------------- */

enum {
  /* velocities of an island from which on its factor has single precision;
   * `python -m benchmarks ablation --piece "single precision"` */
  SAP_SINGLE_VELOCITIES = 72,
  /* iterations of a first search that another one follows, at most; half of those allowed if that
   * is less */
  SAP_FIRST_PART = 50,
  /* iterations at the end of double precision without progress that end the search */
  SAP_EXHAUSTED = 3,
  /* rounds of rough searches with thicker layers of rigid cores */
  SAP_MOST_ROUNDS = 20,
  /* thickness of the first of these layers, over the one of the law */
  SAP_DETOUR = 16,
  /* short steps in a row that end a search between walls of rigid cores */
  SAP_BLOCKED_STEPS = 5,
  /* walls that a step from an infeasible start meets, at most */
  SAP_MOST_WALLS = 100
};

/* e_m from which on primal-dual friction serves; below, Newton's own H converges faster. */
static const double sap_primal_dual_from = 1e-2;

/* The last factor serves once more after a step that differed from a full one by less than the
 * first number. The gradient must be expected to fall below the second share of the tolerance.
 * This trades an iteration with a poor direction for a factorization. */
static const double sap_reuse_step = 0.1, sap_reuse_margin = 0.5;

/* An iteration makes progress if it leaves at most this share of the least gradient. */
static const double sap_progress = 0.9;

/* Decrease of the cost, over the cost, below which an iterate is verified as the last one. */
static const double sap_last_decrease = 1e-13;

/* Bound on the round-off, over the tolerance, up to which v_c and laws need no second evaluation.
 * The round-off itself is hundreds of times smaller. */
static const double sap_verified_share = 1e-2;

/* A shorter step counts as blocked by a wall. */
static const double sap_short_step = 0.05;

/* Tolerance of e_m in rounds with thicker layers. */
static const double sap_rough_round = 1e-2;

/* Share of a step to the wall that a start takes. */
static const double sap_clear_of_wall = 0.9;

/* Beyond the minimum the line search ends at a slope of this share of its tolerance, but not below
 * the least slope. Trades trials for the proof that the cost has fallen. */
static const double sap_slope_beyond = 0.1, sap_least_slope = 1e-8;

/* ---- Coulomb's search; python -m benchmarks coulomb FOLDER ----------------------------------- */

enum {
  /* contacts in dispute that a round adds, and those after a step that did not lower |D r| enough:
   * iterations against the size of the small problem */
  SAP_DISPUTED = 4,
  SAP_DISPUTED_AFTER_REFUSAL = 8,
  /* contacts of the small problem, at most: fewer settle fewer disputes beside one factor, more
   * take memory by their square and time by their cube */
  SAP_SMALL_MOST = 32,
  /* rounds of a step, and those of the stick start and after a step that did not lower |D r|
   * enough. A step that would not lower it either takes as many as there is room for: without that,
   * hard steps take 1.2 times the iterations. One round more makes 0.92 times the iterations and
   * 1.06 times the time of piles. */
  SAP_DISPUTE_ROUNDS = 2,
  SAP_MORE_DISPUTE_ROUNDS = 4,
  /* cycles of the small problem; sweeps in the first cycle and in later ones */
  SAP_SMALL_CYCLES = 4,
  SAP_SMALL_FIRST_SWEEPS = 2,
  SAP_SMALL_SWEEPS = 10,
  /* iterations without progress from which on the step is the u of the last round: that breaks
   * cycles of two iterates, which the u of the least |D r| never leaves */
  SAP_STUCK = 3,
  /* iterations without progress before a fixed-point step */
  SAP_STAGNATION = 8,
  /* the same after a fixed-point step, before the next one: a solution is found in a few
   * iterations, or not from there. Of 768 hard solves of piles, 12 end without a solution within
   * 200 iterations, 13 with 4. */
  SAP_TRIAL_ITERATIONS = 5,
  /* fixed-point steps in a row; some solutions are found after 20 */
  SAP_MOST_FIXED_POINT_STEPS = 30
};

/* Residuals of the unsymmetric system, over its right-hand side: above the first the solution is
 * refined, above the second the factor is not used. */
static const double sap_refined_residual = 1e-3, sap_largest_residual = 1e-2;

/* Least difference of both laws for a contact in dispute, over the largest one; squared. */
static const double sap_least_dispute = 1e-6;

/* Search of the small problem: Newton's steps in a cycle; halvings of each; whether all cycles run
 * without progress; factors of rho for friction in each cycle. With 1 throughout half of the
 * redundant contacts between boxes take all cycles, and piles 1.2 times the time. The thorough
 * search follows a step that did not lower |D r| enough. It solves half of the problems that the
 * usual one does not, in four times its time. */
static const struct sap_small_search {
  int steps, halvings, persists;
  double sharpness[SAP_SMALL_CYCLES];
} sap_small_usual = {6, 3, 0, {1, 30, 1000, 30}},
  sap_small_thorough = {20, 6, 1, {1, 30, 1000, 10000}};

/* Natural map of a solution of the small problem, over its value at 0: no other cycle begins below
 * the first, and Newton's steps end at the second. R of redundant contacts makes a velocity's error
 * a thousand times larger in the impulse. Piles take 1.1 times the iterations with 1e-10 for the
 * first, and 1.05 to 1.3 times with 1e-14 for the second. */
static const double sap_small_tolerance = 1e-14, sap_small_last = 1e-18;

/* The small problem ends after a later cycle that leaves more than this share of the natural map.
 * Without that, one problem in ten takes half of all Newton steps and is not solved. */
static const double sap_small_progress = 0.1;

/* A step that leaves more of |D r| takes more rounds, and the next one more contacts in dispute. */
static const double sap_full_step_share = 0.9;

/* e_c of a fair guess: the search starts without the stick start, which mostly leads up from it.
 * Trades a step with contacts in dispute for an iteration. */
static const double sap_fair_guess = 0.3;

/* Slip turns round in a step if the cosine of its change of direction is below minus this. Between
 * 0.5 and 0.97 the iterations of piles are within 1 %; at 0 they are 1.04 times as many. */
static const double sap_reversal = 0.8;

/* Relative change of |D r| in one or two iterations below which further ones repeat it. Trades
 * iterations for a fixed-point step. */
static const double sap_same_norm = 1e-3;

/* e_m of a fixed-point step, over e_c of the iterate. */
static const double sap_fixed_point_share = 0.1;

/* e_c of the search that gives lagged friction its bounds. */
static const double sap_rough_bounds = 1e-2;

/* ---- the Delassus search --------------------------------------------------------------------- */

enum {
  /* Rounds of sweeps and Newton's steps. */
  SAP_DELASSUS_ROUNDS = 5,
  /* Sweeps of the second round; the first has none, later ones have twice as many each. Torsion
   * needs fewer sweeps, and so does a gamma near the solution. */
  SAP_SWEEPS = 4,
  SAP_TORSIONAL_SWEEPS = 2,
  SAP_NEAR_SWEEPS = 1,
  /* Newton's steps in a round, and halvings of a step */
  SAP_DELASSUS_STEPS = 12,
  SAP_HALVINGS = 2
};

enum {
  /* Newton's steps to the direction of a sliding contact, and secants in an interval of directions
   * with a root, which take over where Newton's steps find none */
  SAP_SLIDING_STEPS = 6,
  SAP_SLIDING_SECANTS = 40
};

/* Sine of the angle between friction and slip below which they are parallel, as sweeps need it. */
static const double sap_parallel = 1e-6;

/* Growth of the residual that a step may have without being halved. */
static const double sap_residual_growth = 5;

/* Residual of a solution, over the largest s |gamma|. */
static const double sap_delassus_tolerance = 1e-11;

/* Share of a diagonal that elimination leaves, below which it exchanges rows. */
static const double sap_least_pivot = 1e-4;

/* ---- dense storage --------------------------------------------------------------------------- */

/* Upper limits of a component in dense storage. In wider components without contacts the islands
 * eliminate velocities that no row moves, which saves more. */
enum {
  SAP_DENSE_VELOCITIES = 64,
  SAP_DENSE_VELOCITIES_WITH_CONTACTS = 128,
  /* contact impulses; more would cost more than A + J^T G J */
  SAP_DENSE_IMPULSES = 48,
  /* the same with torsion, condensed rows or joined trees, unless there are as many velocities */
  SAP_DENSE_FEWER_IMPULSES = 24,
  /* rows beside contacts that are always unknowns */
  SAP_DENSE_ROWS = 6,
  /* rows that are or may become unknowns */
  SAP_DENSE_UNKNOWN_ROWS = 24,
  /* velocities above which few rows that may be activated are all unknowns */
  SAP_WIDE_COMPONENT = 24,
  /* steps before a component goes to the islands */
  SAP_DENSE_STEPS = 4,
  /* columns of Y that one product finds: vectors in flight against the cache */
  SAP_STRIP = 8
};

/* A row keeps this share of R_r without its own part of W; with less, W loses as many digits. */
static const double sap_least_remainder = 1e-6;

/* A component is at rest if |v| is at most this share of |v* - v|. */
static const double sap_rest_share = 1e-3;

/* A step in dense storage is useful if it leaves at most this share of the gradient. */
static const double sap_useful_step = 0.5;

/* ---- threads; python -m benchmarks scaling --------------------------------------------------- */

enum {
  /* runs per thread among which cheap islands are divided: even loads against queue operations */
  SAP_RUNS = 16,
  /* an island costs much if that is more than a thread's share over this number */
  SAP_EXPENSIVE = 4,
  /* work between two looks for an interruption: about 20 us */
  SAP_WORK_BETWEEN_CHECKS = 4096,
  /* neighbours whose statistics are summed first, whichever thread solved them, then over all */
  SAP_SUMMED_ISLANDS = 16
};

/* Multiply-adds that a triple costs in an iteration, beside the factorization. */
static const double sap_work_per_triple = 3000;

/* Work of an island beside its iterations, in iterations. */
static const double sap_work_beside = 2;

/* Threads are woken for a gain above the first, multiply-adds per iteration, about 20 us, and above
 * the second share of the work. */
static const double sap_least_gain = 6e5, sap_least_gain_share = 0.05;

/* Time that a helper waits for the islands of others, s. */
static const double sap_helper_patience = 1e-3;

/* ---- the proximal iteration ------------------------------------------------------------------ */

/* Limits of solves, and of Newton's iterations of each. */
enum { SAP_MOST_SOLVES = 60, SAP_MOST_PROXIMAL_ITERATIONS = 150 };

/* R over the diagonal estimate of w below which a row is rigid. Velocities of 16 digits leave gamma
 * 11 digits here. A larger value takes proximal solves where one solve suffices; with a smaller one
 * single solves of redundant contacts take hundreds of iterations. */
static const double sap_rigid = 1e-5;

/* The same for rows that press both ways: friction, bilateral constraints, controllers. No set of
 * closed rows has to be found for them, so that single solves take hardly more iterations, and the
 * impulses have 9 digits there. */
static const double sap_rigid_two_sided = 1e-7;

/* sigma = D/w. A large one makes solves easy, a small one makes few of them. */
static const double sap_first_sigma = 1e-3, sap_least_sigma = 1e-6, sap_most_sigma = 1,
                    sap_sigma_factor = 0.1;

/* A solve that leaves more of the natural residual gains little, and sigma falls. */
static const double sap_little_gain = 0.3;

/* e_m of a solve: the first share of natural_tolerance, at most the second number, but not below
 * the round-off of gamma, which is the third over sigma. Where momentum is large beside impulses, a
 * solve may so take no iteration. The tolerance of the next ones then gets the fourth factor. */
static const double sap_solve_share = 0.1, sap_first_tolerance = 1e-10, sap_gamma_digits = 1e-15,
                    sap_stricter = 0.1;

/* ---- derivatives; python -m benchmarks derivatives ------------------------------------------- */

/* Residual of the unsymmetric solve over its right-hand side at which refinement ends. It also ends
 * with a correction that leaves more than the second share of the residual before. */
static const double sap_unsymmetric_tolerance = 16 * DBL_EPSILON, sap_useful_refinement = 0.5;

#endif
