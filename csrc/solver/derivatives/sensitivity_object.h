/* What is behind sapwood/sensitivity.h: a solver whose workspace holds every island linearized at
 * one velocity, with all factors, and room for a right side.
 *
 * linearize.h does that island by island. reverse.c and forward.c are the two directions; they see
 * K = G + U by the functions below, J in the workspace, and numbers in the shape of J by
 * sap_rows_at_place(). */
#ifndef SAPWOOD_SOLVER_DERIVATIVES_SENSITIVITY_OBJECT_H
#define SAPWOOD_SOLVER_DERIVATIVES_SENSITIVITY_OBJECT_H

#include "problem/regularization/chain_rule.h"
#include "solver/coulomb/arnoldi.h"
#include "solver/solver_object.h"

/* the constants that every law of contacts has, or every row: mu, R_t and R_n, or R and bounds */
enum { SAP_COMMON = 3 };

struct sap_sensitivity {
  sap_allocator memory;
  sap_solver *solver; /* of one thread */
  struct sap_block block;

  /* what was linearized: arrays are the caller's */
  int ready; /* has anything been? */
  sap_problem problem;
  sap_parameters parameters;
  int has_parameters;
  int32_t tree; /* of sap_linear_point */
  sap_coupling coupling;

  /* by place: partials by the common constants, and U e_n; and room for right sides and products */
  double *by[SAP_COMMON][3], *u[3];
  double *z[3], *x[3];
  int32_t *n_coupled; /* (n_islands) contacts with U != 0 */
  /* by scalar */
  double *solution, *target, *product, *krylov[SAP_ARNOLDI_MOST + 1];

  struct sap_masses masses; /* those of the plan */

  /* room of the chain rule, and changes of what follows from parameters: empty without any */
  double *X[2], *Y[2];
  double *R_t, *R_n, *v_hat_n, *kappa; /* (n_contacts) */
  sap_group_differential *groups;      /* (n_groups) */
  double *rows[4];                     /* (n_rows) */
};

static inline struct sap_workspace *sap_sensitivity_work(const struct sap_sensitivity *s) {
  return s->solver->work;
}

/* y_c = K x_c, or K^T x_c */
void sap_apply_slope(const struct sap_sensitivity *s, const struct sap_island *island,
                     int transposed, double *const x_c[3], double *const y_c[3]);

/* x_c <- U x_c, or U^T x_c */
void sap_apply_coupling(const struct sap_sensitivity *s, const struct sap_island *island,
                        int transposed, double *const x_c[3]);

/* b (by scalar) <- H^-1 b, or H^-T b, H = A + J^T K J: with the factor of its symmetric part, and
 * GMRES where that is not all. Keeps the worst residual in s->coupling. */
void sap_unsymmetric_solve(struct sap_sensitivity *s, const struct sap_island *island,
                           int transposed, double *b);

/* one side of the rows of a triple, in J or in numbers of its shape */
struct sap_place_side {
  int32_t scalar, n; /* velocities */
  int64_t offset, step;
};

struct sap_place_rows {
  double *J; /* the array, NULL where it is not there */
  int32_t n_rows, n_sides;
  struct sap_place_side side[2];
  const int32_t *dof; /* (n_rows) NULL unless each row has one entry */
};

/* the rows of the triple at a place, in numbers in the shape of those of the problem */
struct sap_place_rows sap_rows_at_place(const struct sap_sensitivity *s, int32_t place,
                                        const sap_differential *in);

/* columns of one row of a side: from *first on, as many as are returned */
static inline int32_t sap_columns_of(const struct sap_place_rows *rows, int side, int32_t row,
                                     int32_t *first) {
  *first = rows->side[side].scalar + (rows->dof ? rows->dof[row] : 0);
  return rows->dof ? 1 : rows->side[side].n;
}

/* where the number is by which `constant` of a triple is meant, rows of which `row` counts; NULL
 * where there is none */
double *sap_constant_at_place(const struct sap_sensitivity *s, int law, int32_t place, int constant,
                              int row, const sap_differential *in);

/* the same for v_hat of a row */
double *sap_target_at_place(const struct sap_sensitivity *s, int law, int32_t place, int row,
                            const sap_differential *in);

/* the same for its impulse; second triples count as places of their own */
double *sap_impulse_at_place(const struct sap_sensitivity *s, int law, int32_t place, int row,
                             const sap_response *in);

/* SAP_OK where there is a linearization whose factors stand */
sap_status sap_sensitivity_check(const struct sap_sensitivity *s, sap_error *error);

/* the chain rule of the linearized problem */
struct sap_chain sap_sensitivity_chain(const struct sap_sensitivity *s, int frozen);

#endif
