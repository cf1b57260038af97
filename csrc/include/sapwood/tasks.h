/* This module solves task control: torques within their limits, contact forces within friction
 * cones, and the accelerations that come nearest to weighted tasks. With accelerations a (m) of
 * which some have a motor (q) and others do not, and contact forces f,
 *
 *     minimise    1/2 sum_i w_i (T_i a - t_i)^2 + e/2 |a|^2 + k/2 |f/M_max|^2
 *     where       M a + h = J^T f + S^T tau,   lower <= tau <= upper,
 *                 f_n >= 0,   f_t within a polygon of `edges` corners in the circle of mu f_n,
 *
 * M_max the largest diagonal entry of M. Tasks are soft, everything else holds exactly. The program
 * is always feasible: f = 0 and any torques give accelerations. It is strictly convex, and solved
 * by the dual active-set method in a and f, tau being eliminated.
 *
 * A contact that is to stay at rest is a task: its rows of T are those of J. A contact that slides
 * has a known direction of friction: give it mu = 0 and J_n - mu J_t d for its normal row, d the
 * direction of sliding.
 *
 * A solver may be used by one thread at a time; equal inputs give equal bits. Memory grows with the
 * largest problem seen; otherwise tasks_solve allocates nothing. */
#ifndef SAPWOOD_TASKS_H
#define SAPWOOD_TASKS_H

#include "sapwood/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tasks_settings {
  int32_t edges;              /* corners of the friction polygon, even, >= 4: 4 */
  double force_weight;        /* k > 0: 1e-2 */
  double acceleration_weight; /* e > 0: 1e-5 */
} tasks_settings;

SAP_API tasks_settings tasks_settings_default(void);
SAP_API sap_status tasks_settings_check(const tasks_settings *settings, sap_error *error);

typedef enum tasks_outcome {
  TASKS_SOLVED = 0,
  TASKS_ITERATION_LIMIT, /* no feasible point, or too ill-conditioned; all is zero */
  TASKS_INACCURATE,      /* the equations of motion or a cone miss by more than round-off */
  TASKS_NON_FINITE       /* overflow; all is zero */
} tasks_outcome;

SAP_API const char *tasks_outcome_text(tasks_outcome outcome);

/* Arrays are read in place, row-major. */
typedef struct tasks_problem {
  int32_t m;               /* velocities, >= 0 */
  int32_t n_q;             /* velocities with a motor, <= m */
  int32_t n;               /* contacts, >= 0 */
  int32_t n_T;             /* rows of tasks, >= 0 */
  const int32_t *actuated; /* (n_q) velocities with a motor, each once */
  const double *M;         /* (m, m) symmetric, positive diagonal */
  const double *h;         /* (m) Coriolis forces and gravity, minus other applied forces */
  const double *T;         /* (n_T, m) */
  const double *t;         /* (n_T) */
  const double *w;         /* (n_T) weights >= 0 */
  const double *J;         /* (n, 3, m) two tangents, then the normal */
  const double *mu;        /* (n) >= 0 */
  const double *lower;     /* (n_q) smallest torques, -INFINITY for none; or NULL */
  const double *upper;     /* (n_q) largest torques >= lower, INFINITY for none; or NULL */
} tasks_problem;

/* Arrays belong to the caller and are written in place. */
typedef struct tasks_solution {
  double *a;      /* (m) accelerations */
  double *tau;    /* (n_q) torques, within their limits to the last bit */
  double *forces; /* (n, 3) N: both tangents, then the normal */
  /* (n, edges) sides of the cones that forces touch, the first of a contact without friction if it
   * carries no force; then (2, n_q) torques at their lower and upper limits. Not 0 before the call
   * for those expected, which a search that fails from them forgets, and written for the next one;
   * may be NULL */
  int8_t *active;
  tasks_outcome outcome;
  int32_t changes; /* rows that entered or left the active ones */
  double residual; /* largest |M a + h - J^T f - S^T tau|, N or N m */
} tasks_solution;

typedef struct tasks_solver tasks_solver;

SAP_API sap_status tasks_create(tasks_solver **solver, const sap_allocator *allocator,
                                sap_error *error);
SAP_API void tasks_destroy(tasks_solver *solver); /* NULL is allowed */

/* Reserves memory for problems of this size. It reads only m, n_q, n and n_T of `problem`. */
SAP_API sap_status tasks_reserve(tasks_solver *solver, const tasks_settings *settings,
                                 const tasks_problem *problem, sap_error *error);

/* Checks the problem, then solves it. On a status other than SAP_OK nothing is written. */
SAP_API sap_status tasks_solve(tasks_solver *solver, const tasks_settings *settings,
                               const tasks_problem *problem, tasks_solution *solution,
                               sap_error *error);

#ifdef __cplusplus
}
#endif

#endif
