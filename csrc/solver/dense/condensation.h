/* The step of dense_contacts.h where rows are condensed into H = A + sum J_r^T J_r/R_r over those
 * that are free, and what becomes of it when rows have turned: free ones that the step brings to a
 * bound, and others that it frees. They become unknowns beside the contacts, and L of H = L L^T
 * stays.
 *
 * With Y = J L^-T of the unknowns and of rows that turned, and an impulse g on each of these beyond
 * what H and b have of it,
 *
 *     L^T dv = L^-1 b + Y^T g,   J dv = q + W g,   q = Y L^-1 b,   W = Y Y^T
 *
 * For a contact g is its impulse, and for a row that was at a bound its impulse gamma less that at
 * the iterate, gamma_0. Of a row that was free H has its part already, so that
 *
 *     g_r = gamma_r - gamma_0r + J_r dv/R_r
 *
 * which eliminates J_r dv: with gamma_r - gamma_0r in the place of g_r, for w = W_:r and d = R_r -
 * w_r, which is positive,
 *
 *     J dv = q + w q_r/d + (W + w w^T/d) g
 *
 * is what H would give without that row. Rows are taken in one by one. delassus_newton.h finds the
 * impulses; of a row that was free what is left of its law, u_r = R_r (y_r - gamma_r), says what
 * g_r was: -u_r/R_r. */
#ifndef SAPWOOD_SOLVER_DENSE_CONDENSATION_H
#define SAPWOOD_SOLVER_DENSE_CONDENSATION_H

#include "base/memory.h"
#include "linalg/kernels.h"
#include "problem/products/vectors.h"
#include "solver/dense/dense_contacts.h"
#include "solver/dense/dense_row.h"

/* of a row that is an unknown: what L^T dv has of it, where it was free */
struct sap_activated {
  int was_free;
  double R, gamma_0;
  double inverse_root, asks; /* d^-1/2, and q_r times that */
};

struct sap_condensed {
  int32_t n, n_impulses, n_activated;
  struct sap_activated *activated; /* (SAP_DENSE_UNKNOWN_ROWS) */
  double *Y;                       /* (SAP_DENSE_UNKNOWN_ROWS, n) row-major, of rows */
  double *Z;    /* w d^-1/2 of each row that was free, (ld of most unknowns) each */
  double *lack; /* (ld of most unknowns) what J dv = q leaves of it */
};

void sap_condensed_carve(struct sap_condensed *condensed, struct sap_arena *arena, int32_t widest);

/* Factors the panel, whose H and rows of contacts are there, with b; 0 where H is not positive
 * definite to round-off. */
int sap_condensed_begin(struct sap_condensed *condensed, struct sap_dense_unknowns *unknowns,
                        int32_t n, const double *b, const struct sap_kernels *kernels);

/* One row more, as it was evaluated, is an unknown, with an impulse near what is looked for; 0, and
 * it is none, where there is no room for it or d is lost in round-off. */
int sap_condensed_add(struct sap_condensed *condensed, struct sap_dense_unknowns *unknowns,
                      const struct sap_dense_row *row, double gamma,
                      const struct sap_kernels *kernels, const struct sap_vector_loops *loops);

/* dv (n). The search begins with the gamma that the unknowns have. */
void sap_condensed_find(const struct sap_condensed *condensed, struct sap_dense_unknowns *unknowns,
                        const struct sap_kernels *kernels, sap_impulses_function *find, double *dv);

#endif
