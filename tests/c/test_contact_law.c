/* Tests the errors that the law of contacts reports, the proved bound on its impulses' errors and
 * its part of e_mu, against their formulas in long double. */
#include "points.h"

static struct points points;

static void impulse(const struct points *p, int32_t i, const double v_c[3], double gamma[3]) {
  const struct sap_contact c = points_contact(p, i);
  const struct sap_contact_state at = points_state(&c, v_c);
  sap_contact_impulse(&c, &at, gamma);
}

/* As |dgamma|_R <= |dy|_R, |dgamma_r| <= |dy|_R/sqrt(R_r). y has the errors of v_c and four
 * roundings of its own. */
static void bound(const struct points *p, int32_t i, const double gamma[3], const double reach[3],
                  double velocity_error, double impulse_error, long double bound[3]) {
  const struct sap_contact c = points_contact(p, i);
  long double square = 0;
  for (int r = 0; r < 3; ++r) {
    const long double sizes = fabsl(p->v[3 * i + r]) + fabsl(c.v_hat[r]);
    const long double d = velocity_error * reach[r] + 4 * DBL_EPSILON * sizes;
    square += d * d / (r < 2 ? c.R_t : c.R_n);
  }
  for (int r = 0; r < 3; ++r) {
    bound[r] = sqrtl(square / (r < 2 ? c.R_t : c.R_n)) +
               (16 * DBL_EPSILON + (long double)impulse_error) * fabs(gamma[r]);
  }
}

static void bound_is_its_formula_and_holds(void) {
  const struct points_law law = {SAP_LAW_CONTACT, impulse, bound, 0};
  points_check_bound(&points, &law);
}

/* Returns |g . gamma| with g = v_c - v_hat + R gamma. */
static long double term(const struct points *p, int32_t i, const double v_c[3],
                        const double gamma[3]) {
  const struct sap_contact c = points_contact(p, i);
  long double product = 0;
  for (int r = 0; r < 3; ++r) {
    const long double R = r < 2 ? c.R_t : c.R_n;
    product += ((long double)v_c[r] - c.v_hat[r] + R * gamma[r]) * gamma[r];
  }
  return fabsl(product);
}

static void complementarity_adds_magnitudes(void) {
  points_check_complementarity(&points, SAP_LAW_CONTACT, term);
}

/* For the first system touching contacts stick, with gamma = (v_hat - v_c)/R and G = 1/R; others
 * have neither. */
static void contacts_that_touch_stick(void) {
  uint64_t seed = 7;
  points_make(&points, SAP_LAW_CONTACT, &seed);
  REQUIRE(points_load(&points));
  struct sap_workspace *w = points.solver->work;
  int32_t touching = 0;
  sap_laws[SAP_LAW_CONTACT]->stick(&w->pool, 0, POINTS);
  for (int32_t place = 0; place < POINTS; ++place) {
    const int32_t i = w->plan->graph.triple[place];
    const struct sap_contact c = points_contact(&points, i);
    const int touches = points.v_hat_n[i] > 0;
    touching += touches;
    for (int r = 0; r < 3; ++r) {
      const double R = r < 2 ? c.R_t : c.R_n;
      CHECK_CLOSE(w->pool.gamma[r][place], touches * (c.v_hat[r] - points.v[3 * i + r]) / R, 1e-12);
    }
    CHECK_CLOSE(w->pool.G[SAP_G_11][place], touches / c.R_t, 1e-12);
    CHECK_CLOSE(w->pool.G[SAP_G_22][place], touches / c.R_t, 1e-12);
    CHECK_CLOSE(w->pool.G[SAP_G_NN][place], touches / c.R_n, 1e-12);
    CHECK(w->pool.G[SAP_G_12][place] == 0 && w->pool.G[SAP_G_1N][place] == 0);
  }
  CHECK(touching > 0 && touching < POINTS);
  sap_solver_destroy(points.solver);
}

static const check_test tests[] = {
    CHECK_TEST(contacts_that_touch_stick),
    CHECK_TEST(bound_is_its_formula_and_holds),
    CHECK_TEST(complementarity_adds_magnitudes),
};
CHECK_FILE(test_contact_law, tests);
