/* Tests the contact law: regions, derivatives, and differences of the cost. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "constraints/laws/contact.h"

static struct sap_contact random_contact(uint64_t *seed, double soft_norm) {
  return sap_contact_make(check_random(seed, 0, 1.5), pow(10, check_random(seed, -4, 0)),
                          pow(10, check_random(seed, -3, 1)), soft_norm, 0.1, -0.2, 0.3);
}

static struct sap_contact_state at_velocity(const struct sap_contact *c, const double v_c[3]) {
  return sap_contact_at_impulse(c, (c->v_hat[0] - v_c[0]) * c->inverse_R_t,
                                (c->v_hat[1] - v_c[1]) * c->inverse_R_t,
                                (c->v_hat[2] - v_c[2]) * c->inverse_R_n);
}

static void random_velocity(uint64_t *seed, double v_c[3]) {
  for (int r = 0; r < 3; ++r) {
    v_c[r] = check_random(seed, -1, 1);
  }
}

/* Finds G (3, 3). */
static void full_hessian(const struct sap_contact *c, const struct sap_contact_state *at,
                         double G[9]) {
  double g[SAP_G_ENTRIES];
  sap_contact_hessian(c, at, g);
  const double full[9] = {g[SAP_G_11], g[SAP_G_12], g[SAP_G_1N], g[SAP_G_12], g[SAP_G_22],
                          g[SAP_G_2N], g[SAP_G_1N], g[SAP_G_2N], g[SAP_G_NN]};
  memcpy(G, full, sizeof full);
}

/* Returns the change of cost between two velocities. */
static double cost_difference(const struct sap_contact *c, const double v_a[3],
                              const double v_b[3]) {
  double dy[3];
  for (int r = 0; r < 3; ++r) {
    dy[r] = (v_a[r] - v_b[r]) * (r < 2 ? c->inverse_R_t : c->inverse_R_n);
  }
  const struct sap_contact_state a = at_velocity(c, v_a);
  const struct sap_contact_state b = at_velocity(c, v_b);
  return sap_contact_cost_difference(c, &a, &b, dy);
}

/* Is the velocity so far from a region's boundary that differences stay inside the region? */
static int far_from_boundaries(const struct sap_contact *c, const struct sap_contact_state *at) {
  const double y_n = at->y[2], scale = fabs(y_n) + at->y_r;
  return fabs(at->y_r - c->mu * y_n) > 1e-2 * scale &&
         fabs(y_n + c->mu_hat * at->y_r) > 1e-2 * scale && fabs(y_n) > 1e-2 * scale &&
         at->y_r > 1e-2 * scale;
}

static void impulse_is_minus_the_gradient_of_the_cost(void) {
  uint64_t seed = 21;
  int regions[4] = {0};
  for (int trial = 0; trial < 3000; ++trial) {
    const struct sap_contact c = random_contact(&seed, trial % 2 ? 1e-2 : 0);
    double v_c[3], gamma[3];
    random_velocity(&seed, v_c);
    const struct sap_contact_state at = at_velocity(&c, v_c);
    if (!far_from_boundaries(&c, &at)) {
      continue;
    }
    regions[sap_contact_region(&at)]++;
    sap_contact_impulse(&c, &at, gamma);
    double G[9];
    full_hessian(&c, &at, G);
    for (int r = 0; r < 3; ++r) {
      const double h = 1e-6;
      double plus[3] = {v_c[0], v_c[1], v_c[2]}, minus[3] = {v_c[0], v_c[1], v_c[2]};
      double gamma_plus[3], gamma_minus[3];
      plus[r] += h;
      minus[r] -= h;
      const struct sap_contact_state at_plus = at_velocity(&c, plus);
      const struct sap_contact_state at_minus = at_velocity(&c, minus);
      const double slope = cost_difference(&c, minus, plus) / (2 * h);
      const double size = fabs(gamma[0]) + fabs(gamma[1]) + fabs(gamma[2]) + 1;
      CHECK_CLOSE(slope, -gamma[r], 1e-6 * size);
      sap_contact_impulse(&c, &at_plus, gamma_plus);
      sap_contact_impulse(&c, &at_minus, gamma_minus);
      for (int s = 0; s < 3; ++s) {
        const double stiffness = (gamma_plus[s] - gamma_minus[s]) / (2 * h);
        CHECK_CLOSE(stiffness, -G[3 * s + r], 1e-5 * (1 / c.R_t + 1 / c.R_n));
      }
    }
  }
  for (int region = 1; region <= 3; ++region) {
    CHECK(regions[region] > 100);
  }
}

static void curvature_is_the_quadratic_form_of_the_hessian(void) {
  uint64_t seed = 22;
  for (int trial = 0; trial < 1000; ++trial) {
    const struct sap_contact c = random_contact(&seed, trial % 2 ? 1e-2 : 0);
    double v_c[3], w[3], G[9], sum = 0;
    random_velocity(&seed, v_c);
    random_velocity(&seed, w);
    const struct sap_contact_state at = at_velocity(&c, v_c);
    full_hessian(&c, &at, G);
    for (int i = 0; i < 9; ++i) {
      sum += w[i / 3] * G[i] * w[i % 3];
    }
    CHECK(sum >= -1e-9 / c.R_t);
    CHECK_CLOSE(sap_contact_curvature(&c, &at, w[0], w[1], w[2]), sum,
                1e-12 * (1 / c.R_t + 1 / c.R_n));
  }
}

static void cost_difference_is_the_difference_of_costs(void) {
  uint64_t seed = 23;
  for (int trial = 0; trial < 2000; ++trial) {
    const struct sap_contact c = random_contact(&seed, trial % 2 ? 1e-2 : 0);
    double v_a[3], v_b[3];
    random_velocity(&seed, v_a);
    random_velocity(&seed, v_b);
    const struct sap_contact_state a = at_velocity(&c, v_a);
    const struct sap_contact_state b = at_velocity(&c, v_b);
    const double expected = sap_contact_cost(&c, &b) - sap_contact_cost(&c, &a);
    const double size = sap_contact_cost(&c, &b) + sap_contact_cost(&c, &a);
    CHECK_CLOSE(cost_difference(&c, v_a, v_b), expected, 1e-13 * size + 1e-300);
  }
}

/* The move is so tiny that the plain difference of costs would be all round-off. */
static void cost_difference_does_not_cancel(void) {
  uint64_t seed = 24;
  for (int trial = 0; trial < 1000; ++trial) {
    const struct sap_contact c = random_contact(&seed, 0);
    double v_a[3], gamma[3];
    random_velocity(&seed, v_a);
    const double h = ldexp(1, -40);
    const double v_b[3] = {v_a[0] + h, v_a[1], v_a[2] - h};
    const struct sap_contact_state a = at_velocity(&c, v_a);
    if (!far_from_boundaries(&c, &a)) {
      continue;
    }
    sap_contact_impulse(&c, &a, gamma);
    const double expected = -gamma[0] * (v_b[0] - v_a[0]) - gamma[2] * (v_b[2] - v_a[2]);
    const double size = h * (fabs(gamma[0]) + fabs(gamma[2]));
    CHECK_CLOSE(cost_difference(&c, v_a, v_b), expected, 1e-9 * size);
  }
}

static void region_boundaries(void) {
  const double mu = 0.5, R_t = 1, R_n = 1; /* mu_hat = 0.5 */
  const struct {
    double y[3];
    double mu;
    sap_region region;
  } cases[] = {
      {{0, 0, 0}, mu, SAP_STICTION},      /* the apex belongs to the cone */
      {{1, 0, 2}, mu, SAP_STICTION},      /* on the cone: region I */
      {{1, 0, 1.9}, mu, SAP_SLIDING},     /* just outside */
      {{2, 0, -1}, mu, SAP_SLIDING},      /* on the polar cone: region II, with gamma = 0 */
      {{2, 0, -1.1}, mu, SAP_NO_CONTACT}, /* inside the polar cone */
      {{0, 0, 1}, 0, SAP_STICTION},       /* mu = 0, on the axis */
      {{0, 0, -1}, 0, SAP_NO_CONTACT},    /* the printed test would pull here */
      {{1, 0, 1}, 0, SAP_SLIDING},        /* frictionless sliding */
      {{1, 0, -1}, 0, SAP_NO_CONTACT},
  };
  for (size_t i = 0; i < CHECK_COUNT(cases); ++i) {
    double gamma[3], G[9], cost;
    int8_t region;
    sap_project(1, cases[i].y, &cases[i].mu, &R_t, &R_n, 0, gamma, G, &cost, &region);
    CHECK_EQUAL(region, cases[i].region);
    CHECK(gamma[2] >= 0 && cost >= 0);
    CHECK(hypot(gamma[0], gamma[1]) <= cases[i].mu * gamma[2] * (1 + 1e-15));
    if (cases[i].region == SAP_NO_CONTACT) {
      CHECK(gamma[2] == 0 && G[8] == 0);
    } else {
      CHECK(G[8] > 0);
    }
  }
}

static void project_accepts_null_outputs(void) {
  const double y[3] = {0.1, 0.2, 1}, one = 1;
  double gamma[3];
  sap_project(1, y, &one, &one, &one, 0, NULL, NULL, NULL, NULL);
  sap_project(1, y, &one, &one, &one, 0, gamma, NULL, NULL, NULL);
  CHECK_ALL_CLOSE(gamma, y, 3, 0);
  sap_project(0, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL);
}

static const check_test tests[] = {
    CHECK_TEST(impulse_is_minus_the_gradient_of_the_cost),
    CHECK_TEST(curvature_is_the_quadratic_form_of_the_hessian),
    CHECK_TEST(cost_difference_is_the_difference_of_costs),
    CHECK_TEST(cost_difference_does_not_cancel),
    CHECK_TEST(region_boundaries),
    CHECK_TEST(project_accepts_null_outputs),
};
CHECK_FILE(test_contact, tests);
