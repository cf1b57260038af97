/* Derivatives of a solution: reverse and forward mode.
 *
 * At the solution the balance of momentum
 *
 *     m(v, p) = A (v - v*) - J^T gamma(J v; p) = 0,    H = dm/dv = A + J^T G J
 *
 * holds, and so with K = G (K = G + U where Coulomb's friction follows the normal impulse) and
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
 * one side; `distance` says how far the boundaries are. Contacts without impulse have derivatives
 * 0. There are no second derivatives. */
#ifndef SAPWOOD_SENSITIVITY_H
#define SAPWOOD_SENSITIVITY_H

#include "sapwood/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers in the shape of those of a group of constraints. */
typedef struct sap_group_differential {
  double *J, *R, *v_hat, *lower, *upper;
  double *const *value; /* as in sap_group_parameters */
} sap_group_differential;

/* Numbers in the shape of those of a problem and of its parameters: a change of them, or a
 * gradient. A derivative by an entry of a block of A is meant for one that stays symmetric: half of
 * that by both. Those by R_t, R_n, v_hat_n, kappa and the R, v_hat and bounds of groups are as if
 * these were added to after they followed from physical parameters.
 *
 * Of a change what is NULL is 0. Of a gradient A and J may be NULL, and what the problem or its
 * parameters do not have; the rest must be there. */
typedef struct sap_differential {
  double *A, *v_star, *J, *mu, *R_t, *R_n, *v_hat_n, *v_hat_t;
  double *kappa, *barrier_lambda; /* where the problem has them, as the next three */
  double *friction_bound;
  double *spin_J, *spin_mu;
  double *phi0, *k, *tau_d, *delta; /* physical parameters: where there are any */
  double dt, sigma; /* of all parameters, as R, v_hat, kappa and bounds depend on them */
  const sap_group_differential *groups; /* (n_groups) */
} sap_differential;

/* Numbers in the shape of those of a solution: its change, or dL/d of it. NULL is left out. */
typedef struct sap_response {
  double *v;           /* (nv) */
  double *gamma;       /* (n_contacts, 3) */
  double *group_gamma; /* (n_rows) */
  double *spin_gamma;  /* (spin->n, 3) */
} sap_response;

/* Where a problem was linearized. */
typedef struct sap_linear_point {
  int32_t tree;          /* at which H is not positive definite to round-off, else -1 */
  int32_t n_coupled;     /* contacts that slide with friction that follows the normal impulse */
  double momentum_error; /* e_m (24) at v, with the friction that is meant: 0 at a solution */
} sap_linear_point;

/* How well a system with a matrix that is not symmetric was solved: |D (b - H x)| over |D b|, and
 * how many products that took; both 0 where H is symmetric, and the factor solves it. */
typedef struct sap_coupling {
  double residual;
  int32_t products;
} sap_coupling;

typedef struct sap_sensitivity sap_sensitivity;

/* Of solves with these settings; NULL: the default ones. Its memory is its own. */
SAP_API sap_status sap_sensitivity_create(sap_sensitivity **sensitivity,
                                          const sap_settings *settings,
                                          const sap_allocator *allocator, sap_error *error);
SAP_API void sap_sensitivity_destroy(sap_sensitivity *sensitivity); /* NULL is allowed */

/* Linearizes a problem at v (nv), its solution, and factors H in double precision. `parameters`
 * says what R and the rest follow from, as they already are in the problem: NULL where they are
 * numbers of their own; its groups may be NULL, and have no values where the R of that group is a
 * number of its own; without `release`. barrier_scale (n_contacts), as the solution has it, may be
 * NULL. Checks what it reads. The problem, the parameters and their arrays belong to the caller and
 * must stay as they are until the next call or the end. */
SAP_API sap_status sap_sensitivity_linearize(sap_sensitivity *sensitivity,
                                             const sap_problem *problem,
                                             const sap_parameters *parameters, const double *v,
                                             const double *barrier_scale, sap_linear_point *point,
                                             sap_error *error);

/* Region and distance of each contact, and distance of each row of the groups: the smallest change
 * of its velocity (of |v_t| and v_n; m/s or rad/s) that takes it to the boundary of another region.
 * Writes regions (n_contacts), distance (n_contacts) and group_distance (n_rows); each may be
 * NULL. */
SAP_API void sap_sensitivity_regions(const sap_sensitivity *sensitivity, int8_t *regions,
                                     double *distance, double *group_distance);

/* Reverse mode: from dL/d of a solution, dL/d of the problem. With `frozen` the dependence of R on
 * A and J through the effective mass w is left out. An island whose H broke down is an error of
 * SAP_NOT_POSITIVE_DEFINITE. */
SAP_API sap_status sap_sensitivity_vjp(sap_sensitivity *sensitivity, const sap_response *bar,
                                       int frozen, sap_differential *gradient,
                                       sap_coupling *coupling, sap_error *error);

/* Forward mode: from a change of the problem that of its solution. */
SAP_API sap_status sap_sensitivity_jvp(sap_sensitivity *sensitivity, const sap_differential *change,
                                       int frozen, const sap_response *response,
                                       sap_coupling *coupling, sap_error *error);

#ifdef __cplusplus
}
#endif

#endif
