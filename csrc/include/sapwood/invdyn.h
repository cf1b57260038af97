/* This module solves inverse dynamics with rigid contact and friction: torques that realise desired
 * joint accelerations, the contact forces, and the motion of unactuated velocities (Zapolsky and
 * Drumwright).
 *
 * Velocities v (m) are actuated (q) or not (b), in any order. Over a step of dt, with z the contact
 * impulses and lambda the motors',
 *
 *     M (v+ - v) + dt h = J^T z + S^T lambda,    v_q+ = v_q + dt qdd
 *
 * Eliminating lambda leaves K = diag(A^-1, 0) with A = M_bb in place of M^-1, so that one Cholesky
 * factorization of A sets up all controllers:
 *
 *     v+ = v_free + K J^T z,   v_free,b = A^-1 (c_b - B v_q+),   c = M v - dt h,   B = M_bq
 *
 * and contact impulses obey, with u = J v+,
 *
 *     LCP_NOSLIP    0 <= f_n,  0 <= u_n + phi/dt, complementary;  u_t = 0 but where they open
 *     LCP_COULOMB   the same normals; friction within a pyramid of `edges` edges, that dissipates
 *                   the most: one complementarity problem, Eq. (64), by Lemke's method
 *     QP_COULOMB    Stage I minimises a convex energy over the friction pyramids; Stage II finds
 *                   the least |lambda| among impulses that Stage I finds as good
 *     QP_NOSLIP     the same with tangential impulses of any size
 *     ONE_STAGE     Stage I alone
 *     LCP_NEAREST   of all solutions of LCP_COULOMB that whose torques are nearest to those of the
 *                   last call: MINDIFF, Algorithm 3, by branch and bound, for two contacts at most
 *
 * Stage I in its contact-consistent form minimises 1/2 |v_b+ - v_free,b|_A^2 + z^T (J v_free), with
 * phi/dt added to normal velocities: the convex twin of the complementarity problem. In the paper's
 * form it minimises 1/2 v+^T M v+ with u_n + phi/dt >= 0, which brakes the whole body. Both are
 * solved by their dual, the nearest point of a polyhedron in as many unknowns as no motor moves.
 *
 * Torque limits add conditions to both stages where torques would pass them: |lambda| <= dt limit,
 * and in Stage I u_n + phi/dt >= 0 and for QP_NOSLIP u_t = 0, which hold at optima without limits.
 *
 * A solver may be used by one thread at a time. Equal inputs give equal bits, except that contacts
 * with ids are warm started from the last call (bases of complementarity problems, active rows of
 * both stages), and that LCP_NEAREST depends on its torques. Memory grows with the largest problem
 * seen: invdyn_solve then allocates nothing for smaller ones, and forgets contacts when it
 * allocates.
 *
 *     invdyn_solver *solver;
 *     const invdyn_settings settings = invdyn_settings_default();
 *     invdyn_solution solution = {.tau = tau, .forces = forces, .v_plus = v_plus, .slack = slack,
 *                                 .states = states};
 *     if (invdyn_create(&solver, NULL, &error) == SAP_OK &&
 *         invdyn_solve(solver, &settings, &problem, &solution, &error) == SAP_OK) {
 *       printf("%s\n", invdyn_outcome_text(solution.outcome));
 *     }
 *     invdyn_destroy(solver); */
#ifndef SAPWOOD_INVDYN_H
#define SAPWOOD_INVDYN_H

#include "sapwood/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum invdyn_controller {
  INVDYN_LCP_NOSLIP = 0,
  INVDYN_LCP_COULOMB,
  INVDYN_QP_NOSLIP,
  INVDYN_QP_COULOMB,
  INVDYN_ONE_STAGE,
  INVDYN_LCP_NEAREST
} invdyn_controller;

typedef enum invdyn_stage_one { INVDYN_CONTACT_CONSISTENT = 0, INVDYN_PAPER } invdyn_stage_one;

typedef struct invdyn_settings {
  invdyn_controller controller; /* INVDYN_QP_COULOMB */
  invdyn_stage_one stage_one;   /* INVDYN_CONTACT_CONSISTENT */
  int32_t edges;                /* number of edges of the friction pyramid, even, >= 4: 4 */
  int32_t nearest; /* 1: solve for the nearest accelerations if the desired are inconsistent: 1 */
  /* weights of 1/2 |lambda|^2 and 1/2 |z|^2, >= 0: 0. In the objective of ONE_STAGE; the latter
   * also in that of Stage II */
  double torque_regularization, force_regularization;
  /* part of the velocities that contacts would have without impulses: an edge of a cone that opens
   * slower may still have an impulse in contact-consistent Stage II. 0 keeps the motion that a
   * forward step has; a larger value keeps torques smooth if velocities are noise. >= 0: 1e-2 */
  double smoothing;
  /* for contacts without slip: directions of the base that tangents determine by less than this
   * part of the best one are not held. Otherwise feet of nearly equal heights would hold the base
   * by forces that grow with the inverse of the difference. From 0 to less than 1: 1e-3 */
  double rank_tolerance;
} invdyn_settings;

SAP_API invdyn_settings invdyn_settings_default(void);
SAP_API sap_status invdyn_settings_check(const invdyn_settings *settings, sap_error *error);

/* Outcome of a call. The solution is finite in every case. */
typedef enum invdyn_outcome {
  INVDYN_SOLVED = 0,
  /* no impulses exist: the result is for the nearest, see slack; without `nearest`, or if there is
   * none, it has no impulses */
  INVDYN_INCONSISTENT_ACCELERATIONS,
  /* tangential impulses carry all that normal ones could, or a contact opens while it is held and
   * pushes after its release */
  INVDYN_DEGENERATE_NOSLIP,
  /* limits exclude contacts that neither approach nor slip where held, see residuals */
  INVDYN_TORQUE_LIMITED,
  INVDYN_RAY,             /* Lemke's method ended on a ray though impulses exist; no impulses */
  INVDYN_ITERATION_LIMIT, /* limit of pivots reached: no impulses, or those of Stage I */
  INVDYN_SINGULAR,        /* A is not positive definite: all is zero */
  INVDYN_INACCURATE,      /* a residual is larger than round-off explains */
  INVDYN_NON_FINITE       /* overflow: all is zero */
} invdyn_outcome;

SAP_API const char *invdyn_outcome_text(invdyn_outcome outcome);

typedef enum invdyn_contact_state {
  INVDYN_SEPARATE = 0, /* no impulse */
  INVDYN_STICK,
  INVDYN_SLIP
} invdyn_contact_state;

/* Arrays are read in place, row-major. */
typedef struct invdyn_problem {
  int32_t m;   /* velocities, >= 0 */
  int32_t n_q; /* actuated velocities, <= m */
  int32_t n;   /* contacts, >= 0 */
  double dt;   /* s, > 0 */
  /* (n_q) actuated velocities, each once; the order of qdd, tau and slack */
  const int32_t *actuated;
  const double *M;            /* (m, m) symmetric; only A has to be positive definite */
  const double *h;            /* (m) Coriolis forces and gravity, minus other applied forces */
  const double *v;            /* (m) */
  const double *qdd;          /* (n_q) desired accelerations */
  const double *J_n;          /* (n, m) normal velocities, positive where contacts open */
  const double *J_t;          /* (n, 2, m) tangential velocities */
  const double *mu;           /* (n) >= 0 */
  const double *phi;          /* (n) gaps, m; or NULL: no contact may approach */
  const double *torque_limit; /* (n_q) > 0, infinity for none, N m; or NULL. Not for LCPs */
  const int64_t *ids;         /* (n) ids by which contacts are found again; or NULL */
} invdyn_problem;

/* Residuals of the conditions, largest of all rows; 0 if they hold or do not exist. */
typedef struct invdyn_residuals {
  double dynamics;        /* |M (v+ - v) + dt h - J^T z - S^T lambda|, N s or N m s */
  double acceleration;    /* |v_q+ - (v_q + dt qdd)| */
  double penetration;     /* -(u_n + phi/dt), m/s */
  double complementarity; /* f_n |u_n + phi/dt|, J */
  double tension;         /* -f_n, N s */
  double cone;            /* impulse beyond the pyramid, N s */
  double slip;            /* |u_t| of no-slip contacts that do not open, m/s */
  double friction;        /* energy that friction could dissipate further, J */
  double torque;          /* torque beyond its limit, N m */
} invdyn_residuals;

/* Arrays belong to the caller and are written in place. */
typedef struct invdyn_solution {
  double *tau;    /* (n_q) lambda / dt, N m */
  double *forces; /* (n, 3) z / dt, N: both tangents, then the normal */
  double *v_plus; /* (m) */
  double *slack;  /* (n_q) change of qdd */
  int8_t *states; /* (n) enum invdyn_contact_state */
  invdyn_outcome outcome;
  invdyn_residuals residuals;
  int32_t pivots; /* pivots of all solvers, without active rows with which a stage begins */
  /* regularization of the diagonal of a complementarity problem; 0 most often */
  double regularization;
} invdyn_solution;

typedef struct invdyn_solver invdyn_solver;

SAP_API sap_status invdyn_create(invdyn_solver **solver, const sap_allocator *allocator,
                                 sap_error *error);
SAP_API void invdyn_destroy(invdyn_solver *solver); /* NULL is allowed */

/* Reserves memory for problems of this size, so that solving them allocates nothing. It reads only
 * m, n_q, n and the presence of torque limits of `problem`. */
SAP_API sap_status invdyn_reserve(invdyn_solver *solver, const invdyn_settings *settings,
                                  const invdyn_problem *problem, sap_error *error);

/* Checks the problem, then solves it. On a status other than SAP_OK nothing is written. */
SAP_API sap_status invdyn_solve(invdyn_solver *solver, const invdyn_settings *settings,
                                const invdyn_problem *problem, invdyn_solution *solution,
                                sap_error *error);

#ifdef __cplusplus
}
#endif

#endif
