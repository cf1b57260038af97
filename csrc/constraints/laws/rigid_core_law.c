/* This file is the row of frictional contact with a rigid core (rigid_core.h) in the table of laws,
 * and makes starts feasible.
 *
 * Beyond its domain a barrier is infinite, and so are the sum of `evaluate` and the slope of
 * `line`; wall() then bounds the step. Energies kappa may for a while be larger than the problem's:
 * fit() makes the iterate feasible by raising as few as possible. */
#include <float.h>

#include "base/fail.h"
#include "constraints/laws/rigid_core.h"
#include "constraints/laws/contact_law.h"

static int32_t claim(const sap_problem *problem, sap_friction friction, int32_t *law) {
  int32_t n = 0;
  (void)friction;
  for (int32_t i = 0; problem->barrier && i < problem->n_contacts; ++i) {
    if (problem->barrier[i] != SAP_BARRIER_NONE) {
      ++n;
      if (law) {
        law[i] = SAP_LAW_RIGID_CORE;
      }
    }
  }
  return n;
}

static sap_status check_given(const sap_problem *problem, sap_friction friction,
                              const sap_parameters *parameters, sap_error *error) {
  const int has_delta = parameters && parameters->delta;
  int has_table = 0;
  for (int32_t i = 0; problem->barrier && i < problem->n_contacts; ++i) {
    const int8_t barrier = problem->barrier[i];
    if (barrier < SAP_BARRIER_NONE || barrier > SAP_BARRIER_TABLE) {
      return sap_invalid(error, "barrier", i, barrier, "must be a sap_barrier");
    }
    if (barrier != SAP_BARRIER_NONE && friction != SAP_FRICTION_CONVEX) {
      return sap_invalid(error, "barrier", i, barrier,
                         "needs convex friction: a core is one of the whole cone");
    }
    if (barrier != SAP_BARRIER_NONE && !problem->kappa && !has_delta) {
      return sap_invalid(error, "kappa", -1, NAN, "must be given where a contact has a core");
    }
    if (barrier == SAP_BARRIER_EXP && !problem->barrier_lambda) {
      return sap_invalid(error, "barrier_lambda", -1, NAN,
                         "must be given where a contact has an exp core");
    }
    has_table |= barrier == SAP_BARRIER_TABLE;
  }
  return has_table ? sap_barrier_table_check(problem->barrier_table, error) : SAP_OK;
}

static sap_status check(const sap_problem *problem, sap_error *error) {
  for (int32_t i = 0; problem->barrier && i < problem->n_contacts; ++i) {
    const double kappa = problem->barrier[i] != SAP_BARRIER_NONE ? problem->kappa[i] : 1;
    if (!(kappa > 0 && isfinite(kappa) && isfinite(1 / kappa))) {
      return sap_invalid(error, "kappa", i, kappa, "must be finite and > 0, with a finite inverse");
    }
    const double lambda = problem->barrier[i] == SAP_BARRIER_EXP ? problem->barrier_lambda[i] : 1;
    if (!(lambda > 0 && isfinite(lambda))) {
      return sap_invalid(error, "barrier_lambda", i, lambda, "must be finite and > 0");
    }
  }
  return SAP_OK;
}

static void carve(struct sap_pool *pool, struct sap_arena *arena, int32_t n) {
  struct sap_barriers *barrier = &pool->barrier;
  double **const arrays[] = {&barrier->kappa_problem, &barrier->kappa_given, &barrier->kappa,
                             &barrier->inverse_kappa, &barrier->lambda,      &barrier->dual_size};
  sap_pool_take(arena, n, sizeof arrays / sizeof *arrays, arrays);
}

/* Returns lambda as the pool has it, NaN if an entry of the problem breaks a rule. */
static double find_lambda(const sap_problem *problem, int64_t i) {
  const int8_t kind = problem->barrier[i];
  if (kind == SAP_BARRIER_EXP) {
    return problem->barrier_lambda[i] > 0 ? problem->barrier_lambda[i] : NAN;
  }
  return kind == SAP_BARRIER_LOG ? 0 : problem->barrier_table ? -1 : NAN;
}

/* Reads the constants; a contact that starts deeper than delta gets a larger one. */
static void bind(struct sap_pool *pool, int32_t begin, int32_t end, const struct sap_origin *origin,
                 const sap_problem *problem) {
  sap_law_contact.bind(pool, begin, end, origin, problem);
  struct sap_barriers *barrier = &pool->barrier;
  barrier->table = problem->barrier_table;
  for (int32_t place = begin; place < end; ++place) {
    const int64_t i = origin->triple[place];
    const sap_barrier kind = (sap_barrier)problem->barrier[i];
    const double lambda = find_lambda(problem, i);
    const struct sap_barrier_shape shape = {kind, 1 / problem->kappa[i], lambda, barrier->table};
    barrier->lambda[place] = lambda;
    barrier->kappa_problem[place] = problem->kappa[i];
    barrier->kappa[place] = barrier->kappa_given[place] =
        sap_barrier_deepened(&shape, problem->kappa[i], problem->v_hat_n[i], problem->R_n[i]);
  }
}

/* Writes the results and the scale of kappa. */
static int32_t write(const struct sap_pool *pool, int32_t begin, int32_t end,
                     const struct sap_origin *origin, const sap_solution *solution) {
  int32_t deep = sap_law_contact.write(pool, begin, end, origin, solution);
  for (int32_t place = begin; place < end; ++place) {
    const double scale = sqrt(pool->barrier.kappa[place] / pool->barrier.kappa_problem[place]);
    deep += scale > 1;
    if (solution->barrier_scale) {
      solution->barrier_scale[origin->triple[place]] = scale;
    }
  }
  return deep;
}

static struct sap_contact_state state_of(const struct sap_pool *p, int32_t i,
                                         const struct sap_contact *contact) {
  return sap_contact_at_impulse(contact, p->y[0][i], p->y[1][i], p->y[2][i]);
}

/* Returns sqrt(2 l_0/kappa) at y, with the given 1/kappa. */
static double distance_of(const struct sap_pool *p, int32_t i, double inverse_kappa) {
  const struct sap_contact contact = sap_pool_get(p, i);
  const struct sap_contact_state at = state_of(p, i, &contact);
  return sqrt(2 * sap_contact_cost(&contact, &at) * inverse_kappa);
}

static double difference(const struct sap_pool *p, int32_t begin, int32_t end, double alpha) {
  double sum = 0;
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_barrier_shape barrier = sap_barrier_of(p, i);
    double l_0, l_alpha;
    const double difference = sap_contact_difference(p, i, alpha, &l_0, &l_alpha);
    sum += sap_barrier_cost_difference(&barrier, l_0, l_alpha, difference);
  }
  return sum;
}

static void stick(struct sap_pool *p, int32_t begin, int32_t end) {
  sap_law_contact.stick(p, begin, end);
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_barrier_shape barrier = sap_barrier_of(p, i);
    const double phi = sap_barrier_at(&barrier, distance_of(p, i, barrier.inverse_kappa)).phi;
    p->G[SAP_G_11][i] *= phi;
    p->G[SAP_G_22][i] *= phi;
    p->G[SAP_G_NN][i] *= phi;
    for (int r = 0; r < 3; ++r) {
      p->gamma[r][i] *= phi;
    }
  }
}

/* Bounds the error of gamma by that of contact_law.c times the Lipschitz constant of gamma_b, the
 * largest b'' = phi + s phi' up to the largest s that the errors allow. Errors of s by round-off
 * count as errors of y. */
static void bound(struct sap_pool *p, int32_t begin, int32_t end, double velocity_error,
                  double impulse_error) {
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_contact c = sap_pool_get(p, i);
    const struct sap_barrier_shape barrier = sap_barrier_of(p, i);
    const struct sap_contact_state at = state_of(p, i, &c);
    double dy_R = 0;
    for (int r = 0; r < 3; ++r) {
      const double error = velocity_error * p->dv_c[r][i] +
                           4 * DBL_EPSILON * (fabs(p->v_c[r][i]) + fabs(c.v_hat[r]));
      dy_R += error * error * (r < 2 ? c.inverse_R_t : c.inverse_R_n);
    }
    const double cost = sap_contact_cost(&c, &at), s = sqrt(2 * cost * barrier.inverse_kappa);
    const double error = sqrt(dy_R) + 16 * DBL_EPSILON * sqrt(2 * cost);
    const double furthest = s + error * sqrt(barrier.inverse_kappa);
    const double expanded = sap_barrier_stiffest(&barrier, furthest) * error;
    for (int r = 0; r < 3; ++r) {
      p->dv_c[r][i] = expanded * sqrt(r < 2 ? c.inverse_R_t : c.inverse_R_n) +
                      (16 * DBL_EPSILON + impulse_error) * fabs(p->gamma[r][i]);
    }
  }
}

/* Returns (25) with g = v_c - v_hat + R gamma_0, which is orthogonal to gamma_b = phi gamma_0. */
static double complementarity(const struct sap_pool *p, int32_t begin, int32_t end) {
  double sum = 0;
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_contact c = sap_pool_get(p, i);
    const struct sap_contact_state at = state_of(p, i, &c);
    double gamma_0[3], product = 0;
    sap_contact_impulse(&c, &at, gamma_0);
    for (int r = 0; r < 3; ++r) {
      const double R = r < 2 ? c.R_t : c.R_n;
      product += (p->v_c[r][i] - c.v_hat[r] + R * gamma_0[r]) * p->gamma[r][i];
    }
    sum += fabs(product);
  }
  return sum;
}

/* Returns a step shorter than `alpha`, which leaves the domain, but not shorter than the longest
 * step inside. s is convex along a line, so Newton's method for s = 1, started outside, does not
 * pass it except by round-off. Returns `alpha` itself if no core blocks it, which happens after
 * overflow. */
static double wall(const struct sap_pool *p, int32_t begin, int32_t end, double alpha) {
  double shortest = alpha;
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_contact c = sap_pool_get(p, i);
    const struct sap_barrier_shape barrier = sap_barrier_of(p, i);
    const double dv[3] = {p->dv_c[0][i], p->dv_c[1][i], p->dv_c[2][i]};
    const struct sap_contact_state at = sap_pool_at(p, i, &c, alpha);
    const double s = sqrt(2 * sap_contact_cost(&c, &at) * barrier.inverse_kappa);
    const double most = sap_barrier_most(&barrier);
    if (s <= most) {
      continue;
    }
    /* ds/dalpha = -dv_c^T gamma_0/(kappa s) */
    double gamma_0[3];
    sap_contact_impulse(&c, &at, gamma_0);
    const double slope = -(dv[0] * gamma_0[0] + dv[1] * gamma_0[1] + dv[2] * gamma_0[2]) *
                         (barrier.inverse_kappa / s);
    const double newton = alpha - (s - most) / slope;
    /* shorter at least by round-off; after overflow any shorter step will do */
    const double found =
        newton > 0 && newton <= alpha ? fmin(newton, (1 - 0x1p-33) * alpha) : 0.5 * alpha;
    shortest = found < shortest ? found : shortest;
  }
  return shortest;
}

/* Sets kappa from kappa_given: delta `least` >= 1 times as large, or, if y is outside the domain
 * even then, so large that s = 0.9 at y. Returns the number of contacts with kappa above
 * kappa_given. */
static int32_t fit(struct sap_pool *p, int32_t begin, int32_t end, double least) {
  int32_t raised = 0;
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_barrier_shape barrier = sap_barrier_of(p, i);
    const double most = sap_barrier_most(&barrier);
    const double s = distance_of(p, i, 1 / p->barrier.kappa_given[i]);
    /* after overflow s is NaN, and kappa stays finite */
    const double factor = s > least * most ? s / (0.9 * fmin(most, 1)) : least;
    p->barrier.kappa[i] = p->barrier.kappa_given[i] * factor * factor;
    p->barrier.inverse_kappa[i] = 1 / p->barrier.kappa[i];
    raised += factor > 1;
  }
  return raised;
}

static void recall(struct sap_pool *p, int32_t begin, int32_t end, const struct sap_origin *origin,
                   const double *scale) {
  for (int32_t i = begin; i < end; ++i) {
    const double factor = scale[origin->triple[i]];
    p->barrier.kappa[i] = p->barrier.kappa_problem[i] * factor * factor;
    p->barrier.inverse_kappa[i] = 1 / p->barrier.kappa[i];
  }
}

SAP_DECLARE_LOOPS(barrier_loops);

const struct sap_law sap_law_rigid_core = {
    .loops = SAP_LOOPS(barrier_loops),
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
    .n_constants = SAP_BY_LAMBDA + 1,
    .partials = sap_barrier_partials,
    .wall = wall,
    .fit = fit,
    .recall = recall,
};
