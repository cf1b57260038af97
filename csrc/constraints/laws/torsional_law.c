/* This file is the row of torsional and rolling friction (torsional.h) in the table of laws.
 * Triples come in pairs: the contact's own, then the triple of the angular rows. */
#include <float.h>

#include "constraints/laws/torsional_law.h"

#include "base/fail.h"
#include "constraints/laws/contact_law.h"

static int32_t claim(const sap_problem *problem, sap_friction friction, int32_t *law) {
  const int32_t n = problem->spin ? problem->spin->n : 0;
  (void)friction;
  for (int32_t k = 0; law && k < n; ++k) {
    law[problem->spin->contact[k]] = SAP_LAW_TORSIONAL;
  }
  return n;
}

static sap_status check_given(const sap_problem *problem, sap_friction friction,
                              const sap_parameters *parameters, sap_error *error) {
  (void)friction, (void)parameters;
  const sap_spin *spin = problem->spin;
  if (spin && spin->n > 0 && (!spin->J || !spin->mu)) {
    return sap_invalid(error, spin->J ? "spin_mu" : "spin_J", -1, NAN, "must be given");
  }
  for (int32_t k = 0; spin && problem->barrier && k < spin->n; ++k) {
    const int32_t i = spin->contact[k];
    if (problem->barrier[i] != SAP_BARRIER_NONE) {
      return sap_invalid(error, "barrier", i, problem->barrier[i],
                         "must be none where a contact has torsional or rolling friction");
    }
  }
  return SAP_OK;
}

static sap_status check(const sap_problem *problem, sap_error *error) {
  const sap_spin *spin = problem->spin;
  for (int64_t k = 0; spin && k < 3 * (int64_t)spin->n; ++k) {
    const int32_t i = spin->contact[k / 3];
    const double mu = problem->mu[i], length = spin->mu[k], scale = length / mu;
    if (!(mu > 0)) {
      return sap_invalid(error, "mu", i, mu,
                         "must be > 0 where a contact has torsional or rolling friction");
    }
    if (!(length >= 0 && isfinite(length))) {
      return sap_invalid(error, "spin_mu", k, length, "must be finite and >= 0");
    }
    if (!isfinite(scale * scale * (1 / problem->R_t[i]))) {
      return sap_invalid(error, "spin_mu", k, length, "(spin_mu/mu)^2/R_t must be finite");
    }
  }
  return SAP_OK;
}

static void carve(struct sap_pool *pool, struct sap_arena *arena, int32_t n) {
  struct sap_torsional_pairs *torsional = &pool->torsional;
  double **const arrays[] = {&torsional->scale[0], &torsional->scale[1], &torsional->scale[2],
                             &torsional->slip[0],  &torsional->slip[1],  &torsional->slip[2],
                             &torsional->cross[0], &torsional->cross[1], &torsional->cross[2],
                             &torsional->cross[3], &torsional->cross[4], &torsional->cross[5],
                             &torsional->cross[6], &torsional->cross[7], &torsional->cross[8]};
  sap_pool_take(arena, n, sizeof arrays / sizeof *arrays, arrays);
}

static void bind(struct sap_pool *pool, int32_t begin, int32_t end, const struct sap_origin *origin,
                 const sap_problem *problem) {
  for (int32_t place = begin; place < end; place += 2) {
    const int32_t i = origin->triple[place];
    const double *mu = problem->spin->mu + 3 * sap_rows_at(origin, place + 1)->row;
    sap_contact_bind(pool, place, i, problem);
    sap_contact_bind(pool, place + 1, i, problem);
    pool->contact.given[place] = pool->contact.bound[place] =
        sap_contact_bound_given(pool, i, problem);
    /* only the contact's own triple has a bound */
    pool->contact.given[place + 1] = pool->contact.bound[place + 1] = 0;
    for (int r = 0; r < 3; ++r) {
      pool->v_hat[r][place + 1] = 0;
      pool->torsional.scale[r][place] = mu[r] / problem->mu[i];
    }
  }
}

static int32_t write(const struct sap_pool *pool, int32_t begin, int32_t end,
                     const struct sap_origin *origin, const sap_solution *solution) {
  for (int32_t place = begin; place < end; place += 2) {
    const int64_t i = origin->triple[place], k = sap_rows_at(origin, place + 1)->row;
    const struct {
      double *const *from;
      double *own, *spin;
    } vectors[] = {{pool->gamma, solution->gamma, solution->spin_gamma},
                   {pool->v_c, solution->v_c, solution->spin_v_c}};
    for (int v = 0; v < 2; ++v) {
      for (int r = 0; r < 3; ++r) {
        if (vectors[v].own) {
          vectors[v].own[3 * i + r] = vectors[v].from[r][place];
        }
        if (vectors[v].spin) {
          vectors[v].spin[3 * k + r] = vectors[v].from[r][place + 1];
        }
      }
    }
    if (solution->regions) {
      solution->regions[i] = pool->contact.region[place];
    }
    if (solution->barrier_scale) {
      solution->barrier_scale[i] = 1;
    }
  }
  return 0;
}

static double difference(const struct sap_pool *p, int32_t begin, int32_t end, double alpha) {
  const int cone = p->friction == SAP_FRICTION_CONVEX;
  double sum = 0;
  for (int32_t i = begin; i < end; i += 2) {
    const struct sap_radial law = sap_torsional_get(p, cone, i);
    const struct sap_torsional_state from = sap_torsional_state(p, &law, i);
    double dy_t[SAP_TORSIONAL], y_t[SAP_TORSIONAL];
    const double dy_n = -alpha * (p->dv_c[2][i] * law.contact.inverse_R_n);
    sap_torsional_gather(p, i, p->dv_c, dy_t);
    for (int k = 0; k < SAP_TORSIONAL; ++k) {
      dy_t[k] = -alpha * (dy_t[k] * law.contact.inverse_R_t);
      y_t[k] = from.y_t[k] + dy_t[k];
    }
    const struct sap_torsional_state to = sap_torsional_at_impulse(&law, y_t, p->y[2][i] + dy_n);
    sum += sap_torsional_cost_difference(&law, &from, &to, dy_t, dy_n);
  }
  return sum;
}

/* Sets gamma = y and G = R^-1 for the touching contacts. */
static void stick(struct sap_pool *pool, int32_t begin, int32_t end) {
  sap_contact_stick(pool, begin, end);
  const int diagonal[3] = {SAP_G_11, SAP_G_22, SAP_G_NN};
  for (int32_t i = begin; i < end; i += 2) {
    const double sticks = pool->v_hat[2][i] > 0;
    for (int r = 0; r < 3; ++r) {
      const double scale = pool->torsional.scale[r][i];
      pool->G[diagonal[r]][i + 1] = sticks * scale * scale * pool->contact.inverse_R_t[i];
      pool->gamma[r][i + 1] = sticks * scale * pool->y[r][i + 1];
    }
    for (int e = 0; e < 9; ++e) {
      pool->torsional.cross[e][i] = 0;
    }
  }
}

/* Bounds |dgamma|_R <= |dy|_R as contact_law.c does, over all rows: the projection onto a cone or a
 * cylinder of more components does not expand either. */
static void bound(struct sap_pool *p, int32_t begin, int32_t end, double velocity_error,
                  double impulse_error) {
  double *const *error = p->dv_c;
  for (int32_t i = begin; i < end; i += 2) {
    const double inverse_R_t = p->contact.inverse_R_t[i], inverse_R_n = p->contact.inverse_R_n[i];
    double dy_R = 0;
    for (int r = 0; r < 3; ++r) {
      const double own = velocity_error * error[r][i] +
                         4 * DBL_EPSILON * (fabs(p->v_c[r][i]) + fabs(p->v_hat[r][i]));
      /* mu_k/mu has a rounding error too */
      const double rate = velocity_error * error[r][i + 1] +
                          8 * DBL_EPSILON * (fabs(p->v_c[r][i + 1]) + fabs(p->v_hat[r][i + 1]));
      const double spin = p->torsional.scale[r][i] * rate;
      dy_R += own * own * (r < 2 ? inverse_R_t : inverse_R_n) + spin * spin * inverse_R_t;
    }
    const double tangential = sqrt(dy_R * inverse_R_t), normal = sqrt(dy_R * inverse_R_n);
    const double rounding = 16 * DBL_EPSILON + impulse_error;
    for (int r = 0; r < 3; ++r) {
      error[r][i] = (r < 2 ? tangential : normal) + rounding * fabs(p->gamma[r][i]);
      error[r][i + 1] = p->torsional.scale[r][i] * tangential + rounding * fabs(p->gamma[r][i + 1]);
    }
  }
}

/* Returns (25) over all rows, with g = v_c - v_hat + R gamma: |g . gamma| for the cone, and as in
 * disk_law.c for the cylinder. */
static double complementarity(const struct sap_pool *p, int32_t begin, int32_t end) {
  const int cone = p->friction == SAP_FRICTION_CONVEX;
  double sum = 0;
  for (int32_t i = begin; i < end; i += 2) {
    const double R_t = p->contact.R_t[i], gamma_n = p->gamma[2][i];
    const double g_n = p->v_c[2][i] - p->v_hat[2][i] + p->contact.R_n[i] * gamma_n;
    double gamma[SAP_TORSIONAL] = {p->gamma[0][i], p->gamma[1][i]}, g[SAP_TORSIONAL],
           v_hat[SAP_TORSIONAL];
    for (int r = 0; r < 3; ++r) {
      gamma[2 + r] = sap_torsional_unscale(p->torsional.scale[r][i], p->gamma[r][i + 1]);
    }
    sap_torsional_gather(p, i, p->v_c, g);
    sap_torsional_gather(p, i, p->v_hat, v_hat);
    for (int k = 0; k < SAP_TORSIONAL; ++k) {
      g[k] += R_t * gamma[k] - v_hat[k];
    }
    const double tangential = sap_torsional_dot(g, gamma);
    const double slip = sqrt(sap_torsional_dot(g, g));
    sum += cone ? fabs(tangential + g_n * gamma_n)
                : fabs(g_n * gamma_n) + fabs(tangential + p->contact.bound[i] * slip);
  }
  return sum;
}

SAP_DECLARE_LOOPS(torsional_loops);

const struct sap_law sap_law_torsional = {
    .loops = SAP_LOOPS(torsional_loops),
    .takes_pairs = 1,
    .claim = claim,
    .check_given = check_given,
    .check = check,
    .carve = carve,
    .bind = bind,
    .write = write,
    .difference = difference,
    .stick = stick,
    .bound = bound,
    .complementarity = complementarity,
    .n_constants = SAP_N_CONTACT_CONSTANTS,
    .partials = sap_torsional_partials,
};
