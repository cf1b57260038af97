/* The linear law of contacts in the system of a direction:
 *
 *     gamma' = origin - K v_c',   K = G + U
 *
 * It equals gamma where it was formed, and has the slope K of the system there. U has one column u,
 * for the normal row: friction follows the normal velocity, and not the other way round. The loops
 * are compiled once per instruction set. */
#ifndef SAPWOOD_CONSTRAINTS_LINEAR_LAW_H
#define SAPWOOD_CONSTRAINTS_LINEAR_LAW_H

#include "constraints/pool.h"

/* Arrays by place. */
struct sap_linear_law {
  double *G[SAP_G_ENTRIES]; /* (n_triples) symmetric part of K */
  double *u[3];             /* (n_triples) unsymmetric part: column of the normal row */
  double *origin[3];        /* (n_triples) impulse at v_c = 0, N s */
};

/* Computes y = K x for the contact at place i. */
static inline void sap_linear_multiply(const struct sap_linear_law *law, int32_t i,
                                       const double x[3], double y[3]) {
  double *const *G = law->G;
  y[0] = G[SAP_G_11][i] * x[0] + G[SAP_G_12][i] * x[1] + (G[SAP_G_1N][i] + law->u[0][i]) * x[2];
  y[1] = G[SAP_G_12][i] * x[0] + G[SAP_G_22][i] * x[1] + (G[SAP_G_2N][i] + law->u[1][i]) * x[2];
  y[2] = G[SAP_G_1N][i] * x[0] + G[SAP_G_2N][i] * x[1] + G[SAP_G_NN][i] * x[2];
}

/* Loops over triples [begin, end), without the part of K between the triples of a pair. */
struct sap_linear_loops {
  /* computes y = K x */
  void (*multiply)(const struct sap_linear_law *law, int32_t begin, int32_t end, double *const x[3],
                   double *const y[3]);

  /* sets the origin so that gamma' = gamma at v_c of the pool */
  void (*set_origin)(const struct sap_linear_law *law, const struct sap_pool *pool, int32_t begin,
                     int32_t end);

  /* sets gap = weight |gamma - gamma'|^2, with gamma of the pool */
  void (*measure)(const struct sap_linear_law *law, const struct sap_pool *pool,
                  const double *weight, int32_t begin, int32_t end, double *gap);
};

/* Returns the loops for instruction set `set`, as in sap_kernels_of(). */
const struct sap_linear_loops *sap_linear_loops_of(int32_t set);

#endif
