/* The triples of a problem (problem/triples.h), one array per quantity, and the table of the laws
 * that give their impulses. Triples of one law follow each other, so that each loop runs over a
 * range of one kind. */
#ifndef SAPWOOD_CONSTRAINTS_POOL_H
#define SAPWOOD_CONSTRAINTS_POOL_H

#include "base/memory.h"
#include "constraints/contact.h"

enum sap_law_name {
  SAP_LAW_CONTACT = 0, /* compliant friction: contact.h */
  SAP_LAW_BARRIER,     /* the same with a rigid core: core.h */
  SAP_LAW_CLAMP,       /* clamped rows: clamp.h */
  SAP_N_LAWS
};

struct sap_pool {
  double soft; /* eps_s^2 */

  /* constants (n) */
  double *v_hat[3];
  double *mu, *R_t, *R_n, *inverse_R_t, *inverse_R_n, *mu_hat, *share; /* of contacts */
  double *R[3], *inverse_R[3], *lower[3],
      *upper[3]; /* of clamped rows; NULL where there are none */

  /* of contacts with a core; NULL where there are none: kappa of the problem, raised where a
   * contact starts too deep, and raised where the iterate would not be inside. barrier_lambda is 0
   * for a log barrier. */
  double *kappa_problem, *kappa_given, *kappa, *inverse_kappa, *barrier_lambda;
  double *dual_size; /* |gamma'|_R of direction.h */

  /* (n): v_c at the iterate, and its change along the line */
  double *v_c[3], *dv_c[3];

  /* (n): what `evaluate` finds; G by entry of enum SAP_G_11.. */
  double *y[3], *gamma[3];
  double *slip[2]; /* t where a contact slides, else 0 */
  double *G[SAP_G_ENTRIES];
  int8_t *region; /* of contacts */

  double *dual[3]; /* (n): w and gamma_n' of direction.h; w of each clamped row */
};

void sap_pool_carve(struct sap_pool *pool, struct sap_arena *arena, int32_t n, int any_barriers,
                    int any_clamped);

static inline struct sap_contact sap_pool_get(const struct sap_pool *pool, int32_t i) {
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

/* where y lies at v_c + alpha dv_c */
static inline struct sap_contact_state sap_pool_at(const struct sap_pool *p, int32_t i,
                                                   const struct sap_contact *c, double alpha) {
  return sap_contact_at_impulse(c, p->y[0][i] - alpha * (p->dv_c[0][i] * c->inverse_R_t),
                                p->y[1][i] - alpha * (p->dv_c[1][i] * c->inverse_R_t),
                                p->y[2][i] - alpha * (p->dv_c[2][i] * c->inverse_R_n));
}

/* gamma' = gamma - G dv_c */
static inline void sap_pool_linearize(const struct sap_pool *p, int32_t i, double gamma[3]) {
  const double d_1 = -p->dv_c[0][i], d_2 = -p->dv_c[1][i], d_n = -p->dv_c[2][i];
  const double G_12 = p->G[SAP_G_12][i], G_1n = p->G[SAP_G_1N][i], G_2n = p->G[SAP_G_2N][i];
  gamma[0] = p->gamma[0][i] + p->G[SAP_G_11][i] * d_1 + G_12 * d_2 + G_1n * d_n;
  gamma[1] = p->gamma[1][i] + G_12 * d_1 + p->G[SAP_G_22][i] * d_2 + G_2n * d_n;
  gamma[2] = p->gamma[2][i] + G_1n * d_1 + G_2n * d_2 + p->G[SAP_G_NN][i] * d_n;
}

/* G_tt = along t t^T + across (I - m m^T), m = (t + w)/2 of direction.h, where a contact slides */
static inline void sap_pool_turn(const struct sap_pool *p, int32_t i, double along, double across) {
  const double t_1 = p->slip[0][i], t_2 = p->slip[1][i];
  const int slides = t_1 * t_1 + t_2 * t_2 > 0;
  const double m_1 = 0.5 * (t_1 + p->dual[0][i]), m_2 = 0.5 * (t_2 + p->dual[1][i]);
  const double G_11 = along * t_1 * t_1 + across * (1 - m_1 * m_1);
  const double G_12 = along * t_1 * t_2 - across * m_1 * m_2;
  const double G_22 = along * t_2 * t_2 + across * (1 - m_2 * m_2);
  p->G[SAP_G_11][i] = slides ? G_11 : p->G[SAP_G_11][i];
  p->G[SAP_G_12][i] = slides ? G_12 : p->G[SAP_G_12][i];
  p->G[SAP_G_22][i] = slides ? G_22 : p->G[SAP_G_22][i];
}

/* The loops over triples [begin, end) that a solve spends its time in, compiled once per
 * instruction set. */
struct sap_law_loops {
  /* what follows from the constants; 0 where one of them breaks a rule of
   * sap_check_constraints() */
  int (*derive)(struct sap_pool *pool, int32_t begin, int32_t end);

  /* y, gamma, G, and slip and region of contacts, from v_c; returns the sum of the costs */
  double (*evaluate)(struct sap_pool *pool, int32_t begin, int32_t end);

  /* sums of -dv_c^T gamma and dv_c^T G dv_c at y - alpha R^-1 dv_c */
  void (*line)(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha, double *slope,
               double *curvature);

  /* primal-dual friction (direction.h): dual from gamma, G and dv_c; then G where a contact slides
   * or a row is beyond its bounds, from the next y and dual */
  void (*predict)(struct sap_pool *pool, int32_t begin, int32_t end);
  void (*blend)(struct sap_pool *pool, int32_t begin, int32_t end);
};

/* A law: one row of the table. */
struct sap_law {
  const struct sap_law_loops
      *loops[3]; /* by number of the instruction set, as in sap_kernels_of() */

  /* sum of the costs at y - alpha R^-1 dv_c minus that at y, without the cancellation of their
   * difference */
  double (*difference)(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha);

  /* gamma and G of the sticking start, from y (direction.h) */
  void (*stick)(struct sap_pool *pool, int32_t begin, int32_t end);

  /* dv_c, on entry |J| |v|, becomes a bound on the error of gamma in terms of that of v_c,
   * velocity_error |J| |v|, plus impulse_error |gamma| */
  void (*bound)(struct sap_pool *pool, int32_t begin, int32_t end, double velocity_error,
                double impulse_error);

  /* sum of what (25) adds up */
  double (*complementarity)(const struct sap_pool *pool, int32_t begin, int32_t end);

  /* of a law that is infinite outside of a domain, else NULL: see barrier_law.h */
  double (*wall)(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha);
  int32_t (*fit)(struct sap_pool *pool, int32_t begin, int32_t end, double least);
};

extern const struct sap_law sap_laws[SAP_N_LAWS];

#endif
