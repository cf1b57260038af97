/* Tests the certificate at any velocity: |g|_{A^-1} and | |L^-1| e | of whole and of reduced
 * trees, with dense and with diagonal blocks, against long double. */
#include <float.h>
#include <string.h>

#include "check.h"
#include "problem/problem_check.h"
#include "solver/certificate/certificate.h"
#include "solver/solver_object.h"
#include "problem_of.h"

enum { TREES = 7, MOST_NV = 20, CONTACTS = 24, NV = 71 };

static const int32_t sizes[TREES] = {6, 3, 20, 12, 9, 15, 6};

/* Blocks are dense or diagonal. The contacts move some velocities of wide trees, or all. */
static const int is_diagonal[TREES] = {0, 1, 0, 1, 0, 1, 1};
static const int is_reduced[TREES] = {0, 0, 1, 1, 0, 0, 0};

struct scene {
  sap_problem problem;
  int32_t first[TREES], tree_a[CONTACTS], tree_b[CONTACTS];
  double A[TREES * MOST_NV * MOST_NV], v_star[NV], v[NV], J[CONTACTS * 6 * MOST_NV];
  double *block[TREES]; /* blocks of A */
  double mu[CONTACTS], R_t[CONTACTS], R_n[CONTACTS], v_hat_n[CONTACTS];
};

static struct scene scene;

/* Makes A = B B^T + I, or its diagonal. */
static void make_mass(int32_t n, int diagonal, double *A, uint64_t *seed) {
  double B[MOST_NV * MOST_NV];
  for (int32_t i = 0; i < n * n; ++i) {
    B[i] = check_random(seed, -1, 1);
  }
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j <= i; ++j) {
      double sum = i == j;
      for (int32_t k = 0; k < n && (i == j || !diagonal); ++k) {
        sum += B[i * n + k] * B[j * n + k];
      }
      A[i * n + j] = A[j * n + i] = sum;
    }
  }
}

static double *make_rows(int32_t t, double *J, uint64_t *seed) {
  for (int32_t k = 0; k < 3 * sizes[t]; ++k) {
    *J++ = is_reduced[t] && k % sizes[t] % 3 == 1 ? 0 : check_random(seed, -1, 1);
  }
  return J;
}

/* Makes trees 0 to 4 in one island, 5 and 6 in another. */
static void make_scene(uint64_t seed) {
  double *A = scene.A, *J = scene.J;
  for (int32_t t = 0, first = 0; t < TREES; first += sizes[t++]) {
    scene.first[t] = first;
    scene.block[t] = A;
    make_mass(sizes[t], is_diagonal[t], A, &seed);
    A += sizes[t] * sizes[t];
  }
  for (int32_t i = 0; i < CONTACTS; ++i) {
    const int32_t a = scene.tree_a[i] = i % TREES, world = i % 4 == 3;
    const int32_t b = scene.tree_b[i] = world || a == 4 || a == 6 ? -1 : a + 1;
    J = make_rows(a, J, &seed);
    J = b < 0 ? J : make_rows(b, J, &seed);
    scene.mu[i] = check_random(&seed, 0, 1);
    scene.R_t[i] = check_random(&seed, 1e-3, 1e-2);
    scene.R_n[i] = check_random(&seed, 1e-2, 1e-1);
    scene.v_hat_n[i] = check_random(&seed, -0.1, 0.5);
  }
  for (int32_t i = 0; i < NV; ++i) {
    scene.v_star[i] = check_random(&seed, -1, 1);
    scene.v[i] = check_random(&seed, -1, 1);
  }
  scene.problem = PROBLEM_OF(&scene, sizes, TREES, CONTACTS);
}

/* The squares of |S g| and | |S| e | of one tree. */
struct norms {
  long double value, bound;
};

/* Adds the norms of one tree in long double, from the Cholesky factor L of A with its rows and
 * columns from the last to the first. */
static void add_norms(int32_t n, const double *A, const long double *g, const long double *e,
                      struct norms *norms) {
  long double L[MOST_NV][MOST_NV], S[MOST_NV][MOST_NV] = {{0}};
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = j; i < n; ++i) {
      long double sum = A[(n - 1 - i) * n + n - 1 - j];
      for (int32_t k = 0; k < j; ++k) {
        sum -= L[i][k] * L[j][k];
      }
      L[i][j] = i == j ? sqrtl(sum) : sum / L[j][j];
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    long double value = 0, bound = 0;
    for (int32_t j = 0; j <= i; ++j) {
      long double sum = i == j;
      for (int32_t k = j; k < i; ++k) {
        sum -= L[i][k] * S[k][j];
      }
      S[i][j] = sum / L[i][i];
      value += S[i][j] * g[n - 1 - j];
      bound += fabsl(S[i][j]) * e[n - 1 - j];
    }
    norms->value += value * value;
    norms->bound += bound * bound;
  }
}

/* Adds g and e of the tree at a position, as the certificate defines them. */
static void add_tree(const struct sap_workspace *w, int32_t node, const double *impulse_error,
                     struct norms *norms) {
  const int32_t t = w->plan->graph.node_tree[node], n = sizes[t],
                s = w->plan->graph.tree.node_scalar[node];
  const struct sap_reduced_tree *reduced = w->reduced[node];
  const long double u = DBL_EPSILON;
  const int dense = !is_diagonal[t] || reduced;
  long double g[MOST_NV], e[MOST_NV] = {0}, dw[MOST_NV];
  CHECK_EQUAL(reduced != NULL, is_reduced[t]);
  for (int32_t j = 0; j < n; ++j) {
    dw[j] = reduced ? reduced->dw[j] : w->dw[s + j];
    g[j] = reduced ? reduced->momentum[j] : w->gradient[s + j];
  }
  for (int32_t k = 0; k < (reduced ? reduced->n_t : n); ++k) {
    const int32_t j = reduced ? reduced->t[k] : k;
    g[j] = w->gradient[s + k];
    e[j] = impulse_error[s + k] + 4 * u * fabsl(w->momentum[s + k]) + u * fabsl(w->impulse[s + k]);
  }
  for (int32_t k = 0; k < n * n && dense; ++k) {
    e[k / n] += ((n + 2) * u + sap_asymmetry) * fabsl(scene.block[t][k] * dw[k % n]);
  }
  add_norms(n, scene.block[t], g, e, norms);
}

/* Returns |D error| with what is known before the trees are looked at. */
static long double scaled_error(const struct sap_workspace *w, const struct sap_island *island,
                                const double *impulse_error) {
  long double sum = 0;
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    const long double e = impulse_error[i] + 4 * (long double)DBL_EPSILON * fabsl(w->momentum[i]) +
                          (long double)DBL_EPSILON * fabsl(w->impulse[i]);
    sum += e * e * w->scale[i] * w->scale[i];
  }
  return sqrtl(sum);
}

static void check_island(struct sap_workspace *w, const struct sap_island *island, int at_minimum) {
  double impulse_error[NV];
  struct norms norms = {0, 0};
  sap_workspace_gather(w, island, scene.v, w->v);
  sap_verify(w, island, w->plan->friction);
  for (int32_t i = island->scalar_begin; at_minimum && i < island->scalar_end; ++i) {
    w->gradient[i] = 0; /* the bound then contains only round-off */
  }
  w->plan->jacobian_loops->bound_impulse(&w->J, island, &w->pool, w->reach, w->n_steps,
                                         impulse_error);
  const long double error = scaled_error(w, island, impulse_error);
  CHECK(fabsl(sap_bound_error(w, island) - error) <= 1e-12L * error);
  for (int32_t node = island->node_begin; node < island->node_end; ++node) {
    add_tree(w, node, impulse_error, &norms);
  }
  const long double bound = sqrtl(norms.value) + sqrtl(norms.bound);
  const double found = sqrt(sap_certificate(w, island));
  if (!CHECK(fabsl(found - bound) <= 1e-11L * bound)) {
    printf("    island %d: found %.17g, expected %.17Lg\n", (int)island->index, found, bound);
  }
}

/* Both norms are compared, and that of the errors alone, which are far below the gradient
 * elsewhere. */
static void bound_is_its_formula(void) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    make_scene(seed);
    sap_solver *solver = NULL;
    REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
    double v[NV], gamma[3 * CONTACTS];
    sap_solution solution = {.v = v, .gamma = gamma};
    /* a solve, not sap_solver_load(): reduces trees */
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
    CHECK_EQUAL(solution.n_islands, 2);
    struct sap_workspace *w = solver->work;
    for (int32_t i = 0; i < w->plan->graph.n_islands; ++i) {
      check_island(w, &w->plan->graph.island[i], 0);
      check_island(w, &w->plan->graph.island[i], 1);
    }
    sap_solver_destroy(solver);
  }
}

/* Returns |x - y|_A. */
static double distance(const double *x, const double *y) {
  double sum = 0;
  for (int32_t t = 0; t < TREES; ++t) {
    const int32_t n = sizes[t], s = scene.first[t];
    for (int32_t k = 0; k < n * n; ++k) {
      sum += scene.block[t][k] * (x[s + k / n] - y[s + k / n]) * (x[s + k % n] - y[s + k % n]);
    }
  }
  return sqrt(fmax(sum, 0));
}

/* The bounds of rough solutions hold, and say little more than they must. */
static void bounds_hold_for_rough_solutions(void) {
  make_scene(3);
  double v[2][NV], gamma[3 * CONTACTS], cost = 0, error = 0;
  for (int k = 0; k < 6; ++k) {
    sap_settings settings = sap_settings_default();
    settings.relative_tolerance = k == 0 ? 1e-14 : pow(10, -k);
    settings.max_iterations = k == 0 ? 100 : 6 - k;
    sap_solver *solver = NULL;
    sap_solution solution = {.v = v[k > 0], .gamma = gamma};
    REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
    REQUIRE(sap_solver_solve(solver, &scene.problem, scene.v, &solution, NULL) == SAP_OK);
    sap_solver_destroy(solver);
    if (k == 0) {
      cost = solution.cost;
      error = solution.velocity_error_bound;
      CHECK(error < 1e-9);
      continue;
    }
    const double off = distance(v[1], v[0]);
    CHECK(off <= solution.velocity_error_bound + error);
    CHECK(solution.cost - cost <= solution.cost_gap_bound + error * error);
    CHECK(solution.cost - cost >= 0.5 * off * off - 1e-12 * cost); /* strongly convex */
    CHECK_CLOSE(solution.cost_gap_bound, 0.5 * pow(solution.velocity_error_bound, 2),
                1e-15 * solution.cost_gap_bound);
  }
}

/* Results without bounds have the same bits. */
static void bounds_are_left_out_where_nobody_reads_them(void) {
  for (int islands = 0; islands < 2; ++islands) {
    make_scene(4);
    sap_settings settings = sap_settings_default();
    settings.friction = SAP_FRICTION_COULOMB;
    settings.islands = islands;
    sap_solver *solver = NULL;
    double v[2][NV], gamma[2][3 * CONTACTS];
    sap_solution found[2];
    REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
    for (int k = 0; k < 2; ++k) {
      found[k] = (sap_solution){.v = v[k], .gamma = gamma[k]};
      sap_solver_leave_bounds_out(solver, k);
      REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &found[k], NULL) == SAP_OK);
    }
    sap_solver_destroy(solver);
    CHECK(found[0].velocity_error_bound < 1e-3 && found[0].cost_gap_bound < 1e-3);
    CHECK(isfinite(found[0].complementarity_error));
    CHECK(isinf(found[1].velocity_error_bound) && isinf(found[1].cost_gap_bound));
    CHECK(isinf(found[1].complementarity_error));
    CHECK(found[0].momentum_error == found[1].momentum_error && found[0].cost == found[1].cost);
    CHECK(memcmp(v[0], v[1], sizeof v[0]) == 0);
    CHECK(memcmp(gamma[0], gamma[1], sizeof gamma[0]) == 0);
  }
}

static const check_test tests[] = {
    CHECK_TEST(bound_is_its_formula),
    CHECK_TEST(bounds_are_left_out_where_nobody_reads_them),
    CHECK_TEST(bounds_hold_for_rough_solutions),
};
CHECK_FILE(test_certificate, tests);
