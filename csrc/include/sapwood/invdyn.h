/* Inverse dynamics with rigid contact and friction: torques that realise desired accelerations of
 * joints, with the contact forces and the motion of what no motor moves (Zapolsky and Drumwright).
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
 *
 * Stage I in its contact-consistent form minimises 1/2 |v_b+ - v_free,b|_A^2 + z^T (J v_free), with
 * phi/dt added to normal velocities: the convex twin of the complementarity problem. In the paper's
 * form it minimises 1/2 v+^T M v+ with u_n + phi/dt >= 0, which brakes the whole body. Both are
 * solved by their dual, the nearest point of a polyhedron in as many unknowns as no motor moves.
 *
 * Torque limits add conditions to both stages where torques would pass them: |lambda| <= dt limit,
 * and in Stage I u_n + phi/dt >= 0 and for QP_NOSLIP u_t = 0, which hold at optima without limits.
 *
 * A solver may be used by one thread at a time. Equal inputs give equal bits, but that contacts
 * with names begin with what they were in the last call: bases of complementarity problems, active
 * rows of both stages. Memory grows with the largest problem seen: invdyn_solve allocates nothing
 * once it has seen it, and forgets contacts where it does.
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
  INVDYN_ONE_STAGE
} invdyn_controller;

typedef enum invdyn_stage_one { INVDYN_CONTACT_CONSISTENT = 0, INVDYN_PAPER } invdyn_stage_one;

typedef struct invdyn_settings {
  invdyn_controller controller; /* INVDYN_QP_COULOMB */
  invdyn_stage_one stage_one;   /* INVDYN_CONTACT_CONSISTENT */
  int32_t edges;                /* of the friction pyramid, even, >= 4: 4 */
  int32_t nearest; /* solve for the nearest accelerations where the desired cannot be had: 1 */
  /* what 1/2 |lambda|^2 and 1/2 |z|^2 count, >= 0: 0. In the objective of ONE_STAGE, and the latter
   * in that of Stage II */
  double torque_regularization, force_regularization;
  /* of the velocities that contacts would have without impulses: what an edge of a cone may open
   * with and still have an impulse in contact-consistent Stage II. 0 keeps the motion that a
   * forward step has; more keeps torques smooth where velocities are noise. >= 0: 1e-2 */
  double smoothing;
  /* of contacts without slip: directions of the base that tangents determine by less than this part
   * of what they determine best are not held, or feet of nearly equal heights would hold the base
   * by forces that grow with its inverse. From 0 to less than 1: 1e-3 */
  double rank_tolerance;
} invdyn_settings;

SAP_API invdyn_settings invdyn_settings_default(void);
SAP_API sap_status invdyn_settings_check(const invdyn_settings *settings, sap_error *error);

/* How a call ended. What the solution holds is finite in every case. */
typedef enum invdyn_outcome {
  INVDYN_SOLVED = 0,
  INVDYN_INCONSISTENT_ACCELERATIONS, /* no impulses go with them: those of the nearest, see slack;
                                        without `nearest`, or where there is none, no impulses */
  INVDYN_DEGENERATE_NOSLIP,          /* tangential impulses carry all that normals could, or a
                                        contact opens where it is held, and pushes where not */
  INVDYN_TORQUE_LIMITED,             /* limits cannot be held while no contact approaches, nor slips
                                        where it holds: residuals */
  INVDYN_RAY,                        /* Lemke ended on a ray though there are impulses: none */
  INVDYN_ITERATION_LIMIT,            /* of pivots: no impulses, or those of Stage I */
  INVDYN_SINGULAR,                   /* A is not positive definite: all is zero */
  INVDYN_INACCURATE,                 /* a residual is larger than round-off explains */
  INVDYN_NON_FINITE                  /* overflow: all is zero */
} invdyn_outcome;

SAP_API const char *invdyn_outcome_text(invdyn_outcome outcome);

typedef enum invdyn_contact_state {
  INVDYN_SEPARATE = 0, /* no impulse */
  INVDYN_STICK,
  INVDYN_SLIP
} invdyn_contact_state;

/* Arrays are read where they lie, row-major. */
typedef struct invdyn_problem {
  int32_t m;                  /* velocities, >= 0 */
  int32_t n_q;                /* of them actuated, <= m */
  int32_t n;                  /* contacts, >= 0 */
  double dt;                  /* s, > 0 */
  const int32_t *actuated;    /* (n_q) which, each once; the order of qdd, tau and slack */
  const double *M;            /* (m, m) symmetric; only A has to be positive definite */
  const double *h;            /* (m) Coriolis forces and gravity, less other forces that act */
  const double *v;            /* (m) */
  const double *qdd;          /* (n_q) desired accelerations */
  const double *J_n;          /* (n, m) normal velocities, positive where contacts open */
  const double *J_t;          /* (n, 2, m) tangential velocities */
  const double *mu;           /* (n) >= 0 */
  const double *phi;          /* (n) gaps, m; or NULL: nothing may approach */
  const double *torque_limit; /* (n_q) > 0, infinity for none, N m; or NULL. Not for LCPs */
  const int64_t *ids;         /* (n) names of contacts, to find them again by; or NULL */
} invdyn_problem;

/* How far conditions are from being met, largest of all rows; 0 where they are, or where there is
 * no such condition. */
typedef struct invdyn_residuals {
  double dynamics;        /* |M (v+ - v) + dt h - J^T z - S^T lambda|, N s or N m s */
  double acceleration;    /* |v_q+ - (v_q + dt qdd)| */
  double penetration;     /* -(u_n + phi/dt), m/s */
  double complementarity; /* f_n |u_n + phi/dt|, J */
  double tension;         /* -f_n, N s */
  double cone;            /* impulse beyond the pyramid, N s */
  double slip;            /* |u_t| of no-slip contacts that do not open, m/s */
  double friction;        /* what friction could dissipate besides, J */
  double torque;          /* beyond its limit, N m */
} invdyn_residuals;

/* Arrays belong to the caller and are written in place. */
typedef struct invdyn_solution {
  double *tau;    /* (n_q) lambda / dt, N m */
  double *forces; /* (n, 3) z / dt, N: both tangents, then the normal */
  double *v_plus; /* (m) */
  double *slack;  /* (n_q) what was added to qdd */
  int8_t *states; /* (n) an invdyn_contact_state each */
  invdyn_outcome outcome;
  invdyn_residuals residuals;
  int32_t pivots;        /* of all solvers; active rows that a stage begins with are none */
  double regularization; /* added to the diagonal of a complementarity problem; 0 most often */
} invdyn_solution;

typedef struct invdyn_solver invdyn_solver;

SAP_API sap_status invdyn_create(invdyn_solver **solver, const sap_allocator *allocator,
                                 sap_error *error);
SAP_API void invdyn_destroy(invdyn_solver *solver); /* NULL is allowed */

/* Makes room for problems of this size, so that solving them allocates nothing. Only m, n_q, n and
 * whether there are torque limits are read of `problem`. */
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
