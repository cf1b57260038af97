/* The pool stores the triples of a problem (problem/triples.h), one array per quantity: arrays of
 * every law, of contacts under any law, and of single laws. Triples of one law are consecutive, so
 * that each loop runs over a range of one kind. */
#ifndef SAPWOOD_CONSTRAINTS_POOL_H
#define SAPWOOD_CONSTRAINTS_POOL_H

#include <float.h>

#include "base/memory.h"
#include "constraints/laws/contact.h"

enum sap_law_name {
  SAP_LAW_CONTACT = 0, /* compliant friction: contact.h */
  SAP_LAW_DISK,        /* friction with a bound of its own: disk.h */
  SAP_LAW_TORSIONAL,   /* either with torsional and rolling friction: torsional.h */
  SAP_LAW_RIGID_CORE,  /* compliant friction with a rigid core: rigid_core.h */
  SAP_LAW_CLAMP,       /* clamped rows: clamp.h */
  SAP_LAW_JOINT,       /* clamped rows of a single velocity each */
  SAP_N_LAWS
};

/* Arrays (n) of contacts. */
struct sap_contacts {
  double *mu, *R_t, *R_n;
  double *inverse_R_t, *inverse_R_n, *mu_hat, *share;
  double *given;   /* b of the friction in the problem, NaN if unknown */
  double *bound;   /* present b of the friction, see disk.h */
  double *slip[2]; /* t if the contact slides, else 0 */
  int8_t *region;
};

/* Arrays (n) of contacts with torsional and rolling friction, by the place of their own triple. */
struct sap_torsional_pairs {
  double *scale[3]; /* mu_k/mu */
  double *slip[3];  /* t of the angular components if the contact slides, else 0 */
  double *cross[9]; /* G between both triples, by row of the contact's own */
};

/* Arrays (n) of contacts with a rigid core. */
struct sap_barriers {
  double *kappa_problem; /* kappa of the problem */
  double *kappa_given;   /* kappa, raised if the contact starts too deep */
  double *kappa;         /* kappa, raised further if the iterate would be outside */
  double *inverse_kappa;
  double *lambda;    /* lambda of an exp barrier; 0 for a log barrier, -1 for a tabulated one */
  double *dual_size; /* |gamma'|_R of direction.h */
  const sap_barrier_table *table; /* the problem's, for tabulated barriers */
};

/* Arrays (n) of clamped rows, of one velocity or more. */
struct sap_clamps {
  double *R[3], *inverse_R[3], *lower[3], *upper[3];
};

struct sap_pool {
  double soft; /* eps_s^2 */

  /* law of friction: convex, bounded by a fixed b (lagged), or by b = mu gamma_n (Coulomb), which
   * evaluation writes; sap_pool_with() shows the triples under another one */
  sap_friction friction;

  /* (n) v_c at the iterate, and its change along the line */
  double *v_hat[3], *v_c[3], *dv_c[3];

  /* (n) results of `evaluate`; G by entry of enum SAP_G_11.. */
  double *y[3], *gamma[3];
  double *G[SAP_G_ENTRIES];

  double *dual[3]; /* (n) w and gamma_n' of direction.h; w of each clamped row */

  struct sap_contacts contact;          /* contacts under any law */
  struct sap_torsional_pairs torsional; /* these are empty if no triple is under their law */
  struct sap_barriers barrier;
  struct sap_clamps clamp;
};

/* Carves arrays of n doubles. */
void sap_pool_take(struct sap_arena *arena, int32_t n, size_t count, double **const arrays[]);

/* Carves the arrays that every law has, and the arrays of contacts. */
void sap_pool_carve_common(struct sap_pool *pool, struct sap_arena *arena, int32_t n);

/* Returns the same triples and arrays under this law of friction: the pool itself, or `view`. */
static inline struct sap_pool *sap_pool_with(struct sap_pool *pool, sap_friction friction,
                                             struct sap_pool *view) {
  if (pool->friction == friction) {
    return pool;
  }
  *view = *pool;
  view->friction = friction;
  return view;
}

static inline struct sap_contact sap_pool_get(const struct sap_pool *pool, int32_t i) {
  return (struct sap_contact){
      .mu = pool->contact.mu[i],
      .R_t = pool->contact.R_t[i],
      .R_n = pool->contact.R_n[i],
      .inverse_R_t = pool->contact.inverse_R_t[i],
      .inverse_R_n = pool->contact.inverse_R_n[i],
      .mu_hat = pool->contact.mu_hat[i],
      .share = pool->contact.share[i],
      .inverse_share = 1 + pool->contact.mu[i] * pool->contact.mu_hat[i],
      .soft = pool->soft,
      .v_hat = {pool->v_hat[0][i], pool->v_hat[1][i], pool->v_hat[2][i]},
  };
}

/* Are the bounds of friction finite and >= 0, or NaN if unknown? */
static inline int sap_pool_bounds_hold(const struct sap_pool *pool, int32_t begin, int32_t end) {
  int wrong = 0;
  for (int32_t i = begin; i < end; ++i) {
    wrong |= (pool->contact.bound[i] < 0) | (pool->contact.bound[i] > DBL_MAX);
  }
  return !wrong;
}

/* Returns the state at v_c + alpha dv_c. */
static inline struct sap_contact_state sap_pool_at(const struct sap_pool *p, int32_t i,
                                                   const struct sap_contact *c, double alpha) {
  return sap_contact_at_impulse(c, p->y[0][i] - alpha * (p->dv_c[0][i] * c->inverse_R_t),
                                p->y[1][i] - alpha * (p->dv_c[1][i] * c->inverse_R_t),
                                p->y[2][i] - alpha * (p->dv_c[2][i] * c->inverse_R_n));
}

/* Sets gamma' = gamma - G dv_c. */
static inline void sap_pool_linearize(const struct sap_pool *p, int32_t i, double gamma[3]) {
  const double d_1 = -p->dv_c[0][i], d_2 = -p->dv_c[1][i], d_n = -p->dv_c[2][i];
  const double G_12 = p->G[SAP_G_12][i], G_1n = p->G[SAP_G_1N][i], G_2n = p->G[SAP_G_2N][i];
  gamma[0] = p->gamma[0][i] + p->G[SAP_G_11][i] * d_1 + G_12 * d_2 + G_1n * d_n;
  gamma[1] = p->gamma[1][i] + G_12 * d_1 + p->G[SAP_G_22][i] * d_2 + G_2n * d_n;
  gamma[2] = p->gamma[2][i] + G_1n * d_1 + G_2n * d_2 + p->G[SAP_G_NN][i] * d_n;
}

/* Sets G_tt = along t t^T + across (I - m m^T), m = (t + w)/2 of direction.h, for sliding. */
static inline void sap_pool_turn(const struct sap_pool *p, int32_t i, double along, double across) {
  const double t_1 = p->contact.slip[0][i], t_2 = p->contact.slip[1][i];
  const int slides = t_1 * t_1 + t_2 * t_2 > 0;
  const double m_1 = 0.5 * (t_1 + p->dual[0][i]), m_2 = 0.5 * (t_2 + p->dual[1][i]);
  const double G_11 = along * t_1 * t_1 + across * (1 - m_1 * m_1);
  const double G_12 = along * t_1 * t_2 - across * m_1 * m_2;
  const double G_22 = along * t_2 * t_2 + across * (1 - m_2 * m_2);
  p->G[SAP_G_11][i] = slides ? G_11 : p->G[SAP_G_11][i];
  p->G[SAP_G_12][i] = slides ? G_12 : p->G[SAP_G_12][i];
  p->G[SAP_G_22][i] = slides ? G_22 : p->G[SAP_G_22][i];
}

#endif
