/* Finds the step of contact_step.h with the free rows condensed into H = A + sum J_r^T J_r/R_r.
 * Rows are activated if the step changes their state: free rows that it brings to a bound, and
 * others that it frees. They become unknowns beside the contacts, and L of H = L L^T stays.
 *
 * With Y = J L^-T of the contacts and activated rows, and the impulse g of each of these beyond its
 * part in H and b,
 *
 *     L^T dv = L^-1 b + Y^T g,   J dv = q + W g,   q = Y L^-1 b,   W = Y Y^T
 *
 * For a contact g is its impulse. For a row that was at a bound g is its impulse gamma minus the
 * one at the iterate, gamma_0. H already contains a row that was free, so that
 *
 *     g_r = gamma_r - gamma_0r + J_r dv/R_r
 *
 * which eliminates J_r dv. With gamma_r - gamma_0r in place of g_r, w = W_:r and d = R_r - w_r > 0,
 *
 *     J dv = q + w q_r/d + (W + w w^T/d) g
 *
 * is the result of H without that row. Rows are activated one by one, and delassus_newton.h finds
 * the impulses. For a row that was free, u_r = R_r (y_r - gamma_r) gives g_r = -u_r/R_r. */
#ifndef SAPWOOD_SOLVER_DENSE_CONDENSATION_H
#define SAPWOOD_SOLVER_DENSE_CONDENSATION_H

#include "base/memory.h"
#include "linalg/kernels/kernels.h"
#include "problem/products/vectors.h"
#include "solver/dense/unknowns.h"

/* A row at the iterate. */
struct sap_condensed_row {
  const double *J; /* (n), zero before entry `first` */
  int32_t first;
  int was_free;          /* 1: H contains the row */
  double R, gamma;       /* impulse at the iterate */
  double velocity_error; /* v_hat - v_c */
  double lower, upper;
};

/* A row that became an unknown. */
struct sap_activated {
  int was_free;
  double R, gamma_0;
  double inverse_root, asks; /* d^-1/2; q_r d^-1/2, if it was free */
};

struct sap_condensed {
  int32_t n, n_impulses, n_activated;
  struct sap_activated *activated; /* (SAP_DENSE_UNKNOWN_ROWS) */
  double *Y;                       /* (SAP_DENSE_UNKNOWN_ROWS, n) row-major, Y of the rows */
  double *Z;   /* (SAP_DENSE_UNKNOWN_ROWS, ld of most unknowns) w d^-1/2 of rows that were free */
  double *u_0; /* (ld of most unknowns) right-hand side, after J dv = q */
};

void sap_condensed_carve(struct sap_condensed *condensed, struct sap_arena *arena, int32_t widest);

/* Factors the panel, which holds H and the rows of contacts, with b. Returns 0 if H is not positive
 * definite to round-off. */
int sap_condensed_begin(struct sap_condensed *condensed, struct sap_dense_unknowns *unknowns,
                        int32_t n, const double *b, const struct sap_kernels *kernels);

/* Activates a row: it becomes an unknown, with an estimate of its impulse. Returns 0, without
 * change, if there is no room for it or d is lost in round-off. */
int sap_condensed_add(struct sap_condensed *condensed, struct sap_dense_unknowns *unknowns,
                      const struct sap_condensed_row *row, double gamma,
                      const struct sap_kernels *kernels, const struct sap_vector_loops *loops);

/* Finds dv (n). The search begins with the gamma of the unknowns. */
void sap_condensed_find(const struct sap_condensed *condensed, struct sap_dense_unknowns *unknowns,
                        const struct sap_kernels *kernels, sap_impulses_function *find, double *dv);

#endif
