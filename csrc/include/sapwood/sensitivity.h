/* This module differentiates a solution in reverse and forward mode.
 *
 * At the solution the balance of momentum
 *
 *     m(v, p) = A (v - v*) - J^T gamma(J v; p) = 0,    H = dm/dv = A + J^T G J
 *
 * holds, and so with K = G (K = G + U if Coulomb's friction follows the normal impulse) and
 *
 *     q = K (dv_hat - dJ v) + (dgamma/dp) dp
 *     H dv = A dv* - dA (v - v*) + dJ^T gamma + J^T q,      dgamma = q - K J dv
 *
 * whose transpose gives, from v_bar = dL/dv and gamma_bar = dL/dgamma of a loss L, all derivatives
 * with one back-substitution:
 *
 *     H^T lambda = v_bar - J^T K^T gamma_bar,    z = J lambda + gamma_bar
 *     dL/dv* = A lambda                          dL/dA = -(lambda (v - v*)^T + (v - v*) lambda^T)/2
 *     dL/dv_hat = K^T z                          dL/dJ = gamma lambda^T - K^T z v^T
 *     dL/dp = (dgamma/dp)^T z
 *
 * gamma is smooth within the regions of its law. On their boundaries the derivatives are those of
 * one side; `distance` gives the distance to the boundaries. Contacts without impulse have
 * derivatives 0. There are no second derivatives. */
#ifndef SAPWOOD_SENSITIVITY_H
#define SAPWOOD_SENSITIVITY_H

#include "sapwood/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers in the shape of a group of constraints. */
typedef struct sap_group_differential {
  double *J, *R, *v_hat, *lower, *upper;
  double *const *value; /* as in sap_group_parameters */
} sap_group_differential;

/* Numbers in the shape of a problem and its parameters: a change of them, or a gradient. Blocks of
 * A stay symmetric: a derivative by an entry is half of that by both symmetric entries. Derivatives
 * by R_t, R_n, v_hat_n, kappa and the R, v_hat and bounds of groups are by a change added to their
 * values from physical parameters.
 *
 * NULL entries of a change are 0. In a gradient A and J may be NULL, and entries that the problem
 * or its parameters lack; all others must be given. */
typedef struct sap_differential {
  double *A, *v_star, *J, *mu, *R_t, *R_n, *v_hat_n, *v_hat_t;
  double *kappa, *barrier_lambda; /* given if the problem has them, like the next three */
  double *friction_bound;
  double *spin_J, *spin_mu;
  double *phi0, *k, *tau_d, *delta, *slip_ratio; /* physical parameters, if there are any */
  double dt, sigma;                     /* parameters on which R, v_hat, kappa and bounds depend */
  const sap_group_differential *groups; /* (n_groups) */
} sap_differential;

/* Numbers in the shape of a solution: its change, or dL/d of it. NULL is left out. */
typedef struct sap_response {
  double *v;           /* (nv) */
  double *gamma;       /* (n_contacts, 3) */
  double *group_gamma; /* (n_rows) */
  double *spin_gamma;  /* (spin->n, 3) */
} sap_response;

/* The point at which a problem was linearized. */
typedef struct sap_linear_point {
  int32_t tree; /* tree at which H is not positive definite to round-off, else -1 */
  /* number of contacts that slide with friction that follows the normal impulse */
  int32_t n_coupled;
  /* e_m (24) at v, with the law of friction of the settings: 0 at a solution */
  double momentum_error;
} sap_linear_point;

/* Accuracy of the solution of an unsymmetric system. */
typedef struct sap_coupling {
  double residual; /* |D (b - H x)| over |D b|; 0 if H is symmetric */
} sap_coupling;

typedef struct sap_sensitivity sap_sensitivity;

/* Creates a sensitivity of solves with these settings, or the defaults if NULL. It owns its
 * memory. */
SAP_API sap_status sap_sensitivity_create(sap_sensitivity **sensitivity,
                                          const sap_settings *settings,
                                          const sap_allocator *allocator, sap_error *error);
SAP_API void sap_sensitivity_destroy(sap_sensitivity *sensitivity); /* NULL is allowed */

/* Linearizes a problem at v (nv), its solution, and factors H in double precision. `parameters`
 * holds the physical parameters from which R and others were computed, without `release`; NULL if
 * these are given numbers. Its groups may be NULL, and have no values if the R of that group is
 * given. barrier_scale (n_contacts) of the solution may be NULL. Checks its inputs. The caller owns
 * the problem, the parameters and their arrays, which must not change until the next call or the
 * end. */
SAP_API sap_status sap_sensitivity_linearize(sap_sensitivity *sensitivity,
                                             const sap_problem *problem,
                                             const sap_parameters *parameters, const double *v,
                                             const double *barrier_scale, sap_linear_point *point,
                                             sap_error *error);

/* Writes A (v - v*) - J^T gamma of the linearized trees with constraints to their velocities in
 * `gradient` (nv). */
SAP_API void sap_sensitivity_gradient(const sap_sensitivity *sensitivity, double *gradient);

/* Writes regions (n_contacts) and distance (n_contacts) of the contacts and group_distance (n_rows)
 * of the rows of groups; each may be NULL. The distance is the smallest change of the velocity (of
 * |v_t| and v_n; m/s or rad/s) that reaches the boundary of another region. */
SAP_API void sap_sensitivity_regions(const sap_sensitivity *sensitivity, int8_t *regions,
                                     double *distance, double *group_distance);

/* Reverse mode: computes dL/d of the problem from dL/d of a solution. With `frozen` it leaves out
 * the dependence of R on A and J through the effective mass w. An island whose H broke down is an
 * error of SAP_NOT_POSITIVE_DEFINITE. */
SAP_API sap_status sap_sensitivity_vjp(sap_sensitivity *sensitivity, const sap_response *bar,
                                       int frozen, sap_differential *gradient,
                                       sap_coupling *coupling, sap_error *error);

/* Forward mode: computes the change of the solution from a change of the problem. */
SAP_API sap_status sap_sensitivity_jvp(sap_sensitivity *sensitivity, const sap_differential *change,
                                       int frozen, const sap_response *response,
                                       sap_coupling *coupling, sap_error *error);

/* Writes the right-hand side H dv of forward mode, -dm/dp dp at constant v, to the velocities of
 * the trees with constraints in `momentum` (nv), and 0 to all others. */
SAP_API sap_status sap_sensitivity_momentum(sap_sensitivity *sensitivity,
                                            const sap_differential *change, int frozen,
                                            double *momentum, sap_error *error);

/* Solves H x = b for the trees with constraints: x (nv) of all other trees is 0, and its matrix is
 * A. */
SAP_API sap_status sap_sensitivity_solve(sap_sensitivity *sensitivity, const double *b, double *x,
                                         sap_coupling *coupling, sap_error *error);

#ifdef __cplusplus
}
#endif

#endif
