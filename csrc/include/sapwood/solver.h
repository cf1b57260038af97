/* This module declares the solver: settings, solution, and the calls. */
#ifndef SAPWOOD_SOLVER_H
#define SAPWOOD_SOLVER_H

#include "sapwood/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sap_line_search {
  SAP_LINE_SEARCH_EXACT = 0,
  SAP_LINE_SEARCH_BACKTRACKING
} sap_line_search;

/* The law of friction.
 *
 *     convex   gamma in the cone, of maximum dissipation: a contact that slides also has v_n > 0
 *     lagged   normal and tangential part apart, |gamma_t| <= b, b = mu gamma_n of the last step
 *     coulomb  the same with b = mu gamma_n of this step */
typedef enum sap_friction {
  SAP_FRICTION_CONVEX = 0,
  SAP_FRICTION_LAGGED,
  SAP_FRICTION_COULOMB
} sap_friction;

/* First direction of an island. */
typedef enum sap_start {
  SAP_START_NEWTON = 0, /* Algorithm 1: from the regions at the guess */
  SAP_START_STICKING /* treats every contact with v_hat_n > 0 as sticking, if the guess is poor */
} sap_start;

typedef struct sap_settings {
  double relative_tolerance;    /* eps_r of (20): 1e-6 */
  double absolute_tolerance;    /* eps_a of (20) in sqrt(J): 1e-16 */
  double natural_tolerance;     /* natural_residual at which proximal solves end: 1e-9 */
  int32_t max_iterations;       /* per island: 1000 */
  sap_line_search line_search;  /* exact */
  double line_search_tolerance; /* exact: largest dl/da over dl/da(0) at the end: 0.01 */
  /* trials per search, at most 1000000: 50. More follow only until one lowers the cost;
   * backtracking then halves the step */
  int32_t line_search_max_trials;
  double max_step;   /* alpha_max: 1.5 */
  double armijo_rho; /* backtracking factor: 0.8 */
  double armijo_c;   /* sufficient decrease: 1e-4 */
  sap_start start;   /* sticking */
  /* e_m(v_guess) of an island above which it starts with sticking contacts: 0.05; with Coulomb's
   * friction e_c, and 0.3 at least */
  double start_threshold;
  int32_t turning; /* 1: primal-dual friction, against slips that reverse: 1 */
  /* 1: directions of islands of 72 velocities or more without cores are in single precision, as
   * long as that suffices: 1 */
  int32_t mixed_precision;
  sap_friction friction; /* convex */
  double soft_norm;      /* eps_s in N s, 0 is the exact law: 0 */
  /* 1: each island is solved and stopped by itself, without velocities that no constraint moves:
   * 1 */
  int32_t islands;
  /* 1: keep timings and a sap_iteration per iteration (the first 1000 of an island): 0 */
  int32_t record_history;
  int32_t threads; /* threads of a solve, 1 to 256; no bit of a result depends on them: 1 */
} sap_settings;

SAP_API sap_settings sap_settings_default(void);
SAP_API sap_status sap_settings_check(const sap_settings *settings, sap_error *error);

/* ---- solver -------------------------------------------------------------------------------- */

typedef enum sap_outcome {
  /* (20) holds; or impulses cancel, and net momentum, net impulse and gradient all lie within a
   * proved bound on their round-off, so that momentum_error means nothing */
  SAP_CONVERGED = 0,
  SAP_STALLED, /* no further decrease at machine precision, and (20) does not hold */
  SAP_ITERATION_LIMIT,
  SAP_FRICTION_LIMIT, /* no forces that obey Coulomb's law were found: the best iterate */
  SAP_BREAKDOWN,      /* the Hessian lost positive definiteness to round-off at `tree` */
  SAP_NON_FINITE,     /* overflow: a velocity, an impulse, the cost or a norm is infinite or NaN */
  SAP_PROXIMAL_LIMIT  /* proximal solves did not reach natural_tolerance: the best impulses */
} sap_outcome;

SAP_API const char *sap_outcome_text(sap_outcome outcome);

/* Algorithm that solved an island. */
typedef enum sap_algorithm {
  SAP_ALGORITHM_NEWTON = 0, /* Newton's method on the cost (17), in the velocities */
  SAP_ALGORITHM_COULOMB,    /* semismooth Newton on Coulomb's law, in the velocities */
  SAP_ALGORITHM_DELASSUS    /* semismooth Newton on the Delassus problem of its impulses */
} sap_algorithm;

typedef enum sap_storage {
  SAP_STORAGE_SUPERNODAL = 0, /* A + J^T G J over the junction tree of the graph */
  SAP_STORAGE_DENSE           /* one dense block of at most 128 velocities, 64 without contacts */
} sap_storage;

/* Fallbacks of a solve whose first algorithm did not succeed: bits of
 * sap_island_report.fallbacks. */
enum sap_fallback {
  SAP_FALLBACK_SUPERNODAL = 1,  /* dense storage was tried first and did not converge */
  SAP_FALLBACK_BOUNDS_HELD = 2, /* convex solves with the bounds of friction held */
  SAP_FALLBACK_DOUBLE = 4,      /* single precision did not suffice for H */
  SAP_FALLBACK_PROXIMAL = 8,    /* proximal solves: R is too small for double precision */
  SAP_FALLBACK_SYMMETRIC = 16   /* directions without the unsymmetric part of friction */
};

typedef struct sap_island_report {
  uint8_t algorithm; /* a sap_algorithm */
  uint8_t storage;   /* a sap_storage */
  uint8_t fallbacks; /* bits of sap_fallback */
  uint8_t outcome;   /* a sap_outcome */
  int32_t tree;      /* a tree of the island */
} sap_island_report;

/* One Newton iterate of one island. Record 0 of an island is the start of its solve: the guess, or
 * a point inside of the barriers if the guess is outside. After a change of barriers
 * (sap_problem.kappa) or of the friction the next record evaluates the last iterate again: it
 * repeats the number of the iteration, with step, trials and decrease 0. */
typedef struct sap_iteration {
  int32_t island;
  int32_t iteration;     /* number of directions so far, from 0 on */
  int32_t trials;        /* line-search evaluations of this iterate */
  int32_t unused;        /* 0 */
  double step;           /* alpha of this iterate, 0 without a step */
  double cost;           /* l_p of this island, J */
  double decrease;       /* cost of the last iterate minus this one, computed as a difference, J */
  double momentum_error; /* e_m of this island (24) */
} sap_iteration;

/* Output arrays belong to the caller and are written in place. */
typedef struct sap_solution {
  double *v;           /* (nv) */
  double *gamma;       /* (n_contacts, 3), N s */
  double *v_c;         /* (n_contacts, 3) or NULL, m/s */
  int8_t *regions;     /* (n_contacts) enum sap_region, or NULL */
  double *group_gamma; /* (n_rows) rows of the groups one after the other, or NULL */
  double *group_v_c;   /* (n_rows) or NULL */
  double *spin_gamma;  /* (spin->n, 3), N m s, or NULL */
  double *spin_v_c;    /* (spin->n, 3), rad/s, or NULL */
  /* (n_contacts) delta of each core in the solve over that of the problem, the square root of the
   * same for kappa: 1 except for contacts that start too deep; or NULL */
  double *barrier_scale;
  sap_island_report *islands; /* (n_trees) report of each island, the first n_islands; or NULL */
  sap_outcome outcome;
  int32_t tree;               /* for SAP_BREAKDOWN, else -1 */
  int32_t n_deep;             /* contacts with barrier_scale above 1, see sap_barrier */
  int32_t iterations;         /* Newton iterations of the slowest island */
  int32_t total_iterations;   /* summed over islands */
  int32_t proximal_solves;    /* solves of the proximal iteration; 0: R was used as it is */
  int32_t line_search_trials; /* summed over islands */
  int32_t n_islands;
  /* 1 if graph and number of moved velocities of each tree were those of the last call */
  int32_t symbolic_reused;
  double momentum_error; /* e_m (24) over the trees that a constraint touches; 0 without any */
  double complementarity_error; /* e_mu (25) */
  /* e_c: e_m of v with the friction that Coulomb's law gives for the normal impulses at v; NaN for
   * convex friction. The bounds below hold for the convex problem whose friction has the final
   * bounds b; they do not bound the error of b */
  double coulomb_error;
  /* |F(gamma)| over |gamma|, the natural residual of impulses from proximal solves, see
   * sap_solver_solve(); NaN where R was used as it is */
  double natural_residual;
  double velocity_error_bound; /* proved: |v - v_min|_A <= this, sqrt(J), round-off included */
  double cost_gap_bound;       /* proved: l(v) - l_min <= this, J */
  double cost;                 /* l_p(v), J */
  double symbolic_seconds;     /* graph, order, junction tree */
  /* summed over the threads, for islands in supernodal storage */
  double assembly_seconds;    /* with record_history, else 0: evaluating contacts, assembling H */
  double factor_seconds;      /* with record_history, else 0: factoring H and solving with it */
  double line_search_seconds; /* with record_history, else 0 */
} sap_solution;

/* Returns a solution whose arrays are all NULL. */
SAP_API sap_solution sap_solution_default(void);

typedef struct sap_solver sap_solver;

SAP_API sap_status sap_solver_create(sap_solver **solver, const sap_settings *settings,
                                     const sap_allocator *allocator, sap_error *error);
SAP_API void sap_solver_destroy(sap_solver *solver); /* NULL is allowed */

/* Ends solves that last too long. The calling thread asks `wanted` between iterations and trials,
 * at times `interval` or more apart, first after one interval. If it returns 1 the solve ends with
 * SAP_INTERRUPTED and undefined output arrays, and the solver is ready for the next. */
typedef struct sap_interrupt {
  int (*wanted)(void *context);
  void *context;
  double interval; /* s, >= 0 */
} sap_interrupt;

/* Sets the interrupt; with NULL, the default, solves are not interrupted. */
SAP_API void sap_solver_set_interrupt(sap_solver *solver, const sap_interrupt *interrupt);

/* Solves without their certificate if leaves_out is 1: complementarity_error and both bounds are
 * infinite then, and all else is as with it. */
SAP_API void sap_solver_leave_bounds_out(sap_solver *solver, int leaves_out);

/* Checks the inputs that it reads, then solves the problem: blocks of A of trees that no constraint
 * touches are not read, except by proximal solves.
 *
 * Where R_n or R of a limit is below 1e-5 times diag(J diag(A)^-1 J^T), or R_t or R of another row
 * below 1e-7 times that, (v_hat - v_c)/R has too few digits. A proximal-point iteration then
 * finds the impulses: solves with R + D, D > 0, follow, with v_hat + D gamma_k around the impulses
 * gamma_k before. It ends where in the norm of s = w + R
 *
 *     |F(gamma)| <= natural_tolerance |gamma|,   F(gamma) = P(gamma - u/s) - gamma,
 *     u = J (v* + A^-1 J^T gamma) - v_hat + R gamma
 *
 * and P projects onto the impulses that the law allows. There R = 0, rigid contact, is allowed. If
 * the tolerance is not reached and no R is 0, one solve with R as it is follows, and counts if it
 * converges. Rigid cores, torsional friction, soft_norm and unknown bounds of lagged friction
 * exclude the iteration: R must be > 0 and is used as it is. After it iterations, trials and times
 * are sums over solves; momentum_error, complementarity_error, coulomb_error and the history belong
 * to the last one; cost_gap_bound is infinite, and so is velocity_error_bound where R is 0, unless
 * the constraint is open or at a bound.
 *
 * v_guess (nv) may be NULL: v_star; with `islands` it is not used for velocities eliminated because
 * no constraint moves them. On a status other than SAP_OK nothing is written to the output
 * arrays, unless it is SAP_INTERRUPTED. Allocates only if a new graph needs more memory than all
 * earlier ones. */
SAP_API sap_status sap_solver_solve(sap_solver *solver, const sap_problem *problem,
                                    const double *v_guess, sap_solution *solution,
                                    sap_error *error);

/* Runs sap_regularize(), then sap_solver_solve(), with one factorization of A and no further
 * allocation: it writes R_t, R_n and v_hat_n (n_contacts) and does not read those of `problem`, and
 * with parameters->groups it writes the arrays of the groups too. With parameters->delta it does
 * not read problem->kappa either. */
SAP_API sap_status sap_solver_solve_physical(sap_solver *solver, const sap_problem *problem,
                                             const sap_parameters *parameters, double *R_t,
                                             double *R_n, double *v_hat_n, const double *v_guess,
                                             sap_solution *solution, sap_error *error);

/* Returns the records of the last solve, island after island; valid until the next call. */
SAP_API const sap_iteration *sap_solver_history(const sap_solver *solver, int32_t *n_records);

/* Computes the cost (17), gradient, dense Hessian H = A + J^T G J (nv, nv) and Newton direction
 * -H^-1 grad (nv) at v (nv). The direction is NaN in an island where H is not positive definite to
 * round-off. Any output may be NULL. Trees without constraints take part too. Outside of the domain
 * of a core the cost is infinite and the rest NaN. Friction that is not convex has bounds: those of
 * the problem for lagged friction, and b = mu gamma_n at v if they are unknown or it is Coulomb's.
 * No derivative contains their change with v. */
SAP_API sap_status sap_solver_evaluate(sap_solver *solver, const sap_problem *problem,
                                       const double *v, double *cost, double *gradient,
                                       double *hessian, double *direction, sap_error *error);

/* Runs sap_regularize() without memory of its own, and lays the problem out for
 * sap_solver_gradient(). Arguments are those of sap_solver_solve_physical(). */
SAP_API sap_status sap_solver_regularize(sap_solver *solver, const sap_problem *problem,
                                         const sap_parameters *parameters, double *R_t, double *R_n,
                                         double *v_hat_n, sap_error *error);

/* Computes the gradient (nv) of sap_solver_evaluate() at a finite v (nv) for the problem that
 * sap_solver_regularize() had last. R and v_hat may have changed since. */
SAP_API sap_status sap_solver_gradient(sap_solver *solver, const sap_problem *problem,
                                       const double *v, double *gradient, sap_error *error);

/* Writes v (nv), and the impulses and velocities of all constraints at v, to the arrays of the
 * solution; its numbers stay. Bounds of friction are those of sap_solver_evaluate(). */
SAP_API sap_status sap_solver_impulses(sap_solver *solver, const sap_problem *problem,
                                       const double *v, const sap_solution *solution,
                                       sap_error *error);

/* Computes l(v + alpha dv) - l(v) and its first two derivatives in alpha (VIII-C) at n values of
 * alpha. Writes three arrays (n), infinite beyond the domain of a core; v must be inside. Bounds of
 * friction are those at v of sap_solver_evaluate(), fixed along the line. */
SAP_API sap_status sap_solver_along_line(sap_solver *solver, const sap_problem *problem,
                                         const double *v, const double *dv, int32_t n,
                                         const double *alpha, double *difference, double *slope,
                                         double *curvature, sap_error *error);

#ifdef __cplusplus
}
#endif

#endif
