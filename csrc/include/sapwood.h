/* sapwood: a solver for compliant frictional contact and other constraints.
 *
 * Given the mass matrix A of a forest of kinematic trees, its free-motion velocity v* and a set of
 * frictional contacts and other constraints, it finds the next velocity as the minimiser of the convex cost
 *
 *     l_p(v) = 1/2 |v - v*|_A^2 + sum_i l_i(v_c,i),   v_c = J v,   gamma_i = -dl_i/dv_c,i      (17)
 *
 * and says how accurate it is. Equation numbers are those of Castro, Permenter and Han, "An
 * Unconstrained Convex Formulation of Compliant Contact".
 *
 * Ownership: every array belongs to the caller; the library reads inputs in place and writes outputs in
 * place. A solver object owns its workspace and nothing else. Nothing here prints, exits or keeps state
 * outside the objects. One solver may be used by one thread at a time; it may have threads of its own.
 *
 * Units: SI. Velocities are generalized velocities; impulses are in N s.
 */
#ifndef SAPWOOD_H
#define SAPWOOD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SAP_VERSION "0.1.0"

/* ---- status -------------------------------------------------------------------------------- */

/* What a call reports about itself. How a solve ended is a sap_outcome, not a status. */
typedef enum sap_status {
  SAP_OK = 0,
  SAP_OUT_OF_MEMORY,
  SAP_INVALID_ARGUMENT,      /* sap_error says which */
  SAP_NOT_POSITIVE_DEFINITE, /* a block of A; sap_error.index is the tree */
  SAP_NOT_AVAILABLE          /* the library was built without this factorization */
} sap_status;

/* What was wrong with an input: `argument[index] = value: rule`. Strings are static. */
typedef struct sap_error {
  const char *argument; /* name as in sap_problem or sap_settings */
  int64_t index;        /* flat index into the array (a tree for A, see rule), or -1 for a scalar */
  int32_t group;        /* of constraints that the array belongs to, or -1 */
  double value;         /* the offending value, NaN where none is meant */
  const char *rule;     /* for example "must be >= 0" */
} sap_error;

/* one short static sentence per status */
const char *sap_status_text(sap_status status);

/* ---- memory -------------------------------------------------------------------------------- */

/* Allocator hook. Where a function takes a pointer to one, NULL means malloc and free. */
typedef struct sap_allocator {
  void *(*allocate)(size_t bytes, void *context); /* NULL on failure */
  void (*release)(void *memory, void *context);
  void *context;
} sap_allocator;

/* ---- problem ------------------------------------------------------------------------------- */

/* Barrier around the compliant law of a contact: its rigid core, see sap_project_core().
 *
 * With kappa = (delta/(dt + tau_d))^2/R_n the log barrier keeps the penetration of a contact below delta. It
 * needs a start inside of its domain: the guess is moved towards v = 0 as far as that takes. A contact that
 * would be outside at rest, deeper than delta, gets a larger kappa for this solve, delta growing like
 * sqrt(kappa). So does one that a moving surface leaves no room. */
typedef enum sap_core {
  SAP_CORE_NONE = 0,
  SAP_CORE_LOG, /* no penetration beyond delta */
  SAP_CORE_EXP  /* soft bound: the stiffness grows with exp(lambda s) */
} sap_core;

/* Kinds of constraint other than frictional contact. Each row is a clamped spring and damper:
 *
 *     y = (v_hat - v_c)/R,   gamma = clamp(y, lower, upper),   G = 1/R within the bounds, 0 beyond
 *
 * and kinds differ in what R, v_hat and the bounds follow from, see sap_regularize_group(). */
typedef enum sap_kind {
  SAP_LIMIT = 0,    /* joint limit, frictionless contact */
  SAP_BILATERAL,    /* ball, weld, distance, coupler, closed loop */
  SAP_CONTROLLER,   /* implicit PD controller with an effort limit */
  SAP_DRY_FRICTION, /* dry friction of a joint */
  SAP_N_KINDS
} sap_kind;

/* Constraints of one kind. J holds, per constraint, a row-major size x tree_nv[tree_a] block and then, if
 * tree_b >= 0, a row-major size x tree_nv[tree_b] block; n_rows is the sum of the sizes. */
typedef struct sap_constraints {
  sap_kind kind;
  int32_t n;             /* constraints */
  const int32_t *size;   /* (n) rows of each, 1 to 6; NULL: one each */
  const int32_t *tree_a; /* (n) first tree */
  const int32_t *tree_b; /* (n) second tree, or -1 */
  const double *J;       /* flat, see above */
  const double *R;       /* (n_rows), > 0, regularization: 1/kg, or 1/(kg m^2) for rows that turn */
  const double *v_hat;   /* (n_rows), m/s or rad/s */
  const double *lower;   /* (n_rows), may be -INFINITY: N s or N m s */
  const double *upper;   /* (n_rows), >= lower, may be INFINITY */
} sap_constraints;

/* One contact problem. Trees are concatenated in v; nv = sum of tree_nv.
 * tree_a[i] is the first tree of contact i (never -1), tree_b[i] the second one, or -1 when the
 * other side is the world or the same tree. tree_a[i] != tree_b[i].
 * J holds, per contact, a row-major 3 x tree_nv[tree_a] block and then, if tree_b >= 0, a row-major
 * 3 x tree_nv[tree_b] block; rows (t1, t2, n), v_n > 0 separates. */
typedef struct sap_problem {
  int32_t n_trees;
  int32_t n_contacts;
  const int32_t *tree_nv; /* (n_trees), each >= 1 */
  const double *A;        /* (sum tree_nv^2), row-major SPD block of each tree after the other */
  const double *v_star;   /* (nv) free-motion velocity, Eq. (10) */
  const int32_t *tree_a;  /* (n_contacts) */
  const int32_t *tree_b;  /* (n_contacts) */
  const double *J;        /* flat, see above */
  const double *mu;       /* (n_contacts), >= 0 */
  const double *R_t;      /* (n_contacts), > 0, tangential regularization, 1/kg */
  const double *R_n;      /* (n_contacts), > 0, normal regularization, 1/kg */
  const double *v_hat_n;  /* (n_contacts), normal stabilization velocity, m/s */
  const double *v_hat_t; /* (n_contacts, 2), tangential bias (moving surfaces), m/s; NULL means 0 */
  int32_t n_groups;
  const sap_constraints
      *groups;               /* (n_groups) constraints of other kinds; NULL where there are none */
  const int8_t *core;        /* (n_contacts) of sap_core; NULL: none has one */
  const double *kappa;       /* (n_contacts), > 0 where there is a core, its energy, J */
  const double *core_lambda; /* (n_contacts), > 0 where there is an exp core, dimensionless */
} sap_problem;

/* Lengths that follow from the index arrays of a problem. */
typedef struct sap_sizes {
  int64_t nv;     /* length of v_star */
  int64_t nA;     /* length of A */
  int64_t nJ;     /* length of J */
  int64_t n_rows; /* of all groups */
} sap_sizes;

/* Checks n_trees, n_contacts, tree_nv, tree_a, tree_b, and of the groups kind, n, size, tree_a and tree_b (the
 * only fields read), and computes the lengths of the other arrays. `error` may be NULL, here and below. */
sap_status sap_problem_sizes(const sap_problem *problem, sap_sizes *sizes, sap_error *error);

/* Full check: sizes, finiteness, symmetry and positive definiteness of A, mu >= 0, R > 0. */
sap_status sap_problem_check(const sap_problem *problem, const sap_allocator *allocator,
                             sap_error *error);

/* Estimate of the diagonal Delassus block W_ii (section IX-A). */
typedef enum sap_delassus {
  SAP_DELASSUS_BLOCK = 0, /* W_ii = sum_t J_it A_t^-1 J_it^T: the paper's */
  SAP_DELASSUS_DIAGONAL   /* diag(A_t)^-1 in place of A_t^-1: Drake's */
} sap_delassus;

/* Physical parameters of the contacts of one problem. */
typedef struct sap_parameters {
  double dt;    /* time step, s, > 0 */
  double sigma; /* tangential regularization, dimensionless, > 0 (1e-3) */
  double beta;  /* near-rigid parameter, dimensionless, >= 0 (1.0) */
  sap_delassus delassus;
  const double *phi0;  /* (n_contacts) signed distance at the start of the step, m */
  const double *k;     /* (n_contacts) stiffness, N/m, > 0 */
  const double *tau_d; /* (n_contacts) dissipation time, s, >= 0 */
  const double
      *delta; /* (n_contacts) depth of the core, m, > 0, read where there is one; NULL: the problem
                          has kappa */
} sap_parameters;

/* R_n = max(beta^2/(4 pi^2) w, 1/(dt k (dt + tau_d)))   (21)
 * R_t = sigma w                                         (22)
 * v_hat_n = -phi0/(dt + tau_d)
 * with w = |W_ii|_F/3. Reads trees, A and J of `problem` only and writes three arrays (n_contacts).
 * Checks what it reads. */
sap_status sap_regularize(const sap_problem *problem, const sap_parameters *parameters, double *R_t,
                          double *R_n, double *v_hat_n, const sap_allocator *allocator,
                          sap_error *error);

/* kappa = (delta/(dt + tau_d))^2/R_n of the contacts with a core, infinite elsewhere (n_contacts). Reads core
 * and n_contacts of `problem`, dt, tau_d and delta of `parameters`, and R_n (n_contacts); checks delta and what it
 * computes. */
sap_status sap_core_energy(const sap_problem *problem, const sap_parameters *parameters,
                           const double *R_n, double *kappa, sap_error *error);

/* Physical parameters of a group: arrays (n_rows), one for each parameter of the kind. */
typedef struct sap_group_parameters {
  double dt;    /* time step, s, > 0 */
  double sigma; /* dimensionless, > 0 (1e-3): dry friction */
  double beta;  /* near-rigid parameter, dimensionless, >= 0 (0.1) */
  sap_delassus delassus;
  const double *const *value; /* (sap_kind_parameters(kind)) */
} sap_group_parameters;

const char *sap_kind_name(sap_kind kind); /* for example "limit" */
int32_t sap_kind_parameters(sap_kind kind);
const char *sap_kind_parameter(sap_kind kind, int32_t parameter); /* name, for example "tau_d" */

/* R, v_hat, lower and upper (n_rows) of a group. With w = |W_ii|_F/n of the n <= 3 rows that are taken
 * together (1 to 3 and 4 to 6 of a constraint, which may differ in their units) and
 * R_nr = beta^2/(4 pi^2) w:
 *
 *     limit        phi0, k, tau_d
 *                  R = max(R_nr, 1/(dt k (dt + tau_d))), v_hat = -phi0/(dt + tau_d), gamma >= 0
 *     bilateral    g, k, tau_d, force_lower, force_upper
 *                  the same with g for phi0, dt force_lower <= gamma <= dt force_upper
 *     controller   Kp, Kd, q_0, q_d, v_d, u_ff, effort
 *                  R = max(R_nr, 1/(dt (dt Kp + Kd))), v_hat = (Kp (q_d - q_0) + Kd v_d + u_ff)/(dt Kp + Kd),
 *                  |gamma| <= dt effort
 *     dry_friction f                        R = sigma w, v_hat = 0, |gamma| <= dt f
 *
 * Where R_nr is the larger for a controller, both gains are scaled down at the same Kd/Kp. Reads trees and A of
 * `problem`, and of the group all but R, v_hat, lower and upper. Checks what it reads. */
sap_status sap_regularize_group(const sap_problem *problem, const sap_constraints *group,
                                const sap_group_parameters *parameters, double *R, double *v_hat,
                                double *lower, double *upper, const sap_allocator *allocator,
                                sap_error *error);

/* ---- the contact law, vectorised ----------------------------------------------------------- */

typedef enum sap_region {
  SAP_STICTION = 1,  /* Region I: y in the friction cone */
  SAP_SLIDING = 2,   /* Region II */
  SAP_NO_CONTACT = 3 /* Region III: y inside the polar cone */
} sap_region;

/* gamma_i = P_F(y_i) in the norm of R_i (18), G_i = -dgamma_i/dv_c,i (App. E) and the cost l_i (29) for n
 * contacts. y (n, 3) in N s, mu, R_t, R_n (n). Outputs, each of which may be NULL: gamma (n, 3),
 * G (n, 3, 3), cost (n), region (n). soft_norm is eps_s >= 0 in N s: y_r = sqrt(|y_t|^2 + eps_s^2). */
void sap_project(int64_t n, const double *y, const double *mu, const double *R_t, const double *R_n,
                 double soft_norm, double *gamma, double *G, double *cost, int8_t *region);

/* The same with rigid cores: core (n) of enum sap_core, kappa (n) > 0 in J and core_lambda (n) > 0, the last
 * two read where core says so. l = kappa b(s) with s = |P_F(y)|_R/sqrt(kappa) and
 *
 *     log   b = -s log(1-s)/2             exp   b = s^2 exp(core_lambda s)/2
 *
 * Outside of the domain, s < 1 for log and core_lambda s < 20 for exp, the cost is infinite and gamma and G
 * are NaN. */
void sap_project_core(int64_t n, const double *y, const double *mu, const double *R_t,
                      const double *R_n, double soft_norm, const int8_t *core, const double *kappa,
                      const double *core_lambda, double *gamma, double *G, double *cost,
                      int8_t *region);

/* gamma = clamp(y, lower, upper), G = -dgamma/dv_c = 1/R within the bounds and 0 beyond, and the cost
 * R y^2/2 within, R (b y - b^2/2) beyond a bound b, for n rows. Outputs (n), each of which may be NULL. */
void sap_clamp(int64_t n, const double *y, const double *R, const double *lower,
               const double *upper, double *gamma, double *G, double *cost);

/* ---- settings ------------------------------------------------------------------------------ */

typedef enum sap_line_search {
  SAP_LINE_SEARCH_EXACT = 0,
  SAP_LINE_SEARCH_BACKTRACKING
} sap_line_search;

/* First direction of an island. */
typedef enum sap_start {
  SAP_START_NEWTON = 0, /* Algorithm 1: from the regions at the guess */
  SAP_START_STICKING    /* as if every contact with v_hat_n > 0 stuck, where the guess is poor */
} sap_start;

typedef enum sap_factorization {
  SAP_SUPERNODAL = 0, /* our own, over a junction tree */
  SAP_DENSE,          /* LAPACK */
  SAP_CHOLMOD         /* SuiteSparse CHOLMOD */
} sap_factorization;

typedef struct sap_settings {
  double relative_tolerance;      /* eps_r of (20): 1e-6 */
  double absolute_tolerance;      /* eps_a of (20) in sqrt(J): 1e-16 */
  int32_t max_iterations;         /* 100 */
  sap_line_search line_search;    /* exact */
  double line_search_tolerance;   /* exact: dl/da over dl/da(0) short of the minimum: 0.01 */
  int32_t line_search_max_trials; /* more only until one lowers the cost: 50 */
  double max_step;                /* alpha_max: 1.5 */
  double armijo_rho;              /* backtracking factor: 0.8 */
  double armijo_c;                /* sufficient decrease: 1e-4 */
  sap_start start;                /* sticking */
  double start_threshold;         /* sticking: where e_m(v_guess) of an island exceeds this: 0.05 */
  int32_t turning;                /* 1: primal-dual friction, against slips that turn round: 1 */
  sap_factorization factorization; /* supernodal */
  int32_t mixed_precision;         /* 1: supernodal, the directions of islands of 72 velocities and
                                      more without cores in single precision, while that will
                                      do: 1 */
  double soft_norm;                /* eps_s in N s, 0 is the exact law: 0 */
  int32_t islands;                 /* 1: each island is solved and stopped by itself, without the
                                      velocities that no constraint moves: 1 */
  int32_t record_history;          /* 1: keep a sap_iteration per iteration (the first 1000 of
                                      an island), and timings: 0 */
  int32_t threads; /* that a solve may use, 1 to 256, and no bit of a result depends on: 1 */
} sap_settings;

sap_settings sap_settings_default(void);
sap_status sap_settings_check(const sap_settings *settings, sap_error *error);

/* 1 when the library was built with this factorization */
int sap_factorization_available(sap_factorization factorization);

/* ---- solver -------------------------------------------------------------------------------- */

typedef enum sap_outcome {
  SAP_CONVERGED = 0,
  SAP_STALLED, /* no decrease left at machine precision before (20) held */
  SAP_ITERATION_LIMIT,
  SAP_BREAKDOWN, /* the Hessian lost positive definiteness to round-off; `tree` says where */
  SAP_NON_FINITE /* overflow: a velocity or impulse became infinite or NaN */
} sap_outcome;

const char *sap_outcome_text(sap_outcome outcome);

/* One Newton iterate of one island. Record 0 of an island is the guess. */
typedef struct sap_iteration {
  int32_t island;
  int32_t iteration;
  int32_t trials;  /* line-search evaluations that led here */
  int32_t unused;  /* 0 */
  double step;     /* alpha that led here, 0 for the guess */
  double cost;     /* l_p of this island, J */
  double decrease; /* cost of the iterate before minus this one, computed as a difference, J */
  double momentum_error; /* e_m of this island (24) */
} sap_iteration;

/* Output arrays belong to the caller and are written in place. */
typedef struct sap_solution {
  double *v;           /* (nv) */
  double *gamma;       /* (n_contacts, 3), N s */
  double *v_c;         /* (n_contacts, 3) or NULL, m/s */
  int8_t *regions;     /* (n_contacts) of sap_region, or NULL */
  double *group_gamma; /* (n_rows) rows of the groups one after the other, or NULL */
  double *group_v_c;   /* (n_rows) or NULL */
  double *
      core_scale; /* (n_contacts) delta of each core as it was used over that of the problem, sqrt of
                         the same for kappa: 1 but for contacts that started too deep; or NULL */
  sap_outcome outcome;
  int32_t tree;               /* for SAP_BREAKDOWN, else -1 */
  int32_t n_deep;             /* contacts whose core_scale is above 1, see sap_core */
  int32_t iterations;         /* Newton iterations of the island that took most */
  int32_t total_iterations;   /* summed over islands */
  int32_t line_search_trials; /* summed over islands */
  int32_t n_islands;
  int32_t symbolic_reused; /* 1 when the graph was that of the call before, and as many
                                   velocities of each tree were moved by constraints */
  double momentum_error;   /* e_m (24) over the trees that a constraint touches; 0 without any */
  double complementarity_error; /* e_mu (25) */
  double velocity_error_bound;  /* proved: |v - v_min|_A <= this, sqrt(J), round-off included */
  double cost_gap_bound;        /* proved: l(v) - l_min <= this, J */
  double cost;                  /* l_p(v), J */
  double symbolic_seconds;      /* graph, order, junction tree */
  /* summed over the threads */
  double assembly_seconds;    /* with record_history, else 0: evaluating contacts, assembling H */
  double factor_seconds;      /* with record_history, else 0: factoring H and solving with it */
  double line_search_seconds; /* with record_history, else 0 */
} sap_solution;

typedef struct sap_solver sap_solver;

sap_status sap_solver_create(sap_solver **solver, const sap_settings *settings,
                             const sap_allocator *allocator, sap_error *error);
void sap_solver_destroy(sap_solver *solver); /* NULL is allowed */

/* Checks what it reads of the problem, then solves it: blocks of A of trees that no constraint touches are not
 * read. v_guess (nv) may be NULL: v_star; with `islands` it is not used for velocities that are
 * eliminated because no constraint moves them. On a status other than SAP_OK nothing is written to the output
 * arrays. Allocates only when the graph changed and needs more
 * room than any before it. */
sap_status sap_solver_solve(sap_solver *solver, const sap_problem *problem, const double *v_guess,
                            sap_solution *solution, sap_error *error);

/* sap_regularize(), then sap_solver_solve(), with one factorization of A and no allocation of its own:
 * problem->R_t, R_n and v_hat_n are not read, R_t, R_n and v_hat_n (n_contacts) are written. Where
 * parameters->delta is given problem->kappa is not read either. */
sap_status sap_solver_solve_physical(sap_solver *solver, const sap_problem *problem,
                                     const sap_parameters *parameters, double *R_t, double *R_n,
                                     double *v_hat_n, const double *v_guess, sap_solution *solution,
                                     sap_error *error);

/* Records of the last solve, island after island; valid until the next call. */
const sap_iteration *sap_solver_history(const sap_solver *solver, int32_t *n_records);

/* Cost (17), gradient, dense Hessian H = A + J^T G J (nv, nv) and Newton direction -H^-1 grad (nv) at v
 * (nv), NaN in an island where H is not positive definite to round-off. Any output may be NULL. Trees
 * without constraints take part too. Outside of the domain of a core the cost is infinite and the rest NaN. */
sap_status sap_solver_evaluate(sap_solver *solver, const sap_problem *problem, const double *v,
                               double *cost, double *gradient, double *hessian, double *direction,
                               sap_error *error);

/* l(v + alpha dv) - l(v) and its first two derivatives in alpha (VIII-C) at n values of alpha: writes
 * three arrays (n), infinite beyond the domain of a core; v must be inside. */
sap_status sap_solver_along_line(sap_solver *solver, const sap_problem *problem, const double *v,
                                 const double *dv, int32_t n, const double *alpha,
                                 double *difference, double *slope, double *curvature,
                                 sap_error *error);

#ifdef __cplusplus
}
#endif

#endif /* SAPWOOD_H */
