/* Tests the errors that the law of contacts with rigid cores reports, the proved bound on its
 * impulses' errors and its part of e_mu, against their formulas in long double. */
#include "points.h"

static struct points points;

static struct sap_barrier_shape barrier_of(const struct points *p, int32_t i) {
  return (struct sap_barrier_shape){(sap_barrier)p->barrier[i], 1 / p->kappa[i],
                                    p->barrier_lambda[i], p->problem.barrier_table};
}

/* Finds gamma_0 of the compliant law. Returns s. */
static double compliant(const struct points *p, int32_t i, const double v_c[3], double gamma[3]) {
  const struct sap_contact c = points_contact(p, i);
  const struct sap_contact_state at = points_state(&c, v_c);
  sap_contact_impulse(&c, &at, gamma);
  return sqrt(2 * sap_contact_cost(&c, &at) / p->kappa[i]);
}

static void impulse(const struct points *p, int32_t i, const double v_c[3], double gamma[3]) {
  const struct sap_barrier_shape barrier = barrier_of(p, i);
  const double phi = sap_barrier_at(&barrier, compliant(p, i, v_c, gamma)).phi;
  for (int r = 0; r < 3; ++r) {
    gamma[r] *= phi;
  }
}

/* Returns phi + s phi' by the formulas of rigid_core.h; of a table the largest b'' up to s. */
static long double slope_of(const struct sap_barrier_shape *barrier, long double s) {
  if (barrier->kind == SAP_BARRIER_TABLE) {
    const sap_barrier_table *t = barrier->table;
    long double most = t->curvature[0];
    for (int32_t j = 1; j < t->n && t->s[j - 1] < s; ++j) {
      const long double part = (fminl(s, t->s[j]) - t->s[j - 1]) / (t->s[j] - t->s[j - 1]);
      most = fmaxl(most, t->curvature[j - 1] + part * (t->curvature[j] - t->curvature[j - 1]));
    }
    return most;
  }
  const long double x = barrier->lambda * s, u = 1 / (1 - s);
  const long double L = s > 1e-4L ? -log1pl(-s) / s : 1 + s / 2 + s * s / 3 + s * s * s / 4;
  return barrier->kind == SAP_BARRIER_EXP ? expl(x) * (1 + x / 2 + x * (3 + x) / 2)
                                          : (L + u) / 2 + (u - L + s * u * u) / 2;
}

/* Returns the bound of the compliant law, times b'' at the largest s that its errors allow. */
static void bound(const struct points *p, int32_t i, const double gamma[3], const double reach[3],
                  double velocity_error, double impulse_error, long double bound[3]) {
  const struct sap_contact c = points_contact(p, i);
  const struct sap_barrier_shape barrier = barrier_of(p, i);
  double gamma_0[3];
  const long double s = compliant(p, i, p->v + 3 * i, gamma_0), root_kappa = sqrtl(p->kappa[i]);
  long double square = 0;
  for (int r = 0; r < 3; ++r) {
    const long double sizes = fabsl(p->v[3 * i + r]) + fabsl(c.v_hat[r]);
    const long double d = velocity_error * reach[r] + 4 * DBL_EPSILON * sizes;
    square += d * d / (r < 2 ? c.R_t : c.R_n);
  }
  const long double error = sqrtl(square) + 16 * DBL_EPSILON * s * root_kappa;
  const long double expanded = slope_of(&barrier, s + error / root_kappa) * error;
  for (int r = 0; r < 3; ++r) {
    bound[r] = expanded / sqrtl(r < 2 ? c.R_t : c.R_n) +
               (16 * DBL_EPSILON + (long double)impulse_error) * fabs(gamma[r]);
  }
}

static void bound_is_its_formula_and_holds(void) {
  const struct points_law law = {SAP_LAW_RIGID_CORE, impulse, bound, 0};
  points_check_bound(&points, &law);
}

/* Returns |g . gamma| with g = v_c - v_hat + R gamma_0 and the impulse gamma_0 of the compliant
 * law at the evaluated velocity. */
static long double term(const struct points *p, int32_t i, const double v_c[3],
                        const double gamma[3]) {
  const struct sap_contact c = points_contact(p, i);
  double gamma_0[3];
  compliant(p, i, p->v + 3 * i, gamma_0);
  long double product = 0;
  for (int r = 0; r < 3; ++r) {
    const long double R = r < 2 ? c.R_t : c.R_n;
    product += ((long double)v_c[r] - c.v_hat[r] + R * gamma_0[r]) * gamma[r];
  }
  return fabsl(product);
}

static void complementarity_adds_magnitudes(void) {
  points_check_complementarity(&points, SAP_LAW_RIGID_CORE, term);
}

static const check_test tests[] = {
    CHECK_TEST(bound_is_its_formula_and_holds),
    CHECK_TEST(complementarity_adds_magnitudes),
};
CHECK_FILE(test_rigid_core_law, tests);
