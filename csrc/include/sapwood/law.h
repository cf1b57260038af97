/* This module evaluates the laws of contacts and clamped rows, for any number of them at once. */
#ifndef SAPWOOD_LAW_H
#define SAPWOOD_LAW_H

#include "sapwood/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sap_region {
  SAP_STICTION = 1,  /* Region I: y in the friction cone */
  SAP_SLIDING = 2,   /* Region II */
  SAP_NO_CONTACT = 3 /* Region III: y inside the polar cone */
} sap_region;

/* Computes gamma_i = P_F(y_i) in the norm of R_i (18), G_i = -dgamma_i/dv_c,i (App. E) and the cost
 * l_i (29) for n contacts. y (n, 3) in N s, mu, R_t, R_n (n). Outputs, each of which may be NULL:
 * gamma (n, 3), G (n, 3, 3), cost (n), region (n). soft_norm is eps_s >= 0 in N s: y_r =
 * sqrt(|y_t|^2 + eps_s^2). */
SAP_API void sap_project(int64_t n, const double *y, const double *mu, const double *R_t,
                         const double *R_n, double soft_norm, double *gamma, double *G,
                         double *cost, int8_t *region);

/* Computes the same with rigid cores: barrier (n) of enum sap_barrier, kappa (n) > 0 in J and
 * barrier_lambda (n) > 0, both read only where barrier needs them, and a table that
 * sap_problem_check() would accept, or NULL without tabulated cores. l = kappa b(s), s =
 * |P_F(y)|_R/sqrt(kappa), and
 *
 *     log   b = -s log(1-s)/2             exp   b = s^2 exp(barrier_lambda s)/2
 *
 * Outside of the domain, s < 1 for log and barrier_lambda s < 20 for exp, the cost is infinite and
 * gamma and G are NaN. */
SAP_API void sap_project_barrier(int64_t n, const double *y, const double *mu, const double *R_t,
                                 const double *R_n, double soft_norm, const int8_t *barrier,
                                 const double *kappa, const double *barrier_lambda,
                                 const sap_barrier_table *table, double *gamma, double *G,
                                 double *cost, int8_t *region);

/* Computes the disk law, with friction bounded by bound (n) >= 0, N s, independent of the normal
 * impulse: gamma is the projection of y onto the cylinder |gamma_t| <= bound, gamma_n >= 0. It is
 * Coulomb's law if bound is mu gamma_n. With y_r = |y_t|, or as above with soft_norm:
 *
 *     gamma_n = max(y_n, 0)              l_n = R_n gamma_n^2/2
 *     gamma_t = y_t min(1, bound/y_r)    l_t = R_t y_r^2/2, or R_t bound (y_r - bound/2) beyond
 *
 * The region is stiction within the disk, sliding beyond it, and no contact if bound and gamma_n
 * are both 0. */
SAP_API void sap_project_disk(int64_t n, const double *y, const double *bound, const double *R_t,
                              const double *R_n, double soft_norm, double *gamma, double *G,
                              double *cost, int8_t *region);

/* Computes gamma = clamp(y, lower, upper), G = -dgamma/dv_c = 1/R within the bounds and 0 beyond,
 * and the cost R y^2/2 within, R (b y - b^2/2) beyond a bound b, for n rows. Outputs (n), each of
 * which may be NULL. */
SAP_API void sap_clamp(int64_t n, const double *y, const double *R, const double *lower,
                       const double *upper, double *gamma, double *G, double *cost);

#ifdef __cplusplus
}
#endif

#endif
