/* Implements Arnoldi's process and the least squares of GMRES (Saad and Schultz 1986) for the
 * velocities of an island. Inner products are x^T diag(A) y, which is independent of units. */
#ifndef SAPWOOD_SOLVER_COULOMB_ARNOLDI_H
#define SAPWOOD_SOLVER_COULOMB_ARNOLDI_H

#include "solver/newton/objective.h"

#include "solver/solver_tuning.h"

/* The least squares min |t e_0 - (Hessenberg matrix) y| in n unknowns; Givens' rotations update it
 * as it grows. */
struct sap_arnoldi {
  int n;
  double R[SAP_ARNOLDI_MOST][SAP_ARNOLDI_MOST + 2]; /* by column: triangular factor */
  double turn[SAP_ARNOLDI_MOST][2];
  double t[SAP_ARNOLDI_MOST + 1]; /* |t[n]| is the norm of the residual */
};

/* Returns x^T diag(A) y. */
static inline double sap_island_inner(const struct sap_workspace *w,
                                      const struct sap_island *island, const double *x,
                                      const double *y) {
  return w->plan->vectors->inner(island->scalar_begin, island->scalar_end, w->diagonal, x, y);
}

/* Computes y += a x. */
static inline void sap_island_add(const struct sap_workspace *w, const struct sap_island *island,
                                  double a, const double *x, double *y) {
  w->plan->vectors->advance(island->scalar_begin, island->scalar_end, a, x, y);
}

/* Computes y = a x. */
static inline void sap_island_scale(const struct sap_island *island, double a, const double *x,
                                    double *y) {
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    y[i] = a * x[i];
  }
}

/* Begins with a residual r of norm `length`: q[0] = r / length. */
void sap_arnoldi_begin(struct sap_arnoldi *k, const struct sap_island *island, double length,
                       const double *r, double *const *q);

/* Makes q[n + 1] = M q[n] orthogonal to the vectors before it, with norm 1. Returns 0 on
 * overflow. */
int sap_arnoldi_advance(struct sap_arnoldi *k, const struct sap_workspace *w,
                        const struct sap_island *island, double *const *q);

/* Writes the n coefficients of the vectors to y. */
void sap_arnoldi_solve(const struct sap_arnoldi *k, double *y);

#endif
