/* Tests R, v_hat and kappa from physical parameters against the formulas of section IX in long
 * double, and every rule by its name. */
#include <string.h>

#include "scene.h"

enum { N = SCENE_CONTACTS };

static struct scene scene;
static double phi0[N], k[N], tau_d[N], delta[N], R_t[N], R_n[N], v_hat_n[N], kappa[N];
static int8_t barrier[N];

/* Makes contacts of all stiffnesses: some are near-rigid, some are not. */
static sap_parameters make(int32_t n_trees, int32_t n_contacts, sap_delassus delassus,
                           uint64_t *seed) {
  scene_make(&scene, n_trees, n_contacts, seed);
  for (int32_t i = 0; i < n_contacts; ++i) {
    phi0[i] = check_random(seed, -1e-2, 1e-2);
    k[i] = i % 4 == 0 ? INFINITY : pow(10, check_random(seed, 0, 8));
    tau_d[i] = i % 3 == 0 ? 0 : check_random(seed, 0, 0.1);
    delta[i] = check_random(seed, 1e-4, 1e-2);
    barrier[i] = (int8_t)(i % 3);
  }
  scene.problem.barrier = barrier;
  return (sap_parameters){.dt = check_random(seed, 1e-3, 1e-2),
                          .sigma = check_random(seed, 1e-4, 1e-2),
                          .beta = check_random(seed, 0, 2),
                          .delassus = delassus,
                          .phi0 = phi0,
                          .k = k,
                          .tau_d = tau_d,
                          .delta = delta};
}

/* Solves x = A^-1 b by Gaussian elimination. */
static void solve(int32_t n, const double *A, const double *b, long double *x) {
  long double M[SCENE_MOST_NV][SCENE_MOST_NV + 1];
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      M[i][j] = A[i * n + j];
    }
    M[i][n] = b[i];
  }
  for (int32_t p = 0; p < n; ++p) {
    for (int32_t i = 0; i < n; ++i) {
      const long double factor = i == p ? 0 : M[i][p] / M[p][p];
      for (int32_t j = p; j <= n; ++j) {
        M[i][j] -= factor * M[p][j];
      }
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    x[i] = M[i][n] / M[i][i];
  }
}

/* Adds J A^-1 J^T to W, or that with the diagonal of A alone. */
static void add_block(int32_t t, const double *J, sap_delassus delassus, long double W[3][3]) {
  const double *A = scene.A;
  for (int32_t other = 0; other < t; ++other) {
    A += scene.tree_nv[other] * scene.tree_nv[other];
  }
  const int32_t n = scene.tree_nv[t];
  for (int c = 0; c < 3; ++c) {
    long double x[SCENE_MOST_NV];
    solve(n, A, J + c * n, x);
    for (int32_t j = 0; j < n; ++j) {
      x[j] = delassus == SAP_DELASSUS_BLOCK ? x[j] : (long double)J[c * n + j] / A[j * (n + 1)];
      for (int r = 0; r < 3; ++r) {
        W[r][c] += J[r * n + j] * x[j];
      }
    }
  }
}

/* Finds w = |W|_F/3 of every contact. */
static void find_masses(sap_delassus delassus, long double w[N]) {
  const double *J = scene.J;
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    const int32_t trees[2] = {scene.tree_a[i], scene.tree_b[i]};
    long double W[3][3] = {{0}}, sum = 0;
    for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
      add_block(trees[side], J, delassus, W);
      J += 3 * scene.tree_nv[trees[side]];
    }
    for (int e = 0; e < 9; ++e) {
      sum += W[e / 3][e % 3] * W[e / 3][e % 3];
    }
    w[i] = sqrtl(sum) / 3;
  }
}

static void contacts_follow_section_ix(void) {
  const long double pi = acosl(-1);
  uint64_t seed = 1;
  int32_t n_rigid = 0, n_soft = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const sap_delassus delassus = trial % 2 ? SAP_DELASSUS_DIAGONAL : SAP_DELASSUS_BLOCK;
    const sap_parameters p = make(1 + trial % 20, 1 + trial, delassus, &seed);
    long double w[N];
    find_masses(delassus, w);
    REQUIRE(sap_regularize(&scene.problem, &p, R_t, R_n, v_hat_n, NULL, NULL) == SAP_OK);
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      const long double time = (long double)p.dt + tau_d[i];
      const long double rigid = (long double)p.beta * p.beta / (4 * pi * pi) * w[i];
      const long double soft = 1 / (p.dt * k[i] * time), expected = fmaxl(rigid, soft);
      CHECK(fabsl(R_n[i] - expected) <= 1e-12L * expected);
      CHECK(fabsl(R_t[i] - p.sigma * w[i]) <= 1e-12L * p.sigma * w[i]);
      CHECK(fabsl(v_hat_n[i] + phi0[i] / time) <= 1e-15L * fabsl(phi0[i] / time));
      n_rigid += rigid > soft;
      n_soft += rigid < soft;
    }
  }
  CHECK(n_rigid > 50 && n_soft > 50);
}

/* Finds P_i of every contact for a change of the velocity. */
static void find_own_loads(const sap_parameters *p, long double load[N]) {
  const double *J = scene.J;
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    const int32_t trees[2] = {scene.tree_a[i], scene.tree_b[i]};
    load[i] = 0;
    for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
      const int32_t n = scene.tree_nv[trees[side]];
      int32_t v = 0;
      for (int32_t t = 0; t < trees[side]; ++t) {
        v += scene.tree_nv[t];
      }
      long double W[3][3] = {{0}}, sum = 0, a = 0;
      add_block(trees[side], J, p->delassus, W);
      for (int e = 0; e < 9; ++e) {
        sum += W[e / 3][e % 3] * W[e / 3][e % 3];
      }
      for (int32_t j = 0; j < n; ++j) {
        a += (long double)J[2 * n + j] * p->free_change[v + j];
      }
      const long double w_body = p->body_w ? p->body_w[2 * i + side] / 2 : 0;
      load[i] = fmaxl(load[i], -a / fmaxl(sqrtl(sum) / 3, w_body));
      J += 3 * n;
    }
  }
}

/* Finds the impulse of every contact that stops its free motion at the end of its gap. */
static void find_impacts(const sap_parameters *p, const long double w[N], double impact[N]) {
  const double *J = scene.J;
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    const int32_t trees[2] = {scene.tree_a[i], scene.tree_b[i]};
    double approach = fmin(0, -phi0[i] / (p->dt + tau_d[i]));
    for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
      const int32_t n = scene.tree_nv[trees[side]];
      int32_t v = 0;
      for (int32_t t = 0; t < trees[side]; ++t) {
        v += scene.tree_nv[t];
      }
      for (int32_t j = 0; j < n; ++j) {
        approach -= J[2 * n + j] * scene.v_star[v + j];
      }
      J += 3 * n;
    }
    impact[i] = fmax(0, approach) / (double)w[i];
  }
}

static int share_a_tree(int32_t i, int32_t j) {
  const int32_t *a = scene.tree_a, *b = scene.tree_b;
  return a[i] == a[j] || a[i] == b[j] || (b[i] >= 0 && (b[i] == a[j] || b[i] == b[j]));
}

/* The largest load of what can be reached from contact i over closed contacts: `load` becomes the
 * loads of islands in as many rounds as there are contacts. */
static void spread(long double load[N]) {
  const int32_t n = scene.problem.n_contacts;
  for (int32_t round = 0; round < n; ++round) {
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        if (phi0[i] <= 0 && phi0[j] <= 0 && share_a_tree(i, j)) {
          load[i] = fmaxl(load[i], load[j]);
        }
      }
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n && phi0[i] > 0; ++j) {
      if (phi0[j] <= 0 && share_a_tree(i, j)) {
        load[i] = fmaxl(load[i], load[j]);
      }
    }
  }
}

static void contacts_are_stiffer_under_a_load(void) {
  uint64_t seed = 5;
  int32_t n_stiffer = 0, n_same = 0, n_impacts = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const sap_delassus delassus = trial % 3 ? SAP_DELASSUS_BLOCK : SAP_DELASSUS_DIAGONAL;
    sap_parameters p = make(1 + trial % 12, 1 + trial % 30, delassus, &seed);
    double R_0[N], impact[N], change[SCENE_MOST_NV * SCENE_TREES], body_w[2 * N];
    long double w[N] = {0}, load[N];
    find_masses(p.delassus, w);
    REQUIRE(sap_regularize(&scene.problem, &p, R_t, R_0, v_hat_n, NULL, NULL) == SAP_OK);
    for (int i = 0; i < SCENE_MOST_NV * SCENE_TREES; ++i) {
      change[i] = check_random(&seed, -1, 1) * pow(10, check_random(&seed, -3, 2));
      scene.v_star[i] = check_random(&seed, -1, 1) * pow(10, check_random(&seed, -1, 2));
    }
    for (int i = 0; i < 2 * N; ++i) {
      body_w[i] = (double)w[i / 2] * pow(10, check_random(&seed, -2, 1));
    }
    p.free_change = change;
    p.load_speed = 0.05;
    p.body_w = trial % 2 ? body_w : NULL;
    find_own_loads(&p, load);
    spread(load);
    find_impacts(&p, w, impact);
    REQUIRE(sap_regularize(&scene.problem, &p, R_t, R_n, v_hat_n, NULL, NULL) == SAP_OK);
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      const double time = p.dt + tau_d[i];
      const double R_nr = (double)w[i] * p.beta * p.beta / 39.478417604357434;
      const double most = fmax((double)load[i], impact[i]);
      const double x = R_nr * most / p.load_speed, soft = 1 / (p.dt * k[i] * time);
      const double R = fmax(x > 1 ? R_nr * pow(x, -0.98) : R_nr, soft);
      CHECK_CLOSE(R_n[i], R, 1e-11 * R);
      CHECK(x > 1 || R_n[i] == R_0[i]);
      /* at rest under the load it is V_1 (dt + tau_d) x^0.02 deep */
      if (x > 1 && isinf(k[i])) {
        const double depth = R_n[i] * most * time;
        CHECK_CLOSE(depth, p.load_speed * time * pow(x, 0.02), 1e-10 * depth);
      }
      n_impacts += impact[i] > (double)load[i] && R_n[i] < R_0[i];
      n_stiffer += R_n[i] < R_0[i];
      n_same += R_n[i] == R_0[i];
    }
    /* an infinite speed stands for none */
    p.load_speed = INFINITY;
    REQUIRE(sap_regularize(&scene.problem, &p, R_t, R_n, v_hat_n, NULL, NULL) == SAP_OK);
    CHECK(memcmp(R_n, R_0, (size_t)scene.problem.n_contacts * sizeof *R_n) == 0);
  }
  CHECK(n_stiffer > 100 && n_same > 100 && n_impacts > 20);
}

/* R_t is that of sigma by the slip, and nothing else follows from the slip. */
static void sigma_follows_the_slip(void) {
  uint64_t seed = 7;
  sap_parameters p = make(5, 30, SAP_DELASSUS_BLOCK, &seed);
  double full[N], R_0[N], v_0[N], slip_ratio[N];
  REQUIRE(sap_regularize(&scene.problem, &p, full, R_0, v_0, NULL, NULL) == SAP_OK);
  for (int32_t i = 0; i < N; ++i) {
    slip_ratio[i] = i % 4 == 0 ? 0 : i % 4 == 1 ? INFINITY : pow(10, check_random(&seed, -5, 2));
  }
  p.slip_ratio = slip_ratio;
  REQUIRE(sap_regularize(&scene.problem, &p, R_t, R_n, v_hat_n, NULL, NULL) == SAP_OK);
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    const double share = fmax(1e-6 / p.sigma, fmin(1, slip_ratio[i]));
    CHECK_CLOSE(R_t[i], share * full[i], 1e-14 * full[i]);
    CHECK(R_n[i] == R_0[i] && v_hat_n[i] == v_0[i]);
  }
}

/* Rigid violated constraints are released with `release`; others do not change. */
static void violations_are_released(void) {
  uint64_t seed = 4;
  int32_t n_held = 0, n_deep = 0, n_free = 0;
  for (int trial = 0; trial < 40; ++trial) {
    sap_parameters p = make(1 + trial % 20, 1 + trial, SAP_DELASSUS_BLOCK, &seed);
    double R_0[N], v_0[N], release[N], body_w[2 * N];
    long double w[N] = {0};
    find_masses(p.delassus, w);
    REQUIRE(sap_regularize(&scene.problem, &p, R_t, R_0, v_0, NULL, NULL) == SAP_OK);
    for (int32_t i = 0; i < N; ++i) {
      release[i] = i % 5 == 0 ? INFINITY : pow(10, check_random(&seed, -2, 0));
      body_w[2 * i] = (double)w[i] * pow(10, check_random(&seed, -1, 1));
      body_w[2 * i + 1] = (double)w[i] * check_random(&seed, 0, 1);
    }
    p.release = release;
    p.body_w = trial % 2 ? body_w : NULL;
    REQUIRE(sap_regularize(&scene.problem, &p, R_t, R_n, v_hat_n, NULL, NULL) == SAP_OK);
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      const int held = v_0[i] > release[i] && isinf(k[i]);
      const long double heavier =
          p.body_w ? fmaxl(1, (body_w[2 * i] + (long double)body_w[2 * i + 1]) / w[i]) : 1;
      const long double R = heavier * R_0[i] * release[i] / v_0[i];
      if (held) {
        CHECK(v_hat_n[i] == release[i]);
        CHECK(fabsl(R_n[i] - R) <= 1e-12L * R);
        /* at rest it has the impulse of before, unless its bodies are lighter than the contact */
        const double rest = v_hat_n[i] / R_n[i] * (double)heavier;
        CHECK_CLOSE(rest, v_0[i] / R_0[i], 1e-12 * rest);
      } else {
        CHECK(v_hat_n[i] == v_0[i] && R_n[i] == R_0[i]);
      }
      n_held += held && v_0[i] < 0.5;
      n_deep += held && v_0[i] > 0.5;
      n_free += !held && v_0[i] > release[i];
    }
  }
  CHECK(n_held > 10 && n_deep > 10 && n_free > 10);
}

/* As kappa = (delta/(dt + tau_d))^2/R_n, the distance delta is s = 1. */
static void energies_are_those_of_the_depth(void) {
  uint64_t seed = 2;
  const sap_parameters p = make(5, 30, SAP_DELASSUS_BLOCK, &seed);
  REQUIRE(sap_barrier_energy(&scene.problem, &p, scene.R_n, kappa, NULL) == SAP_OK);
  for (int32_t i = 0; i < 30; ++i) {
    const long double speed = delta[i] / ((long double)p.dt + tau_d[i]);
    const long double expected = speed * speed / scene.R_n[i];
    CHECK(barrier[i] == SAP_BARRIER_NONE ? isinf(kappa[i])
                                         : fabsl(kappa[i] - expected) <= 1e-15L * expected);
  }
}

static void broken_rules_are_named(void) {
  uint64_t seed = 3;
  sap_error error;
  sap_parameters p = make(4, 6, SAP_DELASSUS_BLOCK, &seed);
  const sap_parameters good = p;
#define CHECK_REFUSED(change, name, at, call)                                      \
  do {                                                                             \
    const double saved[4] = {phi0[2], k[2], tau_d[2], delta[2]};                   \
    change;                                                                        \
    CHECK_EQUAL(call, SAP_INVALID_ARGUMENT);                                       \
    CHECK_STRING(error.argument, name);                                            \
    CHECK_EQUAL(error.index, at);                                                  \
    p = good;                                                                      \
    phi0[2] = saved[0], k[2] = saved[1], tau_d[2] = saved[2], delta[2] = saved[3]; \
  } while (0)
#define REGULARIZE sap_regularize(&scene.problem, &p, R_t, R_n, v_hat_n, NULL, &error)
#define ENERGY sap_barrier_energy(&scene.problem, &p, scene.R_n, kappa, &error)
  const double bad[] = {NAN, INFINITY, -1};
  for (size_t b = 0; b < CHECK_COUNT(bad); ++b) {
    CHECK_REFUSED(p.dt = bad[b], "dt", -1, REGULARIZE);
    CHECK_REFUSED(p.sigma = bad[b], "sigma", -1, REGULARIZE);
    CHECK_REFUSED(p.beta = bad[b], "beta", -1, REGULARIZE);
    CHECK_REFUSED(tau_d[2] = bad[b], "tau_d", 2, REGULARIZE);
    CHECK_REFUSED(p.dt = bad[b], "dt", -1, ENERGY);
    CHECK_REFUSED(tau_d[2] = bad[b], "tau_d", 2, ENERGY);
    CHECK_REFUSED(delta[2] = bad[b], "delta", 2, ENERGY);
  }
  CHECK_REFUSED(p.dt = 0, "dt", -1, REGULARIZE);
  CHECK_REFUSED(p.dt = 0, "dt", -1, ENERGY);
  CHECK_REFUSED(p.delta = NULL, "delta", -1, ENERGY);
  CHECK_REFUSED(p.tau_d = NULL, "tau_d", -1, ENERGY);
  CHECK_REFUSED(p.sigma = 0, "sigma", -1, REGULARIZE);
  CHECK_REFUSED(p.delassus = (sap_delassus)2, "delassus", -1, REGULARIZE);
  CHECK_REFUSED(k[2] = 0, "k", 2, REGULARIZE);
  CHECK_REFUSED(k[2] = NAN, "k", 2, REGULARIZE);
  CHECK_REFUSED(phi0[2] = NAN, "phi0", 2, REGULARIZE);
  CHECK_REFUSED(p.phi0 = NULL, "phi0", -1, REGULARIZE);
  CHECK_REFUSED(p.k = NULL, "k", -1, REGULARIZE);
  const double release[] = {1, INFINITY, 0, 1, 1, 1};
  CHECK_REFUSED(p.release = release, "release", 2, REGULARIZE);
  const double slip_ratio[] = {0, INFINITY, -1, 1, NAN, 1};
  CHECK_REFUSED(p.slip_ratio = slip_ratio, "slip_ratio", 2, REGULARIZE);
  const double body_w[] = {0, 1, NAN, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  CHECK_REFUSED(p.body_w = body_w, "body_w", 2, REGULARIZE);
  double change[SCENE_MOST_NV * SCENE_TREES] = {0};
  change[1] = NAN;
  CHECK_REFUSED((p.free_change = change, p.load_speed = 1), "free_change", 1, REGULARIZE);
  change[1] = 0;
  CHECK_REFUSED((p.free_change = change, p.load_speed = 0), "load_speed", -1, REGULARIZE);
  CHECK_REFUSED((p.free_change = change, p.load_speed = 1, scene.v_star[2] = NAN), "v_star", 2,
                REGULARIZE);
  CHECK_REFUSED(p.tau_d = NULL, "tau_d", -1, REGULARIZE);
  /* numbers that are fine by themselves, and overflow or vanish together */
  CHECK_REFUSED(k[2] = 1e-320, "k", 2, REGULARIZE);
  CHECK_REFUSED(p.beta = 1e200, "k", 0, REGULARIZE);
  CHECK_REFUSED(delta[2] = 1e-200, "delta", 2, ENERGY);
  CHECK_REFUSED(delta[2] = 0, "delta", 2, ENERGY);
  CHECK_EQUAL(REGULARIZE, SAP_OK);
  CHECK_EQUAL(ENERGY, SAP_OK);
#undef CHECK_REFUSED
  memset(scene.J, 0, sizeof scene.J);
  CHECK_EQUAL(REGULARIZE, SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "J");
  CHECK_EQUAL(error.kind, SAP_ERROR_CONSTRAINT);
  CHECK_EQUAL(error.index, 0);
}

static const check_test tests[] = {
    CHECK_TEST(contacts_follow_section_ix),      CHECK_TEST(contacts_are_stiffer_under_a_load),
    CHECK_TEST(sigma_follows_the_slip),          CHECK_TEST(violations_are_released),
    CHECK_TEST(energies_are_those_of_the_depth), CHECK_TEST(broken_rules_are_named),
};
CHECK_FILE(test_regularization, tests);
