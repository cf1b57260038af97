/* This module solves small dense convex quadratic programs:
 *
 *     minimise  1/2 x^T H x + g^T x
 *     where     A x = b,   C x >= d,   lower <= x <= upper,
 *
 * H is symmetric and positive semidefinite: of rank 6 for the forces of contact, 0 for linear
 * programs. Rows may depend on each other, bounds may be infinite or equal.
 *
 * If H is positive definite, a dual active-set method finds the active rows. Otherwise, or where
 * that does not solve the program, a primal-dual interior point method on the homogeneous embedding
 * finds a solution, or proves that there is none: every solve ends with multipliers that show it
 * optimal, infeasible or unbounded, or reports that neither is proved. Its solution is then
 * polished on the active rows. If there are many solutions it is near the middle of them, and so
 * changes little when the problem does.
 *
 * Nothing is allocated in a solve; equal inputs give equal bits. A solver may be used by one thread
 * at a time.
 *
 *     qp_solver *solver;
 *     const qp_settings settings = qp_settings_default();
 *     qp_solution solution = {.x = x};
 *     qp_problem problem = {.n = n, .H = H, .g = g, .n_inequalities = m, .C = C, .d = d};
 *     if (qp_create(&solver, n, 0, m, NULL, &error) == SAP_OK &&
 *         qp_solve(solver, &settings, &problem, NULL, &solution, &error) == SAP_OK &&
 *         solution.outcome == QP_SOLVED) { ... }
 *     qp_destroy(solver); */
#ifndef SAPWOOD_QP_H
#define SAPWOOD_QP_H

#include "sapwood/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qp_settings {
  double tolerance;       /* limit of relative_residual, in (0, 1): 1e-9 */
  int32_t max_iterations; /* limit of the interior point method: 100 */
  int32_t polish;         /* 1: solve for the active rows, before or after iterations: 1 */
  int32_t check_convex;   /* 1: factor H to detect QP_NOT_CONVEX: 1 */
} qp_settings;

SAP_API qp_settings qp_settings_default(void);
SAP_API sap_status qp_settings_check(const qp_settings *settings, sap_error *error);

typedef enum qp_outcome {
  QP_SOLVED = 0, /* relative_residual <= tolerance; no x so large hides an infeasible program */
  QP_INFEASIBLE, /* y, lambda and bounds prove it: A^T y + C^T lambda + bounds = 0, but
                    b^T y + d^T lambda + lower^T bounds_+ - upper^T bounds_- = 1; x is zero */
  QP_UNBOUNDED,  /* x is a direction: H x = 0, A x = 0, C x >= 0, g^T x = -1 */
  QP_ITERATION_LIMIT, /* x is the last iterate */
  QP_INACCURATE,      /* neither solved nor proved to have no solution, without further progress */
  QP_NOT_CONVEX,      /* H has a negative eigenvalue; x and multipliers are zero */
  QP_NON_FINITE       /* overflow; x and multipliers are zero */
} qp_outcome;

SAP_API const char *qp_outcome_text(qp_outcome outcome);

typedef struct qp_problem {
  int32_t n;              /* >= 0 */
  int32_t n_equalities;   /* >= 0 */
  int32_t n_inequalities; /* >= 0 */
  const double *H;        /* (n, n) row-major; (H + H^T)/2 is used */
  const double *g;        /* (n) */
  const double *A;        /* (n_equalities, n) row-major; may be NULL without any */
  const double *b;        /* (n_equalities) */
  const double *C;        /* (n_inequalities, n) row-major */
  const double *d;        /* (n_inequalities), may be -INFINITY: no constraint */
  const double *lower;    /* (n), may be -INFINITY, or NULL for none */
  const double *upper;    /* (n) >= lower, may be INFINITY, or NULL for none */
} qp_problem;

/* Arrays belong to the caller and are written in place. At the solution
 *
 *     H x + g = A^T y + C^T lambda + bounds,   lambda >= 0,   lambda_i (C x - d)_i = 0,
 *
 * bounds_i > 0 only at the lower bound of x_i and < 0 only at the upper one. */
typedef struct qp_solution {
  double *x;      /* (n) */
  double *y;      /* (n_equalities) multipliers, or NULL */
  double *lambda; /* (n_inequalities) or NULL */
  double *bounds; /* (n) or NULL */
  qp_outcome outcome;
  int32_t iterations;     /* interior point iterations; 0 if active rows were found without */
  int32_t polished;       /* 1 if solving for the active rows gave it */
  double objective;       /* value at x */
  double primal_residual; /* largest violation of a constraint */
  /* largest entry of H x + g - A^T y - C^T lambda - bounds, or of A^T y + C^T lambda + bounds for
   * an infeasible program */
  double dual_residual;
  double gap; /* objective minus that of the dual problem */
  /* largest residual of the constraints, the entries of the gradient and the gap beyond round-off,
   * each over the sizes of its own constant and terms. Terms count up to the largest constant:
   * |d_i| + sum_j |C_ij x_j| for a row of C. The problem is scaled by powers of two so that the
   * largest entries of H, A and C are about 1 */
  double relative_residual;
} qp_solution;

/* Start: the solution of a nearby problem of the same sizes. NULL stands for zeros. */
typedef struct qp_start {
  const double *x;      /* (n) finite, like the others */
  const double *y;      /* (n_equalities) */
  const double *lambda; /* (n_inequalities) */
  const double *bounds; /* (n) */
} qp_start;

typedef struct qp_solver qp_solver;

/* Creates a solver for problems of up to these sizes, some 8 (5 n_max + 3 m_max) n_max bytes for
 * m_max constraints. Only this call allocates. */
SAP_API sap_status qp_create(qp_solver **solver, int32_t n_max, int32_t n_equalities_max,
                             int32_t n_inequalities_max, const sap_allocator *allocator,
                             sap_error *error);
SAP_API void qp_destroy(qp_solver *solver); /* NULL is allowed */

/* Checks the problem, then solves it. The active rows of `start` are tried first: if polishing
 * succeeds from there, this takes no iteration. Without polishing `start` is not used. It may be
 * NULL. On a status other than SAP_OK nothing is written to the solution. */
SAP_API sap_status qp_solve(qp_solver *solver, const qp_settings *settings,
                            const qp_problem *problem, const qp_start *start, qp_solution *solution,
                            sap_error *error);

#ifdef __cplusplus
}
#endif

#endif
