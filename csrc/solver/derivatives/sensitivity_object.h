/* The object behind sapwood/sensitivity.h owns a solver, with every island linearized at one
 * velocity in its workspace, all factors, and room for a right-hand side.
 *
 * linearize.h linearizes island by island. reverse.c and forward.c are the two modes. They access
 * K = G + U by the functions below, J in the workspace, and numbers in the shape of a problem by
 * places.h. */
#ifndef SAPWOOD_SOLVER_DERIVATIVES_SENSITIVITY_OBJECT_H
#define SAPWOOD_SOLVER_DERIVATIVES_SENSITIVITY_OBJECT_H

#include "problem/regularization/chain_rule.h"
#include "solver/solver_object.h"

/* number of constants common to all laws of contacts (mu, R_t, R_n) or rows (R, bounds) */
enum { SAP_COMMON = 3 };

struct sap_sensitivity {
  sap_allocator memory;
  sap_solver *solver; /* solver with one thread */
  struct sap_block block;

  /* the linearized problem; the caller owns its arrays */
  int ready; /* 1: a linearization exists */
  sap_problem problem;
  sap_parameters parameters;
  int has_parameters;
  int32_t tree; /* tree of sap_linear_point */
  sap_coupling coupling;

  /* by place: partials by the common constants, right-hand sides and products */
  double *by[SAP_COMMON][3];
  double *z[3], *x[3];
  int32_t *n_coupled; /* (n_islands) number of contacts with U != 0 */
  /* by scalar */
  double *solution, *target, *correction;

  struct sap_masses masses; /* owned by the plan */

  /* scratch of the chain rule, and changes of derived constants; empty without parameters */
  double *X[2], *Y[2];
  double *R_t, *R_n, *v_hat_n, *kappa; /* (n_contacts) */
  sap_group_differential *groups;      /* (n_groups) */
  double *rows[4];                     /* (n_rows) */
};

static inline struct sap_workspace *sap_sensitivity_work(const struct sap_sensitivity *s) {
  return s->solver->work;
}

/* Computes y_c = K x_c, or K^T x_c if transposed. */
void sap_apply_slope(const struct sap_sensitivity *s, const struct sap_island *island,
                     int transposed, double *const x_c[3], double *const y_c[3]);

/* Factors H = A + J^T K J at the last evaluation of the island, and counts its contacts with
 * U != 0. Returns -1, or the tree at which H is singular to round-off. */
int32_t sap_sensitivity_factor(struct sap_sensitivity *s, const struct sap_island *island);

/* Computes dv <- H^-1 dv, or H^-T dv, in the workspace. Records the largest residual in
 * s->coupling if U != 0. */
void sap_unsymmetric_solve(struct sap_sensitivity *s, const struct sap_island *island,
                           int transposed);

/* Returns SAP_OK if there is a linearization with valid factors. */
sap_status sap_sensitivity_check(const struct sap_sensitivity *s, sap_error *error);

/* Returns the chain rule of the linearized problem. */
struct sap_chain sap_sensitivity_chain(const struct sap_sensitivity *s, int frozen);

#endif
