/* This module solves linear complementarity problems: given M (n, n) and q (n), find
 *
 *     w = M z + q,   z >= 0,   w >= 0,   z_i w_i = 0 for every i.
 *
 * Two pivoting methods work on one dictionary of the problem, whose rows and columns are first
 * scaled by powers of two:
 *
 *     Lemke     an artificial variable is driven out along a path of almost complementary bases.
 *               Ties of the ratio test are broken by the lexicographic rule, so that no path
 *               cycles, however degenerate the problem. It ends with a solution or on a ray; for M
 *               that is copositive-plus, as of contact without friction, or with pyramids of
 *               friction (Anitescu and Potra 1997), a ray means that there is no solution.
 *     PPM       the principal pivoting method of Zapolsky and Drumwright (PPM I): pairs of a basis
 *               and its complement change places where w or z is most negative. It begins at any
 *               set of indices and changes few, for M of low rank or from a good start. Where that
 *               cycles or finds no pivot the least-index criss-cross method goes on, which is
 *               finite for every sufficient M: semidefinite ones and P-matrices among them.
 *
 * Neither allocates; equal inputs give equal bits. A solver may be used by one thread at a time.
 *
 *     lcp_solver *solver;
 *     const lcp_settings settings = lcp_settings_default();
 *     lcp_solution solution = {.z = z, .w = w};
 *     if (lcp_create(&solver, 64, NULL, &error) == SAP_OK &&
 *         lcp_solve(solver, &settings, &(lcp_problem){n, M, q}, NULL, &solution, &error) == SAP_OK
 *         && solution.outcome == LCP_SOLVED) { ... }
 *     lcp_destroy(solver); */
#ifndef SAPWOOD_LCP_H
#define SAPWOOD_LCP_H

#include "sapwood/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lcp_method {
  LCP_LEMKE = 0,
  LCP_PPM,
  LCP_AUTO /* PPM, then Lemke if that does not solve it, also from the starts of games */
} lcp_method;

typedef struct lcp_settings {
  lcp_method method;  /* Lemke */
  double tolerance;   /* limit of relative_residual, in (0, 1): 1e-9 */
  int32_t max_pivots; /* pivots of one method on one matrix; 0: 1000, or 50 n if that is more: 0 */
  int32_t least_index_after; /* PPM: pivots before the least-index rule; 0: n + 10: 0 */
  /* Tikhonov regularization: if M gives no solution, M + lambda I is solved. lambda grows from
   * `first` times the largest |M_ij| by `factor` up to `last`, until lambda z is below
   * sqrt(tolerance) q, both scaled as for relative_residual. first = 0: only M */
  double regularization_first;  /* >= 0: 0 */
  double regularization_factor; /* > 1: 1e4 */
  double regularization_last;   /* >= first, finite: 1 */
} lcp_settings;

SAP_API lcp_settings lcp_settings_default(void);
SAP_API sap_status lcp_settings_check(const lcp_settings *settings, sap_error *error);

/* Outcome of a solve. Unless it is LCP_SOLVED z and w belong to the last basis, with z >= 0, and
 * the residuals tell their accuracy. */
typedef enum lcp_outcome {
  LCP_SOLVED = 0,      /* relative_residual <= tolerance, for M + regularization I */
  LCP_RAY,             /* Lemke: the path ended on a ray */
  LCP_INFEASIBLE,      /* PPM: a row of the dictionary proves that no z >= 0 has w >= 0 */
  LCP_ITERATION_LIMIT, /* max_pivots */
  LCP_SINGULAR,        /* PPM: no pivot where a sufficient M has one, and no proof */
  LCP_INACCURATE,      /* a solution up to round-off: relative_residual > tolerance */
  LCP_NON_FINITE       /* overflow; z and w are zero */
} lcp_outcome;

SAP_API const char *lcp_outcome_text(lcp_outcome outcome);

typedef struct lcp_problem {
  int32_t n;       /* >= 0 */
  const double *M; /* (n, n) row-major, finite */
  const double *q; /* (n) finite */
} lcp_problem;

/* Arrays belong to the caller and are written in place. */
typedef struct lcp_solution {
  double *z;     /* (n) >= 0 */
  double *w;     /* (n) M z + q with the M of the caller, evaluated at z */
  int8_t *basis; /* (n) 1 if z_i is basic, a start for nearby problems; or NULL */
  lcp_outcome outcome;
  lcp_method method; /* method that found z: LCP_LEMKE or LCP_PPM */
  int32_t pivots;    /* pivots of all attempts together */
  int32_t attempts;  /* number of methods and regularizations tried, >= 1 */
  double residual;   /* max_i |min(z_i, w_i)| for M */
  /* max_i |min(z_i/D_i, D_i v_i)| / (D_i (|q_i| + sum_j |M_ij| z_j)), M with regularization I and
   * v = M z + q: each row over its own terms. D scales rows and columns, so that the largest entry
   * of each of D M D is about 1. */
  double relative_residual;
  double regularization; /* lambda of the solved matrix, 0 for none */
} lcp_solution;

typedef struct lcp_solver lcp_solver;

/* Creates a solver for up to n_max unknowns, some 16 n_max^2 bytes. Only this call allocates. */
SAP_API sap_status lcp_create(lcp_solver **solver, int32_t n_max, const sap_allocator *allocator,
                              sap_error *error);
SAP_API void lcp_destroy(lcp_solver *solver); /* NULL is allowed */

/* Checks the problem, then solves it. `start` (n) or NULL: not 0 where z_i is expected to be basic;
 * some entries with dependent columns are left out. A solve whose path from the start fails
 * restarts without it. On a status other than SAP_OK nothing is written to the solution. */
SAP_API sap_status lcp_solve(lcp_solver *solver, const lcp_settings *settings,
                             const lcp_problem *problem, const int8_t *start,
                             lcp_solution *solution, sap_error *error);

#ifdef __cplusplus
}
#endif

#endif
