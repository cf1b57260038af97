/* Tests constraints of all kinds beside contacts: the cost and its derivatives against plain dense
 * sums, and solutions against the conditions of a minimum. */
#include <math.h>
#include <string.h>

#include "groups.h"
#include "problem/triples.h"

enum { NV = SCENE_TREES * SCENE_MOST_NV };

static int32_t tree_first[SCENE_TREES];

static void make(int32_t n_trees, int32_t n_contacts, int32_t n, uint64_t *seed) {
  make_groups(n_trees, n_contacts, n, seed);
  for (int32_t t = 0, s = 0; t < n_trees; s += scene.tree_nv[t], ++t) {
    tree_first[t] = s;
  }
}

/* ---- the problem, densely -------------------------------------------------------------------- */

struct dense {
  double cost, gradient[NV], hessian[NV][NV];
  double gamma[MOST_ROWS * GROUPS];
};

static struct dense dense;

/* Writes one row of J over all velocities. */
static void spread(const double *J_a, int32_t a, const double *J_b, int32_t b, double row[NV]) {
  memset(row, 0, NV * sizeof *row);
  memcpy(row + tree_first[a], J_a, (size_t)scene.tree_nv[a] * sizeof *row);
  if (b >= 0) {
    memcpy(row + tree_first[b], J_b, (size_t)scene.tree_nv[b] * sizeof *row);
  }
}

static double dot(const double *x, const double *y, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}

/* Finds J^T gamma and J^T G J of n rows. */
static void add_rows(int32_t n, double rows[][NV], const double *gamma, const double *G) {
  const int64_t nv = scene.sizes.nv;
  for (int32_t r = 0; r < n; ++r) {
    for (int64_t i = 0; i < nv; ++i) {
      dense.gradient[i] -= rows[r][i] * gamma[r];
      for (int32_t c = 0; c < n; ++c) {
        for (int64_t j = 0; G[r * n + c] != 0 && j < nv; ++j) {
          dense.hessian[i][j] += rows[r][i] * G[r * n + c] * rows[c][j];
        }
      }
    }
  }
}

static void add_mass(const double *v) {
  const double *A = scene.A;
  for (int32_t t = 0; t < scene.problem.n_trees; ++t) {
    const int32_t n = scene.tree_nv[t], s = tree_first[t];
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        const double product = A[i * n + j] * (v[s + j] - scene.v_star[s + j]);
        dense.hessian[s + i][s + j] += A[i * n + j];
        dense.gradient[s + i] += product;
        dense.cost += 0.5 * product * (v[s + i] - scene.v_star[s + i]);
      }
    }
    A += n * n;
  }
}

static void add_contacts(const double *v) {
  const double *J = scene.J;
  static double rows[3][NV];
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    const int32_t a = scene.tree_a[i], b = scene.tree_b[i];
    const int32_t n_a = scene.tree_nv[a], n_b = b < 0 ? 0 : scene.tree_nv[b];
    const double v_hat[3] = {scene.v_hat_t[2 * i], scene.v_hat_t[2 * i + 1], scene.v_hat_n[i]};
    double y[3], gamma[3], G[9], cost;
    for (int32_t r = 0; r < 3; ++r) {
      spread(J + r * n_a, a, J + 3 * n_a + r * n_b, b, rows[r]);
      y[r] = (v_hat[r] - dot(rows[r], v, scene.sizes.nv)) / (r < 2 ? scene.R_t[i] : scene.R_n[i]);
    }
    sap_project(1, y, &scene.mu[i], &scene.R_t[i], &scene.R_n[i], 0, gamma, G, &cost, NULL);
    dense.cost += cost;
    add_rows(3, rows, gamma, G);
    J += 3 * (n_a + n_b);
  }
}

static void add_groups(const double *v) {
  static double row[1][NV];
  int32_t place = 0;
  for (int32_t g = 0; g < GROUPS; ++g) {
    const struct group *from = &group[g];
    const double *J = from->J;
    for (int32_t i = 0, first = 0; i < constraints[g].n; ++i) {
      const int32_t a = from->tree_a[i], b = from->tree_b[i], size = from->size[i];
      const int32_t n_a = scene.tree_nv[a], n_b = b < 0 ? 0 : scene.tree_nv[b];
      for (int32_t r = 0; r < size; ++r, ++first, ++place) {
        double G, cost;
        spread(J + r * n_a, a, J + size * n_a + r * n_b, b, row[0]);
        const double y = (from->v_hat[first] - dot(row[0], v, scene.sizes.nv)) / from->R[first];
        sap_clamp(1, &y, &from->R[first], &from->lower[first], &from->upper[first],
                  &dense.gamma[place], &G, &cost);
        dense.cost += cost;
        add_rows(1, row, &dense.gamma[place], &G);
      }
      J += size * (n_a + n_b);
    }
  }
}

static void evaluate_densely(const double *v) {
  memset(&dense, 0, sizeof dense);
  add_mass(v);
  add_contacts(v);
  add_groups(v);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void cost_and_derivatives_are_the_dense_sums(void) {
  uint64_t seed = 81;
  static double v[NV], gradient[NV], hessian[NV * NV], direction[NV];
  sap_solver *solver;
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  for (int trial = 0; trial < 20; ++trial) {
    make(2 + trial % 10, trial % 3 * 6, 1 + trial % MOST_CONSTRAINTS, &seed);
    const int64_t nv = scene.sizes.nv;
    for (int64_t i = 0; i < nv; ++i) {
      v[i] = check_random(&seed, -1, 1);
    }
    double cost;
    REQUIRE(sap_solver_evaluate(solver, &scene.problem, v, &cost, gradient, hessian, direction,
                                NULL) == SAP_OK);
    evaluate_densely(v);
    CHECK_CLOSE(cost, dense.cost, 1e-10 * (1 + fabs(dense.cost)));
    for (int64_t i = 0; i < nv; ++i) {
      const double size = sqrt(dense.hessian[i][i]);
      CHECK_CLOSE(gradient[i], dense.gradient[i], 1e-10 * (1 + size * size));
      double product = gradient[i]; /* H direction = -gradient */
      for (int64_t j = 0; j < nv; ++j) {
        const double scale = size * sqrt(dense.hessian[j][j]);
        CHECK_CLOSE(hessian[i * nv + j], dense.hessian[i][j], 1e-11 * scale);
        product += hessian[i * nv + j] * direction[j];
      }
      CHECK_CLOSE(product, 0, 1e-8 * (1 + size * size));
    }
  }
  sap_solver_destroy(solver);
}

static void differences_along_a_line_are_those_of_the_cost(void) {
  uint64_t seed = 82;
  static double v[NV], dv[NV], moved[NV], gradient[NV];
  sap_solver *solver;
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  for (int trial = 0; trial < 20; ++trial) {
    make(2 + trial % 10, trial % 3 * 6, 6, &seed);
    const int64_t nv = scene.sizes.nv;
    const double alpha = check_random(&seed, 0.01, 2);
    for (int64_t i = 0; i < nv; ++i) {
      v[i] = check_random(&seed, -1, 1);
      dv[i] = check_random(&seed, -1, 1);
      moved[i] = v[i] + alpha * dv[i];
    }
    double before, after, difference, slope, curvature;
    REQUIRE(sap_solver_evaluate(solver, &scene.problem, v, &before, NULL, NULL, NULL, NULL) ==
            SAP_OK);
    REQUIRE(sap_solver_evaluate(solver, &scene.problem, moved, &after, gradient, NULL, NULL,
                                NULL) == SAP_OK);
    REQUIRE(sap_solver_along_line(solver, &scene.problem, v, dv, 1, &alpha, &difference, &slope,
                                  &curvature, NULL) == SAP_OK);
    const double size = fabs(before) + fabs(after);
    CHECK_CLOSE(difference, after - before, 1e-12 * size);
    CHECK_CLOSE(slope, dot(gradient, dv, nv), 1e-10 * size);
    evaluate_densely(moved);
    double product = 0;
    for (int64_t i = 0; i < nv; ++i) {
      product += dv[i] * dot(dense.hessian[i], dv, nv);
    }
    CHECK_CLOSE(curvature, product, 1e-11 * product);
  }
  sap_solver_destroy(solver);
}

/* Returns |x|_A^2. */
static double energy(const double *x) {
  const double *A = scene.A;
  double sum = 0;
  for (int32_t t = 0; t < scene.problem.n_trees; ++t) {
    const int32_t n = scene.tree_nv[t];
    for (int32_t i = 0; i < n; ++i, A += n) {
      sum += x[tree_first[t] + i] * dot(A, x + tree_first[t], n);
    }
  }
  return sum;
}

static void solutions_are_minima_within_their_bounds(void) {
  uint64_t seed = 83;
  static struct scene_outputs out, tight_out;
  static double gamma[MOST_ROWS * GROUPS], v_c[MOST_ROWS * GROUPS], error[NV];
  for (int trial = 0; trial < 40; ++trial) {
    make(2 + trial % 12, trial % 4 * 5, 1 + trial % MOST_CONSTRAINTS, &seed);
    sap_settings settings = sap_settings_default();
    settings.islands = trial % 2;
    sap_solver *solver, *tight;
    REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
    settings.relative_tolerance = 1e-11;
    REQUIRE(sap_solver_create(&tight, &settings, NULL, NULL) == SAP_OK);
    sap_solution solution = scene_solution(&out), exact = scene_solution(&tight_out);
    solution.group_gamma = gamma;
    solution.group_v_c = v_c;
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
    REQUIRE(sap_solver_solve(tight, &scene.problem, NULL, &exact, NULL) == SAP_OK);
    CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
    CHECK_EQUAL(exact.outcome, SAP_CONVERGED);
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      error[i] = out.v[i] - tight_out.v[i];
    }
    const double bound = solution.velocity_error_bound + exact.velocity_error_bound;
    CHECK(sqrt(energy(error)) <= bound);
    CHECK(bound < 1e-3 * sqrt(energy(tight_out.v)));
    /* impulses are those of the returned velocity, row by row */
    evaluate_densely(out.v);
    for (int64_t i = 0; i < scene.sizes.n_rows; ++i) {
      CHECK_CLOSE(gamma[i], dense.gamma[i], 1e-9 * (1 + fabs(dense.gamma[i])));
    }
    CHECK(solution.complementarity_error < 1e-10);
    sap_solver_destroy(solver);
    sap_solver_destroy(tight);
  }
}

/* A solver that meets a problem again need not list its triples: any index that changes is seen. */
static void a_list_is_kept_while_its_indices_stay(void) {
  uint64_t seed = 41;
  const sap_allocator memory = sap_allocator_or_default(NULL);
  struct sap_triples triples = {0};
  sap_problem *problem = &scene.problem;
  const int8_t barrier[SCENE_CONTACTS] = {0};
  make(4, 6, 3, &seed);
  CHECK(!sap_triples_are_of(&triples, problem, SAP_FRICTION_COULOMB));
  REQUIRE(sap_triples_list(&triples, problem, &scene.sizes, SAP_FRICTION_COULOMB, &memory) ==
          SAP_OK);
  int32_t *const index[] = {scene.tree_nv + 3, scene.tree_a + 5,    scene.tree_b,
                            group[1].tree_a,   group[2].tree_b + 2, group[1].size};
  for (size_t k = 0; k < sizeof index / sizeof *index; ++k) {
    CHECK(sap_triples_are_of(&triples, problem, SAP_FRICTION_COULOMB));
    ++*index[k];
    CHECK(!sap_triples_are_of(&triples, problem, SAP_FRICTION_COULOMB));
    --*index[k];
  }
  CHECK(!sap_triples_are_of(&triples, problem, SAP_FRICTION_CONVEX));
  --problem->n_contacts;
  CHECK(!sap_triples_are_of(&triples, problem, SAP_FRICTION_COULOMB));
  ++problem->n_contacts;
  problem->barrier = barrier;
  CHECK(!sap_triples_are_of(&triples, problem, SAP_FRICTION_COULOMB));
  problem->barrier = NULL;
  CHECK(sap_triples_are_of(&triples, problem, SAP_FRICTION_COULOMB));
  sap_block_release(&triples.block, &memory);
}

static const check_test tests[] = {
    CHECK_TEST(a_list_is_kept_while_its_indices_stay),
    CHECK_TEST(cost_and_derivatives_are_the_dense_sums),
    CHECK_TEST(differences_along_a_line_are_those_of_the_cost),
    CHECK_TEST(solutions_are_minima_within_their_bounds),
};
CHECK_FILE(test_groups, tests);
