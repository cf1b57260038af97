#include "constraints/laws/contact_law.h"

#include <float.h>

void sap_contact_bind(struct sap_pool *pool, int32_t place, int64_t i, const sap_problem *problem) {
  const struct sap_contacts *contact = &pool->contact;
  contact->mu[place] = problem->mu[i];
  contact->R_t[place] = problem->R_t[i];
  contact->R_n[place] = problem->R_n[i];
  pool->v_hat[0][place] = problem->v_hat_t ? problem->v_hat_t[2 * i] : 0;
  pool->v_hat[1][place] = problem->v_hat_t ? problem->v_hat_t[2 * i + 1] : 0;
  pool->v_hat[2][place] = problem->v_hat_n[i];
}

static void bind(struct sap_pool *pool, int32_t begin, int32_t end, const struct sap_origin *origin,
                 const sap_problem *problem) {
  for (int32_t place = begin; place < end; ++place) {
    sap_contact_bind(pool, place, origin->triple[place], problem);
  }
}

/* Writes three components of each contact, if the array is not NULL. */
static void write_vectors(const int32_t *contact, int32_t begin, int32_t end, double *const from[3],
                          double *to) {
  for (int32_t place = begin; to && place < end; ++place) {
    double *x = to + 3 * (int64_t)contact[place];
    x[0] = from[0][place];
    x[1] = from[1][place];
    x[2] = from[2][place];
  }
}

int32_t sap_contact_write(const struct sap_pool *pool, int32_t begin, int32_t end,
                          const struct sap_origin *origin, const sap_solution *solution) {
  const int32_t *contact = origin->triple;
  write_vectors(contact, begin, end, pool->gamma, solution->gamma);
  write_vectors(contact, begin, end, pool->v_c, solution->v_c);
  for (int32_t place = begin; solution->regions && place < end; ++place) {
    solution->regions[contact[place]] = pool->contact.region[place];
  }
  for (int32_t place = begin; solution->barrier_scale && place < end; ++place) {
    solution->barrier_scale[contact[place]] = 1;
  }
  return 0;
}

double sap_contact_difference(const struct sap_pool *p, int32_t i, double alpha, double *cost_0,
                              double *cost_alpha) {
  const struct sap_contact contact = sap_pool_get(p, i);
  /* y = R^-1 (v_hat - v_c) */
  const double dy[3] = {-alpha * (p->dv_c[0][i] * contact.inverse_R_t),
                        -alpha * (p->dv_c[1][i] * contact.inverse_R_t),
                        -alpha * (p->dv_c[2][i] * contact.inverse_R_n)};
  const struct sap_contact_state at_0 =
      sap_contact_at_impulse(&contact, p->y[0][i], p->y[1][i], p->y[2][i]);
  const struct sap_contact_state at_alpha =
      sap_contact_at_impulse(&contact, p->y[0][i] + dy[0], p->y[1][i] + dy[1], p->y[2][i] + dy[2]);
  *cost_0 = sap_contact_cost(&contact, &at_0);
  *cost_alpha = sap_contact_cost(&contact, &at_alpha);
  return sap_contact_cost_difference(&contact, &at_0, &at_alpha, dy);
}

static double difference(const struct sap_pool *p, int32_t begin, int32_t end, double alpha) {
  double sum = 0;
  for (int32_t i = begin; i < end; ++i) {
    double cost_0, cost_alpha;
    sum += sap_contact_difference(p, i, alpha, &cost_0, &cost_alpha);
  }
  return sum;
}

void sap_contact_stick(struct sap_pool *pool, int32_t begin, int32_t end) {
  /* sets gamma = y and G = R^-1 for the touching contacts */
  for (int32_t i = begin; i < end; ++i) {
    const double sticks = pool->v_hat[2][i] > 0;
    pool->G[SAP_G_11][i] = pool->G[SAP_G_22][i] = sticks * pool->contact.inverse_R_t[i];
    pool->G[SAP_G_NN][i] = sticks * pool->contact.inverse_R_n[i];
    pool->G[SAP_G_12][i] = pool->G[SAP_G_1N][i] = pool->G[SAP_G_2N][i] = 0;
    for (int r = 0; r < 3; ++r) {
      pool->gamma[r][i] = sticks * pool->y[r][i];
    }
  }
}

/* Bounds the error of one impulse: the projection does not expand in the norm of R, |dgamma|_R <=
 * |dy|_R, and has rounding errors of its own. */
static void find_impulse_error(const struct sap_contact *c, const double v_c[3],
                               const double gamma[3], const double dv_c[3], double dgamma[3]) {
  double dy_R = 0;
  for (int r = 0; r < 3; ++r) {
    const double error = dv_c[r] + 4 * DBL_EPSILON * (fabs(v_c[r]) + fabs(c->v_hat[r]));
    dy_R += error * error * (r < 2 ? c->inverse_R_t : c->inverse_R_n);
  }
  const double tangential = sqrt(dy_R * c->inverse_R_t), normal = sqrt(dy_R * c->inverse_R_n);
  for (int r = 0; r < 3; ++r) {
    dgamma[r] = (r < 2 ? tangential : normal) + 16 * DBL_EPSILON * fabs(gamma[r]);
  }
}

void sap_contact_bound(struct sap_pool *p, int32_t begin, int32_t end, double velocity_error,
                       double impulse_error) {
  double *const *error = p->dv_c;
  for (int32_t i = begin; i < end; ++i) {
    const double v_c[3] = {p->v_c[0][i], p->v_c[1][i], p->v_c[2][i]};
    const double gamma[3] = {p->gamma[0][i], p->gamma[1][i], p->gamma[2][i]};
    double dv_c[3], dgamma[3];
    for (int r = 0; r < 3; ++r) {
      dv_c[r] = velocity_error * error[r][i];
    }
    const struct sap_contact contact = sap_pool_get(p, i);
    find_impulse_error(&contact, v_c, gamma, dv_c, dgamma);
    for (int r = 0; r < 3; ++r) {
      error[r][i] = dgamma[r] + impulse_error * fabs(gamma[r]);
    }
  }
}

static double complementarity(const struct sap_pool *p, int32_t begin, int32_t end) {
  double sum = 0;
  for (int32_t i = begin; i < end; ++i) {
    double product = 0;
    for (int r = 0; r < 3; ++r) {
      const double R = r < 2 ? p->contact.R_t[i] : p->contact.R_n[i], gamma = p->gamma[r][i];
      product += (p->v_c[r][i] - p->v_hat[r][i] + R * gamma) * gamma;
    }
    sum += fabs(product);
  }
  return sum;
}

SAP_DECLARE_LOOPS(contact_loops);

const struct sap_law sap_law_contact = {
    .loops = SAP_LOOPS(contact_loops),
    .projects = 1,
    .bind = bind,
    .write = sap_contact_write,
    .difference = difference,
    .stick = sap_contact_stick,
    .bound = sap_contact_bound,
    .complementarity = complementarity,
    .n_constants = SAP_BY_R_N + 1,
    .partials = sap_contact_partials,
};
