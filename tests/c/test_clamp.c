/* Tests the loops over clamped rows on every instruction set, against sap_clamp() and the formulas
 * of solver/newton/direction.h. */
#include <math.h>

#include "check.h"
#include "constraints/laws/clamp.h"
#include "constraints/laws.h"
#include "linalg/kernels/kernels.h"
#include "points.h"

enum { MOST = 67 }; /* no multiple of a vector width */

static const int diagonal[3] = {SAP_G_11, SAP_G_22, SAP_G_NN};
static struct sap_pool pool;
static _Alignas(SAP_ALIGNMENT) unsigned char room[64 * 1024];

static void fill(const struct sap_law_loops *loops, uint64_t *seed) {
  struct sap_arena arena = {room, 0};
  sap_pool_carve(&pool, &arena, MOST, (const int8_t[SAP_N_LAWS]){[SAP_LAW_CLAMP] = 1});
  REQUIRE(arena.used <= sizeof room);
  for (int32_t i = 0; i < MOST; ++i) {
    for (int r = 0; r < 3; ++r) {
      const int infinite = check_random(seed, 0, 1) < 0.3;
      pool.clamp.R[r][i] = pow(10, check_random(seed, -3, 1));
      pool.clamp.lower[r][i] = infinite ? -INFINITY : check_random(seed, -1, 0);
      pool.clamp.upper[r][i] =
          i % 5 == 0 && !infinite ? -pool.clamp.lower[r][i] : check_random(seed, 0, 1);
      pool.v_hat[r][i] = check_random(seed, -0.3, 0.3);
      pool.v_c[r][i] = check_random(seed, -1, 1);
      pool.dv_c[r][i] = check_random(seed, -1, 1);
    }
  }
  REQUIRE(loops->derive(&pool, 0, MOST));
}

static double y_of(int r, int32_t i, double alpha) {
  const double v_c = pool.v_c[r][i] + alpha * pool.dv_c[r][i];
  return (pool.v_hat[r][i] - v_c) / pool.clamp.R[r][i];
}

/* Runs the test for all instruction sets. */
static void on_every_set(void (*test)(const struct sap_law_loops *loops, uint64_t *seed)) {
  uint64_t seed = 91;
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    if (sap_kernels_of(set)) {
      const struct sap_law_loops *loops = sap_laws[SAP_LAW_CLAMP]->loops[set];
      fill(loops, &seed);
      test(loops, &seed);
    }
  }
}

static void compare_rows(const struct sap_law_loops *loops, uint64_t *seed) {
  (void)seed;
  const double total = loops->evaluate(&pool, 0, MOST);
  double sum = 0, size = 0;
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = 0; i < MOST; ++i) {
      double gamma, G, cost;
      const double y = y_of(r, i, 0);
      sap_clamp(1, &y, &pool.clamp.R[r][i], &pool.clamp.lower[r][i], &pool.clamp.upper[r][i],
                &gamma, &G, &cost);
      CHECK_CLOSE(pool.gamma[r][i], gamma, 1e-14 * fabs(y));
      CHECK_CLOSE(pool.G[diagonal[r]][i], G, 1e-14 * G);
      sum += cost;
      size += fabs(cost);
    }
  }
  CHECK_CLOSE(total, sum, 1e-14 * size);
  CHECK_EQUAL(pool.G[SAP_G_12][0] != 0 || pool.G[SAP_G_1N][0] != 0 || pool.G[SAP_G_2N][0] != 0, 0);
}

static void evaluation_is_the_law(void) { on_every_set(compare_rows); }

static void compare_line(const struct sap_law_loops *loops, uint64_t *seed) {
  const double alpha = check_random(seed, 0.1, 2);
  loops->evaluate(&pool, 0, MOST);
  double slope, curvature, expected[3] = {0}, size = 0;
  loops->line(&pool, 0, MOST, alpha, &slope, &curvature);
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = 0; i < MOST; ++i) {
      const double y[2] = {y_of(r, i, 0), y_of(r, i, alpha)}, dv = pool.dv_c[r][i];
      double gamma, G, cost[2];
      for (int k = 0; k < 2; ++k) {
        sap_clamp(1, &y[k], &pool.clamp.R[r][i], &pool.clamp.lower[r][i], &pool.clamp.upper[r][i],
                  &gamma, &G, &cost[k]);
      }
      expected[0] -= dv * gamma;
      expected[1] += dv * G * dv;
      expected[2] += cost[1] - cost[0];
      size += fabs(cost[1]) + fabs(cost[0]);
    }
  }
  CHECK_CLOSE(slope, expected[0], 1e-13 * size);
  CHECK_CLOSE(curvature, expected[1], 1e-13 * expected[1]);
  CHECK_CLOSE(sap_laws[SAP_LAW_CLAMP]->difference(&pool, 0, MOST, alpha), expected[2],
              1e-13 * size);
}

static void lines_follow_the_law(void) { on_every_set(compare_line); }

static void compare_dual(const struct sap_law_loops *loops, uint64_t *seed) {
  (void)seed;
  loops->evaluate(&pool, 0, MOST);
  static double next[3][MOST];
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = 0; i < MOST; ++i) {
      next[r][i] = pool.gamma[r][i] - pool.G[diagonal[r]][i] * pool.dv_c[r][i];
    }
  }
  loops->predict(&pool, 0, MOST);
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = 0; i < MOST; ++i) {
      pool.v_c[r][i] += pool.dv_c[r][i];
    }
  }
  loops->evaluate(&pool, 0, MOST);
  loops->blend(&pool, 0, MOST);
  int turned = 0;
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = 0; i < MOST; ++i) {
      const double lower = pool.clamp.lower[r][i], upper = pool.clamp.upper[r][i],
                   R = pool.clamp.R[r][i];
      const double y = pool.y[r][i], G = pool.G[diagonal[r]][i];
      const int within = pool.gamma[r][i] == y, finite = isfinite(lower) && upper > lower;
      if (within || !finite) {
        CHECK_CLOSE(G, within ? 1 / R : 0, 1e-14 / R);
        continue;
      }
      const double c = 0.5 * (lower + upper), b = 0.5 * (upper - lower), x = y - c;
      const double w = (next[r][i] - c) / fmax(b, fabs(next[r][i] - c));
      const double m = 0.5 * ((x > 0 ? 1 : -1) + w);
      CHECK_CLOSE(G, b / fabs(x) * (1 - m * m) / R, 1e-13 / R);
      CHECK(G >= 0 && G <= 1 / R);
      turned += G > 1e-12 / R;
    }
  }
  CHECK(turned > 10);
}

static void dual_gives_curvature_beyond_the_bounds(void) { on_every_set(compare_dual); }

static void break_rules(const struct sap_law_loops *loops, uint64_t *seed) {
  const double bad[] = {0, -1, NAN, INFINITY, 1e-320};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
    fill(loops, seed);
    pool.clamp.R[1][MOST - 1] = bad[k];
    CHECK_EQUAL(loops->derive(&pool, 0, MOST), 0);
  }
  fill(loops, seed);
  pool.clamp.lower[2][3] = pool.clamp.upper[2][3] = 0.5;
  pool.clamp.lower[2][3] = 0.6;
  CHECK_EQUAL(loops->derive(&pool, 0, MOST), 0);
  fill(loops, seed);
  pool.clamp.upper[0][64] = NAN;
  CHECK_EQUAL(loops->derive(&pool, 0, MOST), 0);
  fill(loops, seed);
  pool.v_hat[0][64] = -INFINITY;
  CHECK_EQUAL(loops->derive(&pool, 0, MOST), 0);
}

static void broken_rules_are_found(void) { on_every_set(break_rules); }

/* ---- what the law says about its own errors, in long double ---------------------------------- */

static struct points points;

static void impulse(const struct points *p, int32_t i, const double v_c[3], double gamma[3]) {
  for (int32_t r = 0, row = 3 * i; r < 3; ++r, ++row) {
    gamma[r] =
        sap_clamp_impulse((p->v_hat[row] - v_c[r]) / p->R[row], p->lower[row], p->upper[row]);
  }
}

/* Returns how far clamp(y + e) or clamp(y - e) is from gamma, where e covers the errors of v_c and
 * of y itself. */
static void bound(const struct points *p, int32_t i, const double gamma[3], const double reach[3],
                  double velocity_error, double impulse_error, long double bound[3]) {
  for (int32_t r = 0, row = 3 * i; r < 3; ++r, ++row) {
    const long double v_c = p->v[row], v_hat = p->v_hat[row], y = (v_hat - v_c) / p->R[row];
    const long double d = velocity_error * reach[r] + 4 * DBL_EPSILON * (fabsl(v_c) + fabsl(v_hat));
    const long double e = d / p->R[row] + 8 * DBL_EPSILON * fabsl(y);
    const long double lower = p->lower[row], upper = p->upper[row];
    const long double above = fminl(fmaxl(y + e, lower), upper);
    const long double below = fminl(fmaxl(y - e, lower), upper), at = gamma[r];
    bound[r] = fmaxl(above - at, at - below) + (long double)impulse_error * fabsl(at);
  }
}

static void bound_is_its_formula_and_holds(void) {
  const struct points_law law = {SAP_LAW_CLAMP, impulse, bound, 3};
  points_check_bound(&points, &law);
}

/* Returns |g| times the distance of gamma from its bounds, or from 0. */
static long double term(const struct points *p, int32_t i, const double v_c[3],
                        const double gamma[3]) {
  long double sum = 0;
  for (int32_t r = 0, row = 3 * i; r < 3; ++r, ++row) {
    const long double g = (long double)v_c[r] - p->v_hat[row] + (long double)p->R[row] * gamma[r];
    const long double distance =
        fminl(fminl((long double)gamma[r] - p->lower[row], (long double)p->upper[row] - gamma[r]),
              fabsl(gamma[r]));
    sum += fabsl(g) * distance;
  }
  return sum;
}

static void complementarity_adds_magnitudes(void) {
  points_check_complementarity(&points, SAP_LAW_CLAMP, term);
}

static const check_test tests[] = {
    CHECK_TEST(evaluation_is_the_law),
    CHECK_TEST(lines_follow_the_law),
    CHECK_TEST(dual_gives_curvature_beyond_the_bounds),
    CHECK_TEST(broken_rules_are_found),
    CHECK_TEST(bound_is_its_formula_and_holds),
    CHECK_TEST(complementarity_adds_magnitudes),
};
CHECK_FILE(test_clamp, tests);
