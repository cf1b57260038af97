/* Tests the loops over contacts with cores, on every instruction set, against the law contact by
 * contact, and the properties that the solver needs. */
#include <math.h>

#include "check.h"
#include "constraints/laws/rigid_core.h"
#include "constraints/laws.h"
#include "linalg/kernels/kernels.h"

enum { MOST = 197 }; /* no multiple of a vector width, and several rounds */

static struct sap_pool pool;
static _Alignas(SAP_ALIGNMENT) unsigned char room[256 * 1024];

static const double node[5] = {0, 0.01, 0.3, 0.5, 0.7}, node_curvature[5] = {1, 1.5, 1.2, 9, 3};
static double node_slope[5], node_value[5];
static const sap_barrier_table table = {5, node, node_curvature, node_slope, node_value};

/* Fills contacts at random velocities whose s is spread up to `largest`. Every third has an exp
 * barrier, unless all or none have; with kinds 3 every third has a table, too. */
static void fill(const struct sap_law_loops *loops, double soft_norm, double largest, int kinds,
                 uint64_t *seed) {
  struct sap_arena arena = {room, 0};
  sap_pool_carve(&pool, &arena, MOST, (const int8_t[SAP_N_LAWS]){[SAP_LAW_RIGID_CORE] = 1});
  REQUIRE(arena.used <= sizeof room);
  pool.soft = soft_norm * soft_norm;
  sap_barrier_integrate(5, node, node_curvature, node_slope, node_value);
  pool.barrier.table = &table;
  for (int32_t i = 0; i < MOST; ++i) {
    pool.contact.mu[i] = i % 7 ? check_random(seed, 0, 1.5) : 0;
    pool.contact.R_t[i] = pow(10, check_random(seed, -4, 0));
    pool.contact.R_n[i] = pow(10, check_random(seed, -3, 1));
    for (int r = 0; r < 3; ++r) {
      pool.v_hat[r][i] = check_random(seed, -0.3, 0.3);
      pool.v_c[r][i] = check_random(seed, -1, 1);
      pool.dv_c[r][i] = check_random(seed, -1, 1);
    }
    const struct sap_contact c =
        sap_contact_make(pool.contact.mu[i], pool.contact.R_t[i], pool.contact.R_n[i], soft_norm,
                         pool.v_hat[0][i], pool.v_hat[1][i], pool.v_hat[2][i]);
    const struct sap_contact_state at =
        sap_contact_at_impulse(&c, (c.v_hat[0] - pool.v_c[0][i]) * c.inverse_R_t,
                               (c.v_hat[1] - pool.v_c[1][i]) * c.inverse_R_t,
                               (c.v_hat[2] - pool.v_c[2][i]) * c.inverse_R_n);
    const double cost = sap_contact_cost(&c, &at), s = check_random(seed, 0.01, 1) * largest;
    pool.barrier.kappa_problem[i] = cost > 0 ? 2 * cost / (s * s) : 1;
    pool.barrier.kappa[i] = pool.barrier.kappa_given[i] = pool.barrier.kappa_problem[i];
    const int is_exp = kinds >= 2 ? i % 3 == 0 : kinds, is_table = kinds == 3 && i % 3 == 2;
    pool.barrier.lambda[i] = is_exp ? check_random(seed, 0.5, 8) : is_table ? -1 : 0;
  }
  REQUIRE(loops->derive(&pool, 0, MOST));
}

/* Calls test(loops, largest s, kinds) for every instruction set. */
static void for_all_sets(void (*test)(const struct sap_law_loops *, double, int)) {
  const double largest[] = {1e-4, 0.05, 0.9};
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    for (int k = 0; k < 12 && sap_kernels_of(set); ++k) {
      test(sap_laws[SAP_LAW_RIGID_CORE]->loops[set], largest[k / 4], k % 4);
    }
  }
}

static void check_law(const struct sap_law_loops *loops, double largest, int kinds) {
  uint64_t seed = 81;
  fill(loops, 0, largest, kinds, &seed);
  double total = 0;
  const double sum = loops->evaluate(&pool, 0, MOST);
  for (int32_t i = 0; i < MOST; ++i) {
    const double y[3] = {pool.y[0][i], pool.y[1][i], pool.y[2][i]};
    const int8_t barrier = (int8_t)sap_barrier_of(&pool, i).kind;
    double gamma[3], G[9], cost;
    int8_t region;
    sap_project_barrier(1, y, &pool.contact.mu[i], &pool.contact.R_t[i], &pool.contact.R_n[i], 0,
                        &barrier, &pool.barrier.kappa[i], &pool.barrier.lambda[i], &table, gamma, G,
                        &cost, &region);
    total += cost;
    CHECK_EQUAL(pool.contact.region[i], region);
    const double size = fabs(gamma[0]) + fabs(gamma[1]) + gamma[2];
    for (int r = 0; r < 3; ++r) {
      CHECK_CLOSE(pool.gamma[r][i], gamma[r], 1e-12 * size);
    }
    const int entry[SAP_G_ENTRIES] = {0, 1, 4, 2, 5, 8};
    for (int e = 0; e < SAP_G_ENTRIES; ++e) {
      CHECK_CLOSE(pool.G[e][i], G[entry[e]], 1e-12 * (G[0] + G[4] + G[8]));
    }
  }
  CHECK_CLOSE(sum, total, 1e-12 * total);
}

static void law_is_the_law_of_one(void) { for_all_sets(check_law); }

static void check_line(const struct sap_law_loops *loops, double largest, int kinds) {
  uint64_t seed = 82;
  fill(loops, 1e-3, largest, kinds, &seed);
  loops->evaluate(&pool, 0, MOST);
  const double alpha = 1e-4, h = 1e-7;
  for (int32_t i = 0; i < MOST; ++i) {
    double slope[3], curvature[3];
    for (int k = 0; k < 3; ++k) {
      loops->line(&pool, i, i + 1, alpha + (k - 1) * h, &slope[k], &curvature[k]);
    }
    if (isinf(slope[0]) || isinf(slope[2])) {
      continue;
    }
    const double before = sap_law_rigid_core.difference(&pool, i, i + 1, alpha - h);
    const double after = sap_law_rigid_core.difference(&pool, i, i + 1, alpha + h);
    const double size = fabs(slope[1]) + h * fabs(curvature[1]) + 1e-12;
    CHECK_CLOSE((after - before) / (2 * h), slope[1], 1e-4 * size);
  }
}

static void slope_is_that_of_the_cost(void) { for_all_sets(check_line); }

/* Finds the smallest and largest x^T G x over random x of the symmetric matrix with these entries,
 * in the norm of R. */
static void bound_form(const double *const G[SAP_G_ENTRIES], int32_t i, uint64_t *seed,
                       double *least, double *most) {
  *least = INFINITY;
  *most = 0;
  for (int k = 0; k < 30; ++k) {
    double x[3], norm = 0;
    for (int r = 0; r < 3; ++r) {
      x[r] = check_random(seed, -1, 1);
      norm += x[r] * x[r];
    }
    const double a = sqrt(pool.contact.R_t[i] / norm), b = sqrt(pool.contact.R_n[i] / norm);
    const double x_1 = a * x[0], x_2 = a * x[1], x_n = b * x[2];
    const double form =
        x_1 * (G[SAP_G_11][i] * x_1 + 2 * G[SAP_G_12][i] * x_2) + G[SAP_G_22][i] * x_2 * x_2 +
        2 * x_n * (G[SAP_G_1N][i] * x_1 + G[SAP_G_2N][i] * x_2) + G[SAP_G_NN][i] * x_n * x_n;
    *least = fmin(*least, form);
    *most = fmax(*most, form);
  }
}

/* For any dual G is semidefinite, as stiff as the compliant law along the impulse, and bounded by
 * b'' and friction across the slip. */
static void check_blend(const struct sap_law_loops *loops, double largest, int kinds) {
  uint64_t seed = 83;
  fill(loops, 0, largest, kinds, &seed);
  loops->evaluate(&pool, 0, MOST);
  loops->predict(&pool, 0, MOST);
  for (int32_t i = 0; i < MOST; ++i) {
    pool.barrier.dual_size[i] *= pow(10, i % 7 - 3);
  }
  loops->blend(&pool, 0, MOST);
  for (int32_t i = 0; i < MOST; ++i) {
    const struct sap_barrier_shape barrier = sap_barrier_of(&pool, i);
    const struct sap_contact c = sap_pool_get(&pool, i);
    const struct sap_contact_state at =
        sap_contact_at_impulse(&c, pool.y[0][i], pool.y[1][i], pool.y[2][i]);
    const double cost = sap_contact_cost(&c, &at);
    const struct sap_barrier_factors f =
        sap_barrier_at(&barrier, sqrt(2 * cost * barrier.inverse_kappa));
    const double *const G[SAP_G_ENTRIES] = {pool.G[0], pool.G[1], pool.G[2],
                                            pool.G[3], pool.G[4], pool.G[5]};
    double least, most, gamma[3];
    bound_form(G, i, &seed, &least, &most);
    CHECK(least >= -1e-13 * (f.phi + f.rise));
    CHECK(most <= (2 * f.phi + fmax(f.rise, 0)) * (1 + 1e-12));
    sap_contact_impulse(&c, &at, gamma);
    if (cost > 0) {
      /* gamma_0^T R G R gamma_0 >= |gamma_0|_R^2 */
      const double g_1 = c.R_t * gamma[0], g_2 = c.R_t * gamma[1], g_n = c.R_n * gamma[2];
      const double form =
          g_1 * (G[SAP_G_11][i] * g_1 + 2 * G[SAP_G_12][i] * g_2) + G[SAP_G_22][i] * g_2 * g_2 +
          2 * g_n * (G[SAP_G_1N][i] * g_1 + G[SAP_G_2N][i] * g_2) + G[SAP_G_NN][i] * g_n * g_n;
      CHECK(form >= 2 * cost * (1 - 1e-10));
    }
  }
}

static void blended_curvature_is_bounded(void) { for_all_sets(check_blend); }

/* Without a step the dual is the impulse itself, and G is the law's. */
static void check_own_dual(const struct sap_law_loops *loops, double largest, int kinds) {
  uint64_t seed = 84;
  fill(loops, 0, largest, kinds, &seed);
  loops->evaluate(&pool, 0, MOST);
  double G[SAP_G_ENTRIES][MOST];
  for (int32_t i = 0; i < MOST; ++i) {
    pool.dv_c[0][i] = pool.dv_c[1][i] = pool.dv_c[2][i] = 0;
    for (int e = 0; e < SAP_G_ENTRIES; ++e) {
      G[e][i] = pool.G[e][i];
    }
  }
  loops->predict(&pool, 0, MOST);
  loops->blend(&pool, 0, MOST);
  for (int32_t i = 0; i < MOST; ++i) {
    const double size = G[SAP_G_11][i] + G[SAP_G_22][i] + G[SAP_G_NN][i];
    for (int e = 0; e < SAP_G_ENTRIES; ++e) {
      CHECK_CLOSE(pool.G[e][i], G[e][i], 1e-10 * size);
    }
  }
}

static void own_dual_changes_nothing(void) { for_all_sets(check_own_dual); }

/* The wall is found from outside in a few steps. There s reaches its limit. */
static void check_wall(const struct sap_law_loops *loops, double largest, int kinds) {
  uint64_t seed = 85;
  fill(loops, 0, largest, kinds, &seed);
  loops->evaluate(&pool, 0, MOST);
  int met = 0;
  for (int32_t i = 0; i < MOST; ++i) {
    double alpha = 1e3, slope, curvature;
    loops->line(&pool, i, i + 1, alpha, &slope, &curvature);
    if (slope < INFINITY) {
      continue;
    }
    ++met;
    int steps = 0;
    for (; slope == INFINITY && steps < 60; ++steps) {
      const double wall = sap_law_rigid_core.wall(&pool, i, i + 1, alpha);
      CHECK(wall > 0 && wall < alpha);
      alpha = wall;
      loops->line(&pool, i, i + 1, alpha, &slope, &curvature);
    }
    CHECK(steps < 60 && slope < INFINITY);
    /* a little further is outside */
    loops->line(&pool, i, i + 1, alpha * (1 + 1e-6) + 1e-12, &slope, &curvature);
    CHECK(slope == INFINITY);
  }
  CHECK(met > MOST / 10);
}

static void wall_is_found_from_outside(void) { for_all_sets(check_wall); }

/* The scale is raised where y is outside, and goes back to what was given where it is inside
 * again. */
static void fit_makes_every_iterate_feasible(void) {
  const struct sap_law_loops *loops = sap_laws[SAP_LAW_RIGID_CORE]->loops[0];
  uint64_t seed = 86;
  fill(loops, 0, 0.5, 2, &seed);
  loops->evaluate(&pool, 0, MOST);
  CHECK_EQUAL(sap_law_rigid_core.fit(&pool, 0, MOST, 1), 0);
  for (int32_t i = 0; i < MOST; ++i) {
    pool.barrier.kappa_given[i] *= i % 2 ? 1e-4 : 1;
  }
  CHECK(sap_law_rigid_core.fit(&pool, 0, MOST, 1) > MOST / 5);
  CHECK(isfinite(loops->evaluate(&pool, 0, MOST)));
  for (int32_t i = 0; i < MOST; ++i) {
    CHECK(pool.barrier.kappa[i] >= pool.barrier.kappa_given[i]);
    CHECK(i % 2 || pool.barrier.kappa[i] == pool.barrier.kappa_given[i]);
    pool.barrier.kappa_given[i] *= i % 2 ? 1e4 : 1;
  }
  CHECK_EQUAL(sap_law_rigid_core.fit(&pool, 0, MOST, 3), MOST);
  for (int32_t i = 0; i < MOST; ++i) {
    CHECK_CLOSE(pool.barrier.kappa[i], 9 * pool.barrier.kappa_given[i],
                1e-15 * pool.barrier.kappa[i]);
  }
  CHECK_EQUAL(sap_law_rigid_core.fit(&pool, 0, MOST, 1), 0);
}

static void wrong_constants_are_found(void) {
  const struct sap_law_loops *loops = sap_laws[SAP_LAW_RIGID_CORE]->loops[0];
  uint64_t seed = 87;
  const double wrong[] = {0, -1, NAN, INFINITY};
  for (int k = 0; k < 4; ++k) {
    fill(loops, 0, 0.5, 2, &seed);
    pool.barrier.kappa_problem[77] = wrong[k];
    CHECK(!loops->derive(&pool, 0, MOST));
  }
  fill(loops, 0, 0.5, 2, &seed);
  pool.barrier.lambda[5] = NAN;
  CHECK(!loops->derive(&pool, 0, MOST));
  CHECK(loops->derive(&pool, 6, MOST));
  pool.barrier.lambda[5] = -2;
  CHECK(!loops->derive(&pool, 0, MOST));
}

static const check_test tests[] = {
    CHECK_TEST(law_is_the_law_of_one),        CHECK_TEST(slope_is_that_of_the_cost),
    CHECK_TEST(blended_curvature_is_bounded), CHECK_TEST(own_dual_changes_nothing),
    CHECK_TEST(wall_is_found_from_outside),   CHECK_TEST(fit_makes_every_iterate_feasible),
    CHECK_TEST(wrong_constants_are_found),
};
CHECK_FILE(test_rigid_core_loops, tests);
