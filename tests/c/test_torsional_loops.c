/* Tests the law of torsional and rolling friction, on every instruction set, for the convex cone
 * and with bounds, against its definition in long double, and the properties that the solver
 * needs. */
#include <float.h>
#include <math.h>

#include "check.h"
#include "constraints/laws.h"
#include "linalg/kernels/kernels.h"
#include "torsional.h"

enum { PAIRS = 97, PLACES = 2 * PAIRS };

static struct sap_pool pool;
static _Alignas(SAP_ALIGNMENT) unsigned char room[256 * 1024];

/* Returns a length of a size of its own, now and then 0. */
static double take_length(uint64_t *seed) {
  return check_random(seed, 0, 1) < 0.2 ? 0 : pow(10, check_random(seed, -3, 0));
}

static void fill(const struct sap_law_loops *loops, sap_friction friction, uint64_t *seed) {
  struct sap_arena arena = {room, 0};
  sap_permit(room, sizeof room);
  memset(room, 0xff, sizeof room);
  sap_pool_carve(&pool, &arena, PLACES, (const int8_t[SAP_N_LAWS]){[SAP_LAW_TORSIONAL] = 1});
  REQUIRE(arena.used <= sizeof room);
  pool.soft = 0;
  pool.friction = friction;
  for (int32_t i = 0; i < PLACES; i += 2) {
    const double mu = check_random(seed, 0.1, 1.5), R_t = pow(10, check_random(seed, -4, 0)),
                 R_n = pow(10, check_random(seed, -3, 1));
    for (int own = 0; own < 2; ++own) {
      pool.contact.mu[i + own] = mu;
      pool.contact.R_t[i + own] = R_t;
      pool.contact.R_n[i + own] = R_n;
      for (int r = 0; r < 3; ++r) {
        const double rate = own ? pow(10, check_random(seed, -1, 1)) : 1;
        pool.v_hat[r][i + own] = own ? 0 : check_random(seed, -0.3, 0.3);
        pool.v_c[r][i + own] = rate * check_random(seed, -1, 1);
        pool.dv_c[r][i + own] = rate * check_random(seed, -1, 1);
      }
    }
    pool.contact.bound[i] = i % 10 == 0 ? 0 : check_random(seed, 0, 2) / R_t;
    for (int r = 0; r < 3; ++r) {
      pool.torsional.scale[r][i] = take_length(seed) / mu;
    }
  }
  REQUIRE(loops->derive(&pool, 0, PLACES));
}

static struct exact_law law_of(int32_t i) {
  struct exact_law law = {.mu = pool.contact.mu[i],
                          .R_t = pool.contact.R_t[i],
                          .R_n = pool.contact.R_n[i],
                          .b = pool.contact.bound[i],
                          .cone = pool.friction == SAP_FRICTION_CONVEX};
  for (int r = 0; r < 3; ++r) {
    law.v_hat[r] = pool.v_hat[r][i];
    law.mu_k[r] = (long double)pool.torsional.scale[r][i] * pool.contact.mu[i];
  }
  return law;
}

/* Gathers the six rows of a pair. */
static void gather(int32_t i, double *const x[3], double x_c[6]) {
  for (int r = 0; r < 6; ++r) {
    x_c[r] = x[r % 3][i + r / 3];
  }
}

static void gather_G(int32_t i, double G[6][6]) {
  const int entry[9] = {SAP_G_11, SAP_G_12, SAP_G_1N, SAP_G_12, SAP_G_22,
                        SAP_G_2N, SAP_G_1N, SAP_G_2N, SAP_G_NN};
  for (int e = 0; e < 9; ++e) {
    const int r = e / 3, c = e % 3;
    G[r][c] = pool.G[entry[e]][i];
    G[3 + r][3 + c] = pool.G[entry[e]][i + 1];
    G[r][3 + c] = G[3 + c][r] = pool.torsional.cross[e][i];
  }
}

/* Returns the root of what a row counts in the norm of R. A row without friction counts as slip
 * does. */
static double root_of(int32_t i, int r) {
  const double scale = r < 3 ? 1 : pool.torsional.scale[r - 3][i];
  return sqrt(r == 2 ? pool.contact.R_n[i] : pool.contact.R_t[i]) / (scale > 0 ? scale : 1);
}

static void for_all_sets(void (*test)(const struct sap_law_loops *, sap_friction)) {
  for (int32_t set = 0; set < SAP_KERNEL_SETS; ++set) {
    for (int friction = 0; friction < 3 && sap_kernels_of(set); ++friction) {
      test(sap_laws[SAP_LAW_TORSIONAL]->loops[set], (sap_friction)friction);
    }
  }
}

/* ---- the law --------------------------------------------------------------------------------- */

static void check_law(const struct sap_law_loops *loops, sap_friction friction) {
  uint64_t seed = 91;
  int found[4] = {0};
  fill(loops, friction, &seed);
  const double sum = loops->evaluate(&pool, 0, PLACES);
  long double total = 0;
  for (int32_t i = 0; i < PLACES; i += 2) {
    /* G takes a bound that follows v as fixed */
    const struct exact_law law = law_of(i);
    double v_c[6], gamma[6], G[6][6];
    gather(i, pool.v_c, v_c);
    gather(i, pool.gamma, gamma);
    gather_G(i, G);
    const struct exact at = exact_impulse(&law, v_c), near = exact_evaluate(&law, v_c);
    total += at.cost;
    CHECK_EQUAL(pool.contact.region[i], at.region);
    ++found[at.region];
    const double size = sqrt(2 * (double)at.cost);
    for (int r = 0; r < 6; ++r) {
      CHECK_CLOSE(gamma[r] * root_of(i, r), (double)at.gamma[r] * root_of(i, r), 1e-13 * size);
      for (int c = 0; near.region && c < 6; ++c) {
        const double scale = root_of(i, r) * root_of(i, c);
        CHECK_CLOSE(G[r][c] * scale, (double)near.G[r][c] * scale, 1e-7);
      }
    }
  }
  CHECK_CLOSE(sum, (double)total, 1e-13 * (double)total);
  CHECK(found[SAP_STICTION] > 5 && found[SAP_SLIDING] > 5 && found[SAP_NO_CONTACT] > 5);
}

static void law_is_its_definition(void) { for_all_sets(check_law); }

/* Checks the conditions of a projection on the cone, or on a cylinder with |gamma_t| <= b and
 * friction of that size against any slip. */
static void check_conditions(const struct sap_law_loops *loops, sap_friction friction) {
  uint64_t seed = 92;
  fill(loops, friction, &seed);
  loops->evaluate(&pool, 0, PLACES);
  for (int32_t i = 0; i < PLACES; i += 2) {
    const double mu = pool.contact.mu[i], b = pool.contact.bound[i], gamma_n = pool.gamma[2][i];
    double gamma[6], g[6], friction2 = 0, slip2 = 0, power = 0, size = 0;
    gather(i, pool.gamma, gamma);
    gather(i, pool.v_c, g);
    for (int r = 0; r < 6; ++r) {
      const double mu_k = r < 3 ? mu : mu * pool.torsional.scale[r - 3][i];
      const double R = r == 2 ? pool.contact.R_n[i] : pool.contact.R_t[i] * pow(mu / mu_k, 2);
      if (mu_k == 0) {
        CHECK(gamma[r] == 0);
        continue;
      }
      g[r] += R * gamma[r] - (r < 3 ? pool.v_hat[r][i] : 0);
      size += fabs(g[r] * gamma[r]) + R * gamma[r] * gamma[r];
      if (r != 2) {
        friction2 += pow(gamma[r] / mu_k, 2);
        slip2 += pow(g[r] * mu_k, 2);
        power += g[r] * gamma[r];
      }
    }
    const double most = friction == SAP_FRICTION_CONVEX ? gamma_n : b / mu;
    CHECK(gamma_n >= 0 && sqrt(friction2) <= (1 + 1e-13) * most);
    if (friction == SAP_FRICTION_CONVEX) {
      CHECK(sqrt(slip2) <= g[2] + 1e-13 * (fabs(pool.v_c[2][i]) + size));
      CHECK_CLOSE(power + g[2] * gamma_n, 0, 1e-13 * size);
    } else {
      CHECK(g[2] >= -1e-13 * (fabs(pool.v_c[2][i]) + size));
      CHECK_CLOSE(g[2] * gamma_n, 0, 1e-13 * size);
      CHECK_CLOSE(power, -most * sqrt(slip2), 1e-13 * (size + most * sqrt(slip2)));
    }
    if (friction == SAP_FRICTION_COULOMB) {
      CHECK_CLOSE(b, mu * gamma_n, 1e-15 * b);
    }
  }
}

static void impulses_obey_the_conditions_of_a_projection(void) { for_all_sets(check_conditions); }

/* ---- along a line ---------------------------------------------------------------------------- */

static void check_line(const struct sap_law_loops *loops, sap_friction friction) {
  uint64_t seed = 93;
  if (friction == SAP_FRICTION_COULOMB) {
    return; /* lines are of costs, with bounds held */
  }
  fill(loops, friction, &seed);
  loops->evaluate(&pool, 0, PLACES);
  for (int32_t i = 0; i < PLACES; i += 2) {
    const struct exact_law law = law_of(i);
    const double alpha = check_random(&seed, 0, 1.5), tiny = 1e-13;
    double v_c[6], dv_c[6], slope, curvature, first, unused;
    gather(i, pool.v_c, v_c);
    gather(i, pool.dv_c, dv_c);
    const struct exact from = exact_impulse(&law, v_c);
    long double steepness = 0;
    for (int r = 0; r < 6; ++r) {
      steepness -= from.gamma[r] * dv_c[r];
      v_c[r] += alpha * dv_c[r];
    }
    const struct exact to = exact_evaluate(&law, v_c);
    long double product = 0, form = 0, size = 0;
    for (int r = 0; r < 6; ++r) {
      product -= to.gamma[r] * dv_c[r];
      size += fabsl(to.gamma[r] * dv_c[r]);
      for (int c = 0; c < 6; ++c) {
        form += dv_c[r] * to.G[r][c] * dv_c[c];
      }
    }
    loops->line(&pool, i, i + 2, alpha, &slope, &curvature);
    CHECK_CLOSE(slope, (double)product, 1e-13 * (double)size);
    const double stiffest = 6 * (1 / pool.contact.R_t[i] + 1 / pool.contact.R_n[i]);
    if (to.region) {
      CHECK_CLOSE(curvature, (double)form, 1e-6 * stiffest);
    }
    CHECK_CLOSE(sap_law_torsional.difference(&pool, i, i + 2, alpha), (double)(to.cost - from.cost),
                1e-13 * (double)(to.cost + from.cost));
    /* a tiny move: costs themselves would differ by round-off alone */
    loops->line(&pool, i, i + 2, 0, &first, &unused);
    CHECK_CLOSE(sap_law_torsional.difference(&pool, i, i + 2, tiny), tiny * (double)steepness,
                tiny * (1e-9 * fabs(first) + 10 * tiny * stiffest * 200));
  }
}

static void lines_are_those_of_the_cost(void) { for_all_sets(check_line); }

/* ---- Newton's method ------------------------------------------------------------------------- */

/* The dual has gamma' = gamma - (G + U) dv_c, and of its five slips the share of the bound that is
 * next. */
static void check_dual(const struct sap_law_loops *loops, sap_friction friction) {
  uint64_t seed = 90;
  fill(loops, friction, &seed);
  loops->evaluate(&pool, 0, PLACES);
  double columns[3][PLACES];
  double *const x_c[3] = {columns[0], columns[1], columns[2]};
  for (int r = 0; r < 3; ++r) {
    memcpy(x_c[r], pool.dv_c[r], sizeof columns[r]);
  }
  loops->couple(&pool, 0, PLACES, x_c);
  loops->predict(&pool, 0, PLACES);
  for (int32_t i = 0; i < PLACES; i += 2) {
    double G[6][6], next[6], dv_c[6], coupled[6], length2 = 0;
    gather_G(i, G);
    gather(i, pool.gamma, next);
    gather(i, pool.dv_c, dv_c);
    gather(i, x_c, coupled);
    for (int r = 0; r < 6; ++r) {
      next[r] -= coupled[r];
      for (int c = 0; c < 6; ++c) {
        next[r] -= G[r][c] * dv_c[c];
      }
      const double scale = r < 3 ? 1 : pool.torsional.scale[r - 3][i];
      next[r] = scale > 0 ? next[r] / scale : 0;
      length2 += r == 2 ? 0 : next[r] * next[r];
    }
    const double gamma_n = fmax(next[2], 0), held = pool.contact.bound[i];
    const double bound = friction == SAP_FRICTION_LAGGED ? held : pool.contact.mu[i] * gamma_n;
    const double most = fmax(bound, sqrt(length2));
    CHECK_CLOSE(pool.dual[2][i], gamma_n, 1e-12 * (gamma_n + most));
    for (int r = 0; r < 6; ++r) {
      const double share = most > 0 ? next[r] / most : 0;
      CHECK_CLOSE(pool.dual[r % 3][i + r / 3], r == 2 ? pool.dual[2][i] : share, 1e-11);
    }
  }
}

static void dual_is_the_law_at_the_full_step(void) { for_all_sets(check_dual); }

/* For any dual G is semidefinite, and at most as stiff across the slip as in stiction and along it
 * together. */
static void check_blend(const struct sap_law_loops *loops, sap_friction friction) {
  uint64_t seed = 94;
  fill(loops, friction, &seed);
  loops->evaluate(&pool, 0, PLACES);
  loops->predict(&pool, 0, PLACES);
  for (int32_t i = 0; i < PLACES; i += 2) {
    double w2 = 0;
    for (int r = 0; r < 5; ++r) {
      w2 += pow(pool.dual[r < 2 ? r : r - 2][r < 2 ? i : i + 1], 2);
    }
    CHECK(w2 <= 1 + 1e-13 && pool.dual[2][i] >= 0);
  }
  loops->blend(&pool, 0, PLACES);
  for (int32_t i = 0; i < PLACES; i += 2) {
    double G[6][6];
    gather_G(i, G);
    for (int k = 0; k < 50; ++k) {
      double x[6], norm = 0, form = 0;
      for (int r = 0; r < 6; ++r) {
        x[r] = check_random(&seed, -1, 1);
        norm += x[r] * x[r];
        x[r] *= root_of(i, r);
      }
      for (int r = 0; r < 6; ++r) {
        for (int c = 0; c < 6; ++c) {
          form += x[r] * G[r][c] * x[c];
        }
      }
      CHECK(form >= -1e-12 * norm && form <= (2 + 1e-12) * norm);
    }
  }
}

static void blended_hessians_lie_between_zero_and_stiction(void) { for_all_sets(check_blend); }

/* The dual of the last evaluation changes nothing: gamma' = gamma at dv_c = 0. */
static void check_fixed_point(const struct sap_law_loops *loops, sap_friction friction) {
  uint64_t seed = 95;
  fill(loops, friction, &seed);
  loops->evaluate(&pool, 0, PLACES);
  for (int r = 0; r < 3; ++r) {
    memset(pool.dv_c[r], 0, PLACES * sizeof(double));
  }
  double before[PAIRS][6][6];
  for (int32_t i = 0; i < PLACES; i += 2) {
    gather_G(i, before[i / 2]);
  }
  loops->predict(&pool, 0, PLACES);
  loops->blend(&pool, 0, PLACES);
  for (int32_t i = 0; i < PLACES; i += 2) {
    double G[6][6];
    gather_G(i, G);
    for (int r = 0; r < 6; ++r) {
      for (int c = 0; c < 6; ++c) {
        const double scale = root_of(i, r) * root_of(i, c);
        CHECK_CLOSE(scale * G[r][c], scale * before[i / 2][r][c], 1e-12);
      }
    }
  }
}

static void a_dual_that_is_right_changes_nothing(void) { for_all_sets(check_fixed_point); }

/* The derivative -dgamma/dv_c is G + U, where the bound follows v_c. */
static void check_coupling(const struct sap_law_loops *loops, sap_friction friction) {
  uint64_t seed = 96;
  const double h = 1e-6;
  fill(loops, friction, &seed);
  double above[PAIRS][6], change[PAIRS][6], columns[3][PLACES], departed[3][PLACES];
  double *const x_c[3] = {columns[0], columns[1], columns[2]};
  double *const away[3] = {departed[0], departed[1], departed[2]};
  for (int sign = 1; sign >= -1; sign -= 2) {
    for (int r = 0; r < 3; ++r) {
      for (int32_t i = 0; i < PLACES; ++i) {
        pool.v_c[r][i] += (sign == 1 ? 1 : -2) * h * pool.dv_c[r][i];
      }
    }
    loops->evaluate(&pool, 0, PLACES);
    for (int32_t i = 0; i < PLACES; i += 2) {
      double gamma[6];
      gather(i, pool.gamma, gamma);
      for (int r = 0; r < 6; ++r) {
        change[i / 2][r] = (above[i / 2][r] - gamma[r]) / (2 * h);
        above[i / 2][r] = gamma[r];
      }
    }
  }
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = 0; i < PLACES; ++i) {
      pool.v_c[r][i] += h * pool.dv_c[r][i];
      columns[r][i] = pool.dv_c[r][i];
    }
  }
  loops->evaluate(&pool, 0, PLACES);
  int32_t n = 0;
  for (int32_t i = 0; i < PLACES; i += 2) {
    const int slides = pool.contact.region[i] == SAP_SLIDING && pool.y[2][i] > 0;
    n += slides && friction == SAP_FRICTION_COULOMB;
  }
  CHECK_EQUAL(loops->couple(&pool, 0, PLACES, x_c), n);
  loops->depart(&pool, 0, PLACES, away);
  int compared = 0;
  for (int32_t i = 0; i < PLACES; i += 2) {
    double G[6][6], dv_c[6], coupled[6], gone[6], gamma[6], size = 0;
    gather_G(i, G);
    gather(i, pool.dv_c, dv_c);
    gather(i, pool.gamma, gamma);
    gather(i, x_c, coupled);
    gather(i, away, gone);
    struct exact_law law = law_of(i);
    law.cone = 0;
    law.b = fmaxl(0, law.mu * pool.y[2][i]);
    double v_c[6];
    gather(i, pool.v_c, v_c);
    const struct exact coulomb = exact_impulse(&law, v_c), near = exact_evaluate(&law, v_c);
    for (int r = 0; r < 6; ++r) {
      size += fabs(change[i / 2][r]) * root_of(i, r);
      CHECK_CLOSE((gamma[r] + gone[r]) * root_of(i, r), (double)coulomb.gamma[r] * root_of(i, r),
                  r == 2 ? INFINITY : 1e-13 * sqrt(2 * (double)coulomb.cost));
      CHECK(r != 2 || gone[r] == 0);
    }
    for (int r = 0; friction == SAP_FRICTION_COULOMB && near.region && r < 6; ++r) {
      double product = coupled[r];
      for (int c = 0; c < 6; ++c) {
        product += G[r][c] * dv_c[c];
      }
      ++compared;
      CHECK_CLOSE(-change[i / 2][r] * root_of(i, r), product * root_of(i, r), 1e-5 * (1 + size));
    }
  }
  CHECK(friction != SAP_FRICTION_COULOMB || compared > 300);
}

static void coupling_is_what_the_moving_bound_adds(void) { for_all_sets(check_coupling); }

/* ---- errors ---------------------------------------------------------------------------------- */

/* Velocities are off by as much as allowed, at random corners. */
static void check_bound(const struct sap_law_loops *loops, sap_friction friction) {
  static const double errors[] = {0, 30 * DBL_EPSILON, 1e-3};
  for (size_t k = 0; k < CHECK_COUNT(errors) && friction != SAP_FRICTION_COULOMB; ++k) {
    uint64_t seed = 97;
    double reach[PAIRS][6], found[PAIRS][6];
    fill(loops, friction, &seed);
    loops->evaluate(&pool, 0, PLACES);
    for (int32_t i = 0; i < PLACES; ++i) {
      for (int r = 0; r < 3; ++r) {
        pool.dv_c[r][i] = reach[i / 2][3 * (i % 2) + r] = check_random(&seed, 0, 2);
      }
    }
    sap_law_torsional.bound(&pool, 0, PLACES, errors[k], 1e-4);
    for (int32_t i = 0; i < PLACES; i += 2) {
      const struct exact_law law = law_of(i);
      double v_c[6], gamma[6], square = 0;
      gather(i, pool.dv_c, found[i / 2]);
      gather(i, pool.v_c, v_c);
      gather(i, pool.gamma, gamma);
      for (int r = 0; r < 6; ++r) {
        const double sizes = fabs(v_c[r]) + (r < 3 ? fabs(pool.v_hat[r][i]) : 0);
        const double d = errors[k] * reach[i / 2][r] + (r < 3 ? 4 : 8) * DBL_EPSILON * sizes;
        square += r > 2 && law.mu_k[r - 3] == 0 ? 0 : pow(d / root_of(i, r), 2);
      }
      for (int r = 0; r < 6; ++r) {
        const double share = r > 2 && law.mu_k[r - 3] == 0 ? 0 : sqrt(square) / root_of(i, r);
        const double expected = share + (16 * DBL_EPSILON + 1e-4) * fabs(gamma[r]);
        CHECK_CLOSE(found[i / 2][r], expected, 1e-11 * expected);
      }
      for (int trial = 0; trial < 20; ++trial) {
        double moved[6];
        for (int r = 0; r < 6; ++r) {
          const int sign = (int)(check_random_bits(&seed) % 3) - 1;
          moved[r] = v_c[r] + sign * errors[k] * reach[i / 2][r];
        }
        const struct exact at = exact_impulse(&law, moved);
        for (int r = 0; r < 6; ++r) {
          const double own = found[i / 2][r] - 1e-4 * fabs(gamma[r]);
          CHECK(fabsl(at.gamma[r] - gamma[r]) <= (1 + 1e-11) * own);
        }
      }
    }
  }
}

static void bound_is_its_formula_and_holds(void) { for_all_sets(check_bound); }

/* The sum is |g . gamma| over all rows; bounded friction counts apart, with b |g_t|. */
static void check_complementarity(const struct sap_law_loops *loops, sap_friction friction) {
  uint64_t seed = 98;
  fill(loops, friction, &seed);
  loops->evaluate(&pool, 0, PLACES);
  long double sum = 0;
  for (int32_t i = 0; i < PLACES; i += 2) {
    const struct exact_law law = law_of(i);
    long double along = 0, slip2 = 0, normal = 0;
    double v_c[6], gamma[6];
    for (int r = 0; r < 3; ++r) {
      pool.v_c[r][i] += check_random(&seed, -1, 1);
      pool.v_c[r][i + 1] += check_random(&seed, -1, 1);
    }
    gather(i, pool.v_c, v_c);
    gather(i, pool.gamma, gamma);
    for (int r = 0; r < 6; ++r) {
      const long double scale = r < 3 ? 1 : law.mu_k[r - 3] / law.mu;
      const long double R = r == 2 ? law.R_n : law.R_t;
      const long double v_hat = r < 3 ? law.v_hat[r] : 0;
      const long double g = scale * v_c[r] - v_hat + (scale > 0 ? R * gamma[r] / scale : 0);
      *(r == 2 ? &normal : &along) += scale > 0 ? g * gamma[r] / scale : 0;
      slip2 += r == 2 ? 0 : g * g;
    }
    sum += law.cone ? fabsl(normal + along) : fabsl(normal) + fabsl(along + law.b * sqrtl(slip2));
  }
  CHECK_CLOSE(sap_law_torsional.complementarity(&pool, 0, PLACES), (double)sum,
              1e-12 * (double)sum);
}

static void complementarity_adds_magnitudes(void) { for_all_sets(check_complementarity); }

/* The function derive() refuses the constants that sap_problem_check() refuses. */
static void check_rules(const struct sap_law_loops *loops, sap_friction friction) {
  static const double wrong[] = {-1, NAN, INFINITY, 1e200};
  uint64_t seed = 99;
  fill(loops, friction, &seed);
  for (size_t k = 0; k < CHECK_COUNT(wrong); ++k) {
    for (int r = 0; r < 3; ++r) {
      const double right = pool.torsional.scale[r][8];
      pool.torsional.scale[r][8] = wrong[k];
      CHECK(!loops->derive(&pool, 0, PLACES));
      pool.torsional.scale[r][8] = right;
    }
  }
  CHECK(loops->derive(&pool, 0, PLACES));
}

static void constants_keep_the_rules(void) { for_all_sets(check_rules); }

static const check_test tests[] = {
    CHECK_TEST(law_is_its_definition),
    CHECK_TEST(impulses_obey_the_conditions_of_a_projection),
    CHECK_TEST(lines_are_those_of_the_cost),
    CHECK_TEST(dual_is_the_law_at_the_full_step),
    CHECK_TEST(blended_hessians_lie_between_zero_and_stiction),
    CHECK_TEST(a_dual_that_is_right_changes_nothing),
    CHECK_TEST(coupling_is_what_the_moving_bound_adds),
    CHECK_TEST(bound_is_its_formula_and_holds),
    CHECK_TEST(complementarity_adds_magnitudes),
    CHECK_TEST(constants_keep_the_rules),
};
CHECK_FILE(test_torsional_loops, tests);
