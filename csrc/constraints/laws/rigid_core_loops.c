/* This file is compiled once per instruction set. */
#include "constraints/laws/rigid_core.h"
#include "constraints/laws.h"
#include "constraints/sums.h"

/* Loops of the compliant law, for the same instruction set. */
extern const struct sap_law_loops SAP_OF_ISA(sap_contact_loops_);

static int derive(struct sap_pool *pool, int32_t begin, int32_t end) {
  int valid = SAP_OF_ISA(sap_contact_loops_).derive(pool, begin, end);
  for (int32_t i = begin; i < end; ++i) {
    pool->barrier.inverse_kappa[i] = 1 / pool->barrier.kappa[i];
    /* 0 x is 0 where x is finite; a raised kappa may overflow, which is no fault of the problem */
    const double given = pool->barrier.kappa_problem[i];
    const double zero = 0 * given + 0 * (1 / given) + 0 * pool->barrier.lambda[i];
    const double lambda = pool->barrier.lambda[i];
    valid &= (given > 0) & (zero == 0) & ((lambda >= 0) | (lambda == -1));
  }
  return valid;
}

/* Barriers of one round. */
struct round {
  double s[SAP_ROUND], beta[SAP_ROUND], phi[SAP_ROUND], rise[SAP_ROUND];
};

/* Counts the log barriers, which have lambda = 0. */
static int32_t count_logs(const double *lambda, int32_t n) {
  int32_t logs = 0;
  for (int32_t k = 0; k < n; ++k) {
    logs += lambda[k] == 0;
  }
  return logs;
}

/* Counts the contacts with s or lambda s above SAP_BARRIER_SMALL, or NaN, and tables. */
static int32_t count_large(const double *lambda, int32_t n, const double *s) {
  int32_t large = 0;
  for (int32_t k = 0; k < n; ++k) {
    const double x = lambda[k] > 0 ? lambda[k] * s[k] : s[k];
    large += !(x <= SAP_BARRIER_SMALL) | (lambda[k] < 0);
  }
  return large;
}

/* Does the work of find_factors() if all contacts are far from their cores, as is most frequent. */
static void find_small_factors(const double *restrict lambda, int32_t n, int32_t logs,
                               struct round *restrict round) {
  for (int32_t k = 0; k < n; ++k) {
    const struct sap_barrier_factors f = sap_barrier_log_small(round->s[k]);
    round->beta[k] = f.beta;
    round->phi[k] = f.phi;
    round->rise[k] = f.rise;
  }
  for (int32_t k = 0; logs < n && k < n; ++k) {
    const struct sap_barrier_factors f = sap_barrier_exp_small(lambda[k] * round->s[k]);
    const int is_exp = lambda[k] > 0;
    round->beta[k] = is_exp ? f.beta : round->beta[k];
    round->phi[k] = is_exp ? f.phi : round->phi[k];
    round->rise[k] = is_exp ? f.rise : round->rise[k];
  }
}

/* Replaces the factors of the tabulated barriers, contact by contact. */
static void look_up(const struct sap_pool *p, int32_t first, int32_t n, struct round *round) {
  for (int32_t k = 0; k < n; ++k) {
    const struct sap_barrier_shape barrier = sap_barrier_of(p, first + k);
    if (barrier.kind == SAP_BARRIER_TABLE) {
      const struct sap_barrier_factors f = sap_barrier_at(&barrier, round->s[k]);
      round->beta[k] = f.beta;
      round->phi[k] = f.phi;
      round->rise[k] = f.rise;
    }
  }
}

/* Finds beta, phi and s phi' from s; infinite outside of the domain. */
static void find_factors(const struct sap_pool *p, int32_t first, int32_t n,
                         struct round *restrict round) {
  const double *restrict lambda = p->barrier.lambda + first;
  const int32_t logs = count_logs(lambda, n);
  if (count_large(lambda, n, round->s) == 0) {
    find_small_factors(lambda, n, logs, round);
    return;
  }
  INDEPENDENT
  for (int32_t k = 0; k < n; ++k) {
    const double s = round->s[k];
    const struct sap_barrier_factors f = sap_barrier_log(s <= SAP_BARRIER_MOST ? s : 0);
    round->beta[k] = s <= SAP_BARRIER_MOST ? f.beta : INFINITY;
    round->phi[k] = s <= SAP_BARRIER_MOST ? f.phi : INFINITY;
    round->rise[k] = s <= SAP_BARRIER_MOST ? f.rise : INFINITY;
  }
  if (logs == n) {
    return;
  }
  INDEPENDENT
  for (int32_t k = 0; k < n; ++k) {
    const double x = lambda[k] * round->s[k];
    const int is_exp = lambda[k] > 0, inside = x <= SAP_BARRIER_MOST_EXPONENT;
    const struct sap_barrier_factors f = sap_barrier_exp(inside ? x : 0);
    const double beta = inside ? f.beta : INFINITY;
    const double phi = inside ? f.phi : INFINITY, rise = inside ? f.rise : INFINITY;
    round->beta[k] = is_exp ? beta : round->beta[k];
    round->phi[k] = is_exp ? phi : round->phi[k];
    round->rise[k] = is_exp ? rise : round->rise[k];
  }
  if (p->barrier.table) {
    look_up(p, first, n, round);
  }
}

/* Returns s phi'/(2 l_0), 0 without contact. */
static inline double outer_factor(double rise, double cost) {
  return cost > 0x1p-1000 ? 0.5 * rise / cost : 0;
}

/* Sets G_b = phi G_0 + outer gamma_0 gamma_0^T. */
static inline void stiffen(const struct sap_pool *p, int32_t i, double phi, double outer,
                           double g_1, double g_2, double g_n) {
  p->G[SAP_G_11][i] = phi * p->G[SAP_G_11][i] + outer * g_1 * g_1;
  p->G[SAP_G_12][i] = phi * p->G[SAP_G_12][i] + outer * g_1 * g_2;
  p->G[SAP_G_22][i] = phi * p->G[SAP_G_22][i] + outer * g_2 * g_2;
  p->G[SAP_G_1N][i] = phi * p->G[SAP_G_1N][i] + outer * g_1 * g_n;
  p->G[SAP_G_2N][i] = phi * p->G[SAP_G_2N][i] + outer * g_2 * g_n;
  p->G[SAP_G_NN][i] = phi * p->G[SAP_G_NN][i] + outer * g_n * g_n;
}

static double evaluate(struct sap_pool *pool, int32_t begin, int32_t end) {
  SAP_OF_ISA(sap_contact_loops_).evaluate(pool, begin, end);
  const struct sap_pool p = *pool;
  double total = 0;
  for (int32_t first = begin; first < end; first += SAP_ROUND) {
    const int32_t n = sap_round(first, end);
    double sticks[SAP_ROUND], cost[SAP_ROUND];
    struct round round;
    for (int32_t k = 0; k < n; ++k) {
      sticks[k] = p.contact.region[first + k] == SAP_STICTION;
    }
    /* l_0 (29) */
    INDEPENDENT
    for (int32_t k = 0; k < n; ++k) {
      const int32_t i = first + k;
      const double y_t2 = p.y[0][i] * p.y[0][i] + p.y[1][i] * p.y[1][i] + p.soft;
      const double normal = 0.5 * p.contact.R_n[i] * p.gamma[2][i] * p.gamma[2][i];
      const double sliding = normal * (1 + p.contact.mu[i] * p.contact.mu_hat[i]);
      /* an overflow must not pass for the absence of contact */
      const double finite = 0 * (p.y[2][i] + y_t2);
      cost[k] = (sticks[k] > 0 ? normal + 0.5 * p.contact.R_t[i] * y_t2 : sliding) + finite;
      round.s[k] = sqrt(2 * cost[k] * p.barrier.inverse_kappa[i]);
    }
    find_factors(&p, first, n, &round);
    INDEPENDENT
    for (int32_t k = 0; k < n; ++k) {
      const int32_t i = first + k;
      const double phi = round.phi[k], outer = outer_factor(round.rise[k], cost[k]);
      const double g_1 = p.gamma[0][i], g_2 = p.gamma[1][i], g_n = p.gamma[2][i];
      stiffen(&p, i, phi, outer, g_1, g_2, g_n);
      p.gamma[0][i] = phi * g_1;
      p.gamma[1][i] = phi * g_2;
      p.gamma[2][i] = phi * g_n;
      cost[k] *= round.beta[k];
    }
    total += sap_sum_round(cost, n);
  }
  return total;
}

static void line(const struct sap_pool *pool, int32_t begin, int32_t end, double alpha,
                 double *slope, double *curvature) {
  const struct sap_pool p = *pool;
  *slope = *curvature = 0;
  for (int32_t first = begin; first < end; first += SAP_ROUND) {
    const int32_t n = sap_round(first, end);
    double slopes[SAP_ROUND], curvatures[SAP_ROUND], cost[SAP_ROUND];
    struct round round;
    INDEPENDENT
    for (int32_t k = 0; k < n; ++k) {
      const int32_t i = first + k;
      const struct sap_contact c = sap_pool_get(&p, i);
      const double dv_1 = p.dv_c[0][i], dv_2 = p.dv_c[1][i], dv_n = p.dv_c[2][i];
      const struct sap_contact_state at = sap_pool_at(&p, i, &c, alpha);
      double gamma[3];
      sap_contact_impulse(&c, &at, gamma);
      slopes[k] = -(dv_1 * gamma[0] + dv_2 * gamma[1] + dv_n * gamma[2]);
      curvatures[k] = sap_contact_curvature(&c, &at, dv_1, dv_2, dv_n);
      cost[k] = sap_contact_cost(&c, &at);
      round.s[k] = sqrt(2 * cost[k] * p.barrier.inverse_kappa[i]);
    }
    find_factors(&p, first, n, &round);
    INDEPENDENT
    for (int32_t k = 0; k < n; ++k) {
      const double phi = round.phi[k], outer = outer_factor(round.rise[k], cost[k]);
      const int inside = phi < INFINITY;
      curvatures[k] = inside ? phi * curvatures[k] + outer * slopes[k] * slopes[k] : INFINITY;
      slopes[k] = inside ? phi * slopes[k] : INFINITY;
    }
    *slope += sap_sum_round(slopes, n);
    *curvature += sap_sum_round(curvatures, n);
  }
}

static void predict(struct sap_pool *pool, int32_t begin, int32_t end) {
  SAP_OF_ISA(sap_contact_loops_).predict(pool, begin, end);
  const struct sap_pool p = *pool;
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    double next[3];
    sap_pool_linearize(&p, i, next);
    p.barrier.dual_size[i] = sqrt(p.contact.R_t[i] * (next[0] * next[0] + next[1] * next[1]) +
                                  p.contact.R_n[i] * next[2] * next[2]);
  }
}

/* Finds the part of barriers in G, from the dual. */
static void blend_barriers(struct sap_pool *pool, int32_t begin, int32_t end) {
  const struct sap_pool p = *pool;
  for (int32_t first = begin; first < end; first += SAP_ROUND) {
    const int32_t n = sap_round(first, end);
    double cost[SAP_ROUND], gamma[3][SAP_ROUND];
    struct round round;
    /* recompute gamma_0 and G_0 */
    INDEPENDENT
    for (int32_t k = 0; k < n; ++k) {
      const int32_t i = first + k;
      const struct sap_contact c = sap_pool_get(&p, i);
      const struct sap_contact_state at =
          sap_contact_at_impulse(&c, p.y[0][i], p.y[1][i], p.y[2][i]);
      double g[3], G[SAP_G_ENTRIES];
      sap_contact_impulse(&c, &at, g);
      sap_contact_hessian(&c, &at, G);
      for (int r = 0; r < 3; ++r) {
        gamma[r][k] = g[r];
      }
      for (int e = 0; e < SAP_G_ENTRIES; ++e) {
        p.G[e][i] = G[e];
      }
      cost[k] = sap_contact_cost(&c, &at);
      round.s[k] = sqrt(2 * cost[k] * p.barrier.inverse_kappa[i]);
    }
    find_factors(&p, first, n, &round);
    INDEPENDENT
    for (int32_t k = 0; k < n; ++k) {
      const int32_t i = first + k;
      /* |gamma'|_R over |gamma_0|_R, from 1 to phi */
      const struct sap_barrier_factors f = {round.beta[k], round.phi[k], round.rise[k]};
      const double size = sqrt(2 * cost[k]), ratio = size > 0 ? p.barrier.dual_size[i] / size : 1;
      const double dual = ratio < 1 ? 1 : ratio < f.phi ? ratio : f.phi;
      const double lambda = p.barrier.lambda[i];
      /* a table keeps its own slope: its phi may be below 1, and has no wall to follow */
      const double phi = lambda > 0 ? 0.5 * (dual + f.phi) : lambda < 0 ? f.phi : dual;
      const double rise = lambda < 0 ? f.rise : sap_barrier_dual_rise(f, round.s[k], lambda, phi);
      const double outer = outer_factor(rise, cost[k]);
      const double g_1 = gamma[0][k], g_2 = gamma[1][k], g_n = gamma[2][k];
      stiffen(&p, i, phi, outer, g_1, g_2, g_n);
    }
  }
}

static void blend(struct sap_pool *pool, int32_t begin, int32_t end) {
  blend_barriers(pool, begin, end);
  const struct sap_pool p = *pool;
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    const double y_r = sqrt(p.y[0][i] * p.y[0][i] + p.y[1][i] * p.y[1][i] + p.soft);
    /* (1/R_t) min(mu (gamma_n + gamma_n')/(2 y_r), phi): in stiction G_tt is at least phi/R_t */
    const double compliant = p.contact.share[i] * (p.y[2][i] + p.contact.mu_hat[i] * y_r);
    const double most = compliant > 0 ? p.gamma[2][i] / compliant : 1;
    const double friction = 0.5 * p.contact.mu[i] * (p.gamma[2][i] + p.dual[2][i]);
    const double across =
        p.contact.inverse_R_t[i] * (friction < most * y_r ? friction / y_r : most);
    const double along = p.contact.mu[i] * p.contact.mu[i] * p.G[SAP_G_NN][i];
    sap_pool_turn(&p, i, along, across);
  }
}

const struct sap_law_loops SAP_OF_ISA(sap_barrier_loops_);
const struct sap_law_loops SAP_OF_ISA(sap_barrier_loops_) = {derive, evaluate, line, predict,
                                                             blend,  NULL,     NULL};
