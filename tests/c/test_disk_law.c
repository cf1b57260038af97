/* Tests the law of friction with a given bound, on every instruction set where it has loops,
 * against its formulas in long double. */
#include <float.h>
#include <math.h>

#include "check.h"
#include "constraints/laws/contact_law.h"
#include "constraints/laws/disk.h"
#include "linalg/kernels/kernels.h"

enum { MOST = 197 }; /* no multiple of a vector width, and several rounds */

static struct sap_pool pool;
static _Alignas(SAP_ALIGNMENT) unsigned char room[256 * 1024];

/* Contacts at random velocities: some without friction, some with no bound, some that slide at rest
 * or touch nothing. Bounds are of the size of |y_t|. */
static void fill(const struct sap_law_loops *loops, sap_friction friction, double soft_norm,
                 uint64_t *seed) {
  struct sap_arena arena = {room, 0};
  sap_pool_carve(&pool, &arena, MOST, (const int8_t[SAP_N_LAWS]){0});
  REQUIRE(arena.used <= sizeof room);
  pool.soft = soft_norm * soft_norm;
  pool.friction = friction;
  for (int32_t i = 0; i < MOST; ++i) {
    pool.contact.mu[i] = i % 7 ? check_random(seed, 0, 1.5) : 0;
    pool.contact.R_t[i] = pow(10, check_random(seed, -4, 0));
    pool.contact.R_n[i] = pow(10, check_random(seed, -3, 1));
    pool.contact.bound[i] = i % 5 ? check_random(seed, 0, 1.5) / pool.contact.R_t[i] : 0;
    for (int r = 0; r < 3; ++r) {
      pool.v_hat[r][i] = check_random(seed, -0.3, 0.3);
      pool.v_c[r][i] = check_random(seed, -1, 1);
      pool.dv_c[r][i] = check_random(seed, -1, 1);
    }
    /* small slips, which stick, or slide in the same direction after a step, or none */
    const double y_n = (pool.v_hat[2][i] - pool.v_c[2][i]) / pool.contact.R_n[i];
    const double reach = i % 11 == 3 ? 0 : 2 * pool.contact.mu[i] * fabs(y_n);
    for (int r = 0; r < 2 && i % 3 == 0; ++r) {
      pool.v_c[r][i] = pool.v_hat[r][i] + pool.contact.R_t[i] * check_random(seed, -reach, reach);
    }
  }
  REQUIRE(loops->derive(&pool, 0, MOST));
}

/* Calls test(loops, friction, soft norm) for every instruction set, with fixed and following
 * bounds. */
static void for_all_sets(void (*test)(const struct sap_law_loops *, sap_friction, double)) {
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    for (int k = 0; k < 4 && sap_kernels_of(set); ++k) {
      test(sap_laws[SAP_LAW_DISK]->loops[set], k % 2 ? SAP_FRICTION_COULOMB : SAP_FRICTION_LAGGED,
           k / 2 ? 0.3 : 0);
    }
  }
}

/* ---- the law by its formulas ----------------------------------------------------------------- */

struct exact {
  sap_region region;
  long double cost, gamma[3], y_r, t[2];
};

/* Evaluates the law at v_c + alpha dv_c, with bound b. */
static struct exact exact_at(int32_t i, long double alpha, long double b) {
  long double y[3];
  for (int r = 0; r < 3; ++r) {
    const long double v = pool.v_c[r][i] + alpha * pool.dv_c[r][i];
    y[r] = (pool.v_hat[r][i] - v) / (r < 2 ? pool.contact.R_t[i] : pool.contact.R_n[i]);
  }
  const long double R_t = pool.contact.R_t[i], y_n = y[2] > 0 ? y[2] : 0;
  const long double y_r = sqrtl(y[0] * y[0] + y[1] * y[1] + pool.soft);
  struct exact at = {.y_r = y_r, .gamma = {0, 0, y_n}};
  at.cost = pool.contact.R_n[i] * y_n * y_n / 2;
  if (b == 0 && y_n == 0) {
    at.region = SAP_NO_CONTACT;
    return at;
  }
  at.region = y_r <= b ? SAP_STICTION : SAP_SLIDING;
  at.cost += R_t * (y_r <= b ? y_r * y_r / 2 : b * (y_r - b / 2));
  for (int r = 0; r < 2; ++r) {
    at.t[r] = y_r > b ? y[r] / y_r : 0;
    at.gamma[r] = y_r <= b ? y[r] : b * y[r] / y_r;
  }
  return at;
}

/* Returns the bound of friction at the iterate: fixed, or mu gamma_n. */
static long double exact_bound(int32_t i) {
  const double y_n = (pool.v_hat[2][i] - pool.v_c[2][i]) / pool.contact.R_n[i];
  return pool.friction == SAP_FRICTION_LAGGED ? pool.contact.bound[i]
                                              : pool.contact.mu[i] * fmax(y_n, 0);
}

static int is_near(double found, long double expected, long double tolerance) {
  return CHECK_CLOSE(found, (double)expected, (double)tolerance);
}

static void check_law(const struct sap_law_loops *loops, sap_friction friction, double soft) {
  uint64_t seed = 91;
  int32_t count[4] = {0};
  long double total = 0;
  fill(loops, friction, soft, &seed);
  const double sum = loops->evaluate(&pool, 0, MOST);
  for (int32_t i = 0; i < MOST; ++i) {
    const long double b = exact_bound(i);
    const struct exact at = exact_at(i, 0, b);
    ++count[at.region];
    total += at.cost;
    CHECK_EQUAL(pool.contact.region[i], at.region);
    is_near(pool.contact.bound[i], b, 1e-14L * b);
    for (int r = 0; r < 3; ++r) {
      is_near(pool.gamma[r][i], at.gamma[r], 1e-13L * (at.y_r + at.gamma[2]));
    }
    /* I/R_t, or (b/(R_t y_r)) (I - t t^T), and 1/R_n */
    const long double inverse = 1 / (long double)pool.contact.R_t[i];
    const long double across = at.region == SAP_SLIDING    ? inverse * b / at.y_r
                               : at.region == SAP_STICTION ? inverse
                                                           : 0;
    const long double G[SAP_G_ENTRIES] = {
        across * (1 - at.t[0] * at.t[0]),
        -across * at.t[0] * at.t[1],
        across * (1 - at.t[1] * at.t[1]),
        0,
        0,
        at.gamma[2] > 0 ? 1 / (long double)pool.contact.R_n[i] : 0};
    for (int e = 0; e < SAP_G_ENTRIES; ++e) {
      is_near(pool.G[e][i], G[e], 1e-12L * (e == SAP_G_NN ? G[e] : inverse));
    }
  }
  is_near(sum, total, 1e-13L * total);
  CHECK(count[SAP_STICTION] > 10 && count[SAP_SLIDING] > 40 && count[SAP_NO_CONTACT] > 5);
}

static void law_is_its_formulas(void) { for_all_sets(check_law); }

/* The matrix G + U is the derivative of -gamma, bounds that follow v_n included. */
static void check_derivative(const struct sap_law_loops *loops, sap_friction friction,
                             double soft) {
  uint64_t seed = 92;
  const long double h = 0x1p-28L;
  int32_t coupled = 0, n = 0, smooth = 0;
  fill(loops, friction, soft, &seed);
  loops->evaluate(&pool, 0, MOST);
  /* U dv_c, where dv_c is left as it is */
  static double x[3][MOST];
  double *const x_c[3] = {x[0], x[1], x[2]};
  for (int32_t i = 0; i < MOST; ++i) {
    for (int r = 0; r < 3; ++r) {
      x[r][i] = pool.dv_c[r][i];
    }
  }
  const int32_t found = loops->couple(&pool, 0, MOST, x_c);
  for (int32_t i = 0; i < MOST; ++i) {
    const double mu = pool.contact.mu[i], R_n = pool.contact.R_n[i], dv_n = pool.dv_c[2][i];
    const double y_n = (pool.v_hat[2][i] - pool.v_c[2][i]) / R_n;
    const double step = (double)h * dv_n / R_n;
    const int follows = friction == SAP_FRICTION_COULOMB && y_n > 0;
    const long double b = exact_bound(i);
    const struct exact at = exact_at(i, 0, b);
    const struct exact below = exact_at(i, -h, follows ? mu * (y_n + step) : b);
    const struct exact above = exact_at(i, h, follows ? mu * (y_n - step) : b);
    const int slides = at.region == SAP_SLIDING && follows && mu > 0 && at.t[0] != 0;
    n += slides;
    CHECK_EQUAL(x[0][i] != 0, slides);
    CHECK(x[2][i] == 0);
    for (int r = 0; r < 2; ++r) {
      is_near(x[r][i], slides ? mu / R_n * at.t[r] * dv_n : 0, 1e-13L * mu / R_n);
    }
    const double longest = fmax(fabs(pool.dv_c[0][i]), fabs(pool.dv_c[1][i]));
    if (at.region != below.region || at.region != above.region ||
        h * longest > 1e-4L * at.y_r * pool.contact.R_t[i]) {
      continue; /* no smooth point, on this scale */
    }
    ++smooth;
    double next[3];
    sap_pool_linearize(&pool, i, next);
    for (int r = 0; r < 3; ++r) {
      const long double change = (above.gamma[r] - below.gamma[r]) / (2 * h);
      const long double size = fabsl(at.gamma[r]) + at.y_r / 100 + fabsl(change);
      is_near(next[r] - pool.gamma[r][i] - x[r][i], change, 1e-5L * size + 1e-3L);
    }
    coupled += slides;
  }
  CHECK_EQUAL(found, n);
  CHECK(smooth > MOST / 2);
  CHECK(friction == SAP_FRICTION_LAGGED ? coupled == 0 : coupled > 20);
}

static void derivative_is_that_of_the_impulse(void) { for_all_sets(check_derivative); }

/* ---- along a line ---------------------------------------------------------------------------- */

static void check_line(const struct sap_law_loops *loops, sap_friction friction, double soft) {
  static const double alphas[] = {1, 1e-3, 1e-9, 1e-15, -0.7};
  uint64_t seed = 93;
  int32_t crossed = 0;
  fill(loops, friction, soft, &seed);
  loops->evaluate(&pool, 0, MOST);
  for (int32_t i = 0; i < MOST; ++i) {
    const long double b = pool.contact.bound[i]; /* held along the line, whoever gave it */
    for (size_t k = 0; k < CHECK_COUNT(alphas); ++k) {
      const struct exact from = exact_at(i, 0, b), to = exact_at(i, alphas[k], b);
      double slope, curvature;
      loops->line(&pool, i, i + 1, alphas[k], &slope, &curvature);
      long double expected = 0, w_t2 = 0, along = 0;
      for (int r = 0; r < 3; ++r) {
        expected -= pool.dv_c[r][i] * to.gamma[r];
        w_t2 += r < 2 ? (long double)pool.dv_c[r][i] * pool.dv_c[r][i] : 0;
        along += r < 2 ? to.t[r] * pool.dv_c[r][i] : 0;
      }
      const long double y_t = to.y_r + from.y_r + to.gamma[2] + from.gamma[2];
      is_near(slope, expected, 1e-13L * y_t + 1e-18L / pool.contact.R_t[i]);
      if (from.region == to.region) {
        const long double R_t = pool.contact.R_t[i], R_n = pool.contact.R_n[i];
        const long double normal =
            to.gamma[2] > 0 ? (long double)pool.dv_c[2][i] * pool.dv_c[2][i] / R_n : 0;
        const long double tangential = to.region == SAP_STICTION ? w_t2 / R_t
                                       : to.region == SAP_SLIDING
                                           ? b / (R_t * to.y_r) * (w_t2 - along * along)
                                           : 0;
        is_near(curvature, normal + tangential, 1e-12L * (normal + w_t2 / R_t));
      }
      /* in proportion to the step, however short */
      const long double force = fabsl(expected) + y_t;
      crossed += from.region != to.region;
      is_near(sap_law_disk.difference(&pool, i, i + 1, alphas[k]), to.cost - from.cost,
              1e-14L * fabsl(alphas[k]) * force + 1e-18L * (force + from.cost + to.cost));
    }
  }
  CHECK(crossed > 20);
}

static void lines_are_those_of_the_cost(void) { for_all_sets(check_line); }

/* A step of one part in 1e9 across the bound, and one that ends on it: the difference of the costs
 * is known to its last digits, where that of two numbers would have seven. */
static void differences_do_not_cancel_at_the_bound(void) {
  const struct sap_contact c = sap_contact_make(0.5, 0.7, 2, 0, 0, 0, 0);
  for (int k = 0; k < 40; ++k) {
    const double y = 10 + k, b = y * (1 + 1e-9 * (k % 8) / 8), d = 1e-9 * y;
    const double dy[3] = {k % 2 ? d : -d, d / 3, 0};
    const struct sap_contact_state from = sap_disk_at_impulse(&c, b, k % 2 ? y : -y, 0, 1);
    const struct sap_contact_state to =
        sap_disk_at_impulse(&c, b, from.y[0] + dy[0], from.y[1] + dy[1], 1);
    long double cost[2];
    for (int end = 0; end < 2; ++end) {
      const long double y_1 = (long double)from.y[0] + (end ? dy[0] : 0), y_2 = end ? dy[1] : 0;
      const long double y_r = hypotl(y_1, y_2);
      cost[end] = y_r <= b ? y_r * y_r / 2 : b * (y_r - (long double)b / 2);
    }
    const long double expected = (long double)c.R_t * (cost[1] - cost[0]);
    CHECK(k % 8 == 0 || (from.sticks && to.slides));
    is_near(sap_disk_cost_difference(&c, b, &from, &to, dy), expected, 1e-9L * fabsl(expected));
    const double back[3] = {-dy[0], -dy[1], 0};
    is_near(sap_disk_cost_difference(&c, b, &to, &from, back), -expected, 1e-9L * fabsl(expected));
  }
}

/* ---- primal-dual friction -------------------------------------------------------------------- */

static void check_dual(const struct sap_law_loops *loops, sap_friction friction, double soft) {
  uint64_t seed = 94;
  int32_t slides = 0, stiff = 0;
  fill(loops, friction, soft, &seed);
  loops->evaluate(&pool, 0, MOST);
  loops->predict(&pool, 0, MOST);
  for (int32_t i = 0; i < MOST; ++i) {
    double next[3];
    sap_pool_linearize(&pool, i, next);
    const double mu = pool.contact.mu[i], R_n = pool.contact.R_n[i];
    const double follows = friction == SAP_FRICTION_COULOMB && pool.y[2][i] > 0;
    for (int r = 0; r < 2; ++r) {
      next[r] -= follows * mu / R_n * pool.contact.slip[r][i] * pool.dv_c[2][i];
    }
    const double gamma_n = fmax(next[2], 0);
    const double b = friction == SAP_FRICTION_COULOMB ? mu * gamma_n : pool.contact.bound[i];
    const double longest = fmax(b, hypot(next[0], next[1])), size = 1e-11 * (1 + longest);
    CHECK_CLOSE(pool.dual[2][i], gamma_n, 1e-12 * gamma_n);
    CHECK_CLOSE(longest * pool.dual[0][i], next[0], size);
    CHECK_CLOSE(longest * pool.dual[1][i], next[1], size);
    CHECK(hypot(pool.dual[0][i], pool.dual[1][i]) <= 1 + 1e-14);
  }
  /* G = (1/R_t) min((b + b')/(2 y_r), 1) (I - m m^T), m = (t + w)/2, where a contact slides */
  static double G[SAP_G_ENTRIES][MOST];
  for (int32_t k = 0; k < SAP_G_ENTRIES * MOST; ++k) {
    G[k / MOST][k % MOST] = pool.G[k / MOST][k % MOST];
  }
  loops->blend(&pool, 0, MOST);
  for (int32_t i = 0; i < MOST; ++i) {
    const double *t[2] = {&pool.contact.slip[0][i], &pool.contact.slip[1][i]};
    double expected[3] = {G[SAP_G_11][i], G[SAP_G_12][i], G[SAP_G_22][i]};
    if (hypot(*t[0], *t[1]) > 0) {
      const double b = pool.contact.bound[i];
      const double b_next =
          friction == SAP_FRICTION_COULOMB ? pool.contact.mu[i] * pool.dual[2][i] : b;
      const double share = (b + b_next) / (2 * (double)exact_at(i, 0, b).y_r);
      const double across = fmin(share, 1) / pool.contact.R_t[i];
      const double m[2] = {(*t[0] + pool.dual[0][i]) / 2, (*t[1] + pool.dual[1][i]) / 2};
      expected[0] = across * (1 - m[0] * m[0]);
      expected[1] = -across * m[0] * m[1];
      expected[2] = across * (1 - m[1] * m[1]);
      ++slides;
      stiff += share > 1;
    }
    const int entry[3] = {SAP_G_11, SAP_G_12, SAP_G_22};
    for (int e = 0; e < 3; ++e) {
      CHECK_CLOSE(pool.G[entry[e]][i], expected[e], 1e-12 / pool.contact.R_t[i]);
    }
    CHECK(pool.G[SAP_G_1N][i] == 0 && pool.G[SAP_G_2N][i] == 0);
    CHECK(pool.G[SAP_G_NN][i] == G[SAP_G_NN][i]);
  }
  CHECK(slides > 40 && (friction == SAP_FRICTION_LAGGED || stiff > 0));
}

static void duals_are_their_formulas(void) { for_all_sets(check_dual); }

/* ---- beside Newton's method ------------------------------------------------------------------ */

/* Coulomb's impulses minus the impulses with fixed bounds. */
static void check_departure(const struct sap_law_loops *loops, sap_friction friction, double soft) {
  uint64_t seed = 95;
  static double x[3][MOST];
  double *const gamma[3] = {x[0], x[1], x[2]};
  fill(loops, friction, soft, &seed);
  loops->evaluate(&pool, 0, MOST);
  loops->depart(&pool, 0, MOST, gamma);
  int32_t n = 0;
  for (int32_t i = 0; i < MOST; ++i) {
    const long double y_n = (pool.v_hat[2][i] - pool.v_c[2][i]) / (long double)pool.contact.R_n[i];
    const struct exact coulomb = exact_at(i, 0, pool.contact.mu[i] * fmaxl(y_n, 0));
    const struct exact held = exact_at(i, 0, pool.contact.bound[i]);
    for (int r = 0; r < 3; ++r) {
      is_near(x[r][i], coulomb.gamma[r] - held.gamma[r], 1e-13L * coulomb.y_r);
    }
    n += x[0][i] != 0;
  }
  CHECK(friction == SAP_FRICTION_COULOMB ? n == 0 : n > 100);
}

static void departures_are_those_of_coulombs_law(void) { for_all_sets(check_departure); }

/* The convex solves of coulomb.c use the convex law, to the last bit. */
static void convex_for_a_while_is_the_law_of_contacts(void) {
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    static double found[2][10][MOST], sums[2][4];
    for (int law = 0; law < 2 && sap_kernels_of(set); ++law) {
      const struct sap_law *row = sap_laws[law ? SAP_LAW_DISK : SAP_LAW_CONTACT];
      const struct sap_law_loops *loops = row->loops[set];
      uint64_t seed = 96;
      fill(sap_laws[SAP_LAW_CONTACT]->loops[set], SAP_FRICTION_CONVEX, 0.1, &seed);
      sums[law][0] = loops->evaluate(&pool, 0, MOST);
      loops->line(&pool, 0, MOST, 0.3, &sums[law][1], &sums[law][2]);
      sums[law][3] = row->difference(&pool, 0, MOST, 0.3) + row->complementarity(&pool, 0, MOST);
      loops->predict(&pool, 0, MOST);
      loops->blend(&pool, 0, MOST);
      for (int32_t i = 0; i < MOST; ++i) {
        found[law][9][i] = pool.contact.region[i];
        for (int r = 0; r < 3; ++r) {
          found[law][r][i] = pool.gamma[r][i];
          found[law][3 + r][i] = pool.dual[r][i];
          found[law][6 + r][i] = pool.G[r][i];
        }
      }
    }
    CHECK(memcmp(found[0], found[1], sizeof found[0]) == 0);
    CHECK(memcmp(sums[0], sums[1], sizeof sums[0]) == 0);
  }
}

/* The impulse changes by no more than its bound, for any errors of the velocity within theirs. */
static void bound_holds(void) {
  static const double errors[] = {1e-3, 1e-9};
  for (int k = 0; k < 4; ++k) {
    const struct sap_law_loops *loops = sap_laws[SAP_LAW_DISK]->loops[0];
    const sap_friction friction = k % 2 ? SAP_FRICTION_COULOMB : SAP_FRICTION_LAGGED;
    uint64_t seed = 97;
    fill(loops, friction, 0, &seed);
    loops->evaluate(&pool, 0, MOST);
    static double bound[3][MOST], reach[3][MOST];
    double most = 0;
    for (int32_t i = 0; i < MOST; ++i) {
      for (int r = 0; r < 3; ++r) {
        reach[r][i] = check_random(&seed, 0, 2);
        pool.dv_c[r][i] = reach[r][i];
      }
    }
    sap_law_disk.bound(&pool, 0, MOST, errors[k / 2], 1e-10);
    for (int32_t i = 0; i < MOST; ++i) {
      for (int r = 0; r < 3; ++r) {
        bound[r][i] = pool.dv_c[r][i];
      }
      const struct exact at = exact_at(i, 0, pool.contact.bound[i]);
      for (int corner = 0; corner < 27; ++corner) {
        const int sign[3] = {corner % 3 - 1, corner / 3 % 3 - 1, corner / 9 - 1};
        for (int r = 0; r < 3; ++r) {
          pool.dv_c[r][i] = sign[r] * errors[k / 2] * reach[r][i];
        }
        const struct exact moved = exact_at(i, 1, pool.contact.bound[i]);
        for (int r = 0; r < 3; ++r) {
          const double change = (double)fabsl(moved.gamma[r] - at.gamma[r]);
          CHECK(change <= bound[r][i] - 1e-10 * fabs(pool.gamma[r][i]));
          most = fmax(most, change / bound[r][i]);
        }
      }
    }
    CHECK(most > 0.5);
  }
}

/* The sum is |g_n gamma_n| + |g_t . gamma_t + b |g_t|| with g = v_c - v_hat + R gamma. */
static void complementarity_adds_magnitudes(void) {
  uint64_t seed = 98;
  const struct sap_law_loops *loops = sap_laws[SAP_LAW_DISK]->loops[0];
  fill(loops, SAP_FRICTION_LAGGED, 0, &seed);
  loops->evaluate(&pool, 0, MOST);
  double found = sap_law_disk.complementarity(&pool, 0, MOST);
  CHECK(found <= 1e-13 * loops->evaluate(&pool, 0, MOST)); /* the projection obeys the law */
  long double sum = 0;
  for (int32_t i = 0; i < MOST; ++i) {
    long double g[3];
    for (int r = 0; r < 3; ++r) {
      pool.v_c[r][i] += check_random(&seed, -1, 1);
      g[r] = (long double)pool.v_c[r][i] - pool.v_hat[r][i] +
             (r < 2 ? pool.contact.R_t[i] : pool.contact.R_n[i]) * pool.gamma[r][i];
    }
    sum +=
        fabsl(g[2] * pool.gamma[2][i]) + fabsl(g[0] * pool.gamma[0][i] + g[1] * pool.gamma[1][i] +
                                               pool.contact.bound[i] * hypotl(g[0], g[1]));
  }
  found = sap_law_disk.complementarity(&pool, 0, MOST);
  is_near(found, sum, 1e-13L * sum);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void bounds_keep_the_rules(void) {
  static const struct {
    double bound;
    int valid;
  } cases[] = {{0, 1}, {1e300, 1}, {NAN, 1}, {-1e-300, 0}, {INFINITY, 0}, {-INFINITY, 0}};
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    for (size_t k = 0; k < CHECK_COUNT(cases) && sap_kernels_of(set); ++k) {
      const struct sap_law_loops *loops = sap_laws[SAP_LAW_DISK]->loops[set];
      uint64_t seed = 99;
      fill(loops, SAP_FRICTION_LAGGED, 0, &seed);
      pool.contact.bound[k * 37] = cases[k].bound;
      CHECK_EQUAL(loops->derive(&pool, 0, MOST), cases[k].valid);
      pool.contact.bound[k * 37] = 0;
      pool.contact.R_n[MOST - 1] = 0;
      CHECK_EQUAL(loops->derive(&pool, 0, MOST), 0);
    }
  }
}

static void contacts_are_claimed_where_friction_is_not_convex(void) {
  const sap_problem problem = {.n_contacts = 3};
  int32_t law[3] = {-1, -1, -1};
  CHECK_EQUAL(sap_law_disk.claim(&problem, SAP_FRICTION_CONVEX, law), 0);
  CHECK_EQUAL(law[0] + law[1] + law[2], -3);
  CHECK_EQUAL(sap_law_disk.claim(&problem, SAP_FRICTION_LAGGED, NULL), 3);
  CHECK_EQUAL(sap_law_disk.claim(&problem, SAP_FRICTION_COULOMB, law), 3);
  CHECK(law[0] == SAP_LAW_DISK && law[1] == SAP_LAW_DISK && law[2] == SAP_LAW_DISK);
}

static const check_test tests[] = {
    CHECK_TEST(law_is_its_formulas),
    CHECK_TEST(derivative_is_that_of_the_impulse),
    CHECK_TEST(lines_are_those_of_the_cost),
    CHECK_TEST(differences_do_not_cancel_at_the_bound),
    CHECK_TEST(duals_are_their_formulas),
    CHECK_TEST(departures_are_those_of_coulombs_law),
    CHECK_TEST(convex_for_a_while_is_the_law_of_contacts),
    CHECK_TEST(bound_holds),
    CHECK_TEST(complementarity_adds_magnitudes),
    CHECK_TEST(bounds_keep_the_rules),
    CHECK_TEST(contacts_are_claimed_where_friction_is_not_convex),
};
CHECK_FILE(test_disk_law, tests);
