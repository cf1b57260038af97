/* The frictional contacts of a problem, one array per quantity, and the loops over them that a solve
 * spends its time in. contact_pool.c is compiled once per instruction set, like the dense kernels. */
#ifndef SAPWOOD_CONSTRAINTS_CONTACT_POOL_H
#define SAPWOOD_CONSTRAINTS_CONTACT_POOL_H

#include "base/memory.h"
#include "constraints/contact.h"

struct sap_contact_pool {
  double soft; /* eps_s^2 */

  /* constants (n) */
  double *mu, *R_t, *R_n, *inverse_R_t, *inverse_R_n, *mu_hat, *share;
  double *v_hat[3];

  /* (n): v_c at the iterate, and its change along the line */
  double *v_c[3], *dv_c[3];

  /* (n): what the loop `law` finds; G by entry of enum SAP_G_11.. */
  double *y[3], *gamma[3];
  double *slip[2]; /* t where the contact slides, else 0 */
  double *G[SAP_G_ENTRIES];
  int8_t *region;

  double *dual[3]; /* (n): w and gamma_n' of direction.h */
};

void sap_pool_carve(struct sap_contact_pool *pool, struct sap_arena *arena, int32_t n);

static inline struct sap_contact sap_pool_get(const struct sap_contact_pool *pool, int32_t i) {
  return (struct sap_contact){
      .mu = pool->mu[i],
      .R_t = pool->R_t[i],
      .R_n = pool->R_n[i],
      .inverse_R_t = pool->inverse_R_t[i],
      .inverse_R_n = pool->inverse_R_n[i],
      .mu_hat = pool->mu_hat[i],
      .share = pool->share[i],
      .inverse_share = 1 + pool->mu[i] * pool->mu_hat[i],
      .soft = pool->soft,
      .v_hat = {pool->v_hat[0][i], pool->v_hat[1][i], pool->v_hat[2][i]},
  };
}

/* Loops over the contacts [begin, end). */
struct sap_pool_loops {
  /* what follows from mu, R_t and R_n; 0 where a constant breaks a rule of sap_check_contacts() */
  int (*derive)(struct sap_contact_pool *pool, int32_t begin, int32_t end);

  /* y, gamma, slip, G and region from v_c; returns the sum of the costs */
  double (*law)(struct sap_contact_pool *pool, int32_t begin, int32_t end);

  /* sums of -dv_c^T gamma and dv_c^T G dv_c at y - alpha R^-1 dv_c */
  void (*line)(const struct sap_contact_pool *pool, int32_t begin, int32_t end, double alpha,
               double *slope, double *curvature);

  /* dual from gamma, G and dv_c */
  void (*predict)(struct sap_contact_pool *pool, int32_t begin, int32_t end);

  /* G_tt of the contacts that slide, from slip and dual */
  void (*blend)(struct sap_contact_pool *pool, int32_t begin, int32_t end);
};

/* for the instruction set of number `set`, as in sap_kernels_of() */
const struct sap_pool_loops *sap_pool_loops_of(int32_t set);

#endif
