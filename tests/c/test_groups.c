/* Constraints of all kinds beside contacts: the cost and its derivatives against plain dense sums,
 * solutions against the conditions of a minimum, and every rule for a group by its name. */
#include <math.h>
#include <string.h>

#include "constraints/kinds.h"
#include "sap/solver.h"
#include "scene.h"

enum { GROUPS = 6, MOST_CONSTRAINTS = 12, MOST_ROWS = 6 * MOST_CONSTRAINTS };
enum { NV = SCENE_TREES * SCENE_MOST_NV };

/* one group of each kind, a second one of bilaterals, and an empty one */
static const sap_kind kinds[GROUPS] = {SAP_LIMIT,        SAP_BILATERAL, SAP_CONTROLLER,
                                       SAP_DRY_FRICTION, SAP_BILATERAL, SAP_LIMIT};

struct group {
  int32_t size[MOST_CONSTRAINTS], tree_a[MOST_CONSTRAINTS], tree_b[MOST_CONSTRAINTS];
  double J[MOST_ROWS * 2 * SCENE_MOST_NV];
  double R[MOST_ROWS], v_hat[MOST_ROWS], lower[MOST_ROWS], upper[MOST_ROWS];
  int32_t n_rows;
};

static struct scene scene;
static struct group group[GROUPS];
static sap_constraints constraints[GROUPS];
static int32_t tree_first[SCENE_TREES];

static void bounds_of(sap_kind kind, double *lower, double *upper, uint64_t *seed) {
  const double bound = check_random(seed, 0, 1);
  *upper = kind == SAP_LIMIT ? INFINITY : bound;
  *lower = kind == SAP_LIMIT ? 0 : -bound;
  if (kind == SAP_BILATERAL && check_random(seed, 0, 1) < 0.7) {
    *lower = -INFINITY;
    *upper = INFINITY;
  } else if (kind == SAP_BILATERAL && check_random(seed, 0, 1) < 0.5) {
    /* a cable under tension, or a row that cannot change at all */
    *lower = check_random(seed, 0, 1) < 0.3 ? bound : 0.5 * bound;
  }
}

static void make_group(int32_t g, int32_t n, int32_t n_trees, uint64_t *seed) {
  struct group *to = &group[g];
  double *J = to->J;
  to->n_rows = 0;
  for (int32_t i = 0; i < n; ++i) {
    /* often the same trees as before: rows of several constraints share a triple */
    const int again = i > 0 && check_random(seed, 0, 1) < 0.6;
    to->size[i] = kinds[g] == SAP_BILATERAL ? 1 + (int32_t)(check_random_bits(seed) % 6) : 1;
    to->tree_a[i] =
        again ? to->tree_a[i - 1] : (int32_t)(check_random_bits(seed) % (uint64_t)n_trees);
    to->tree_b[i] = again ? to->tree_b[i - 1]
                          : (int32_t)(check_random_bits(seed) % (uint64_t)(n_trees + 1)) - 1;
    if (to->tree_b[i] == to->tree_a[i]) {
      to->tree_b[i] = -1;
    }
    const int32_t b = to->tree_b[i];
    const int32_t width = scene.tree_nv[to->tree_a[i]] + (b < 0 ? 0 : scene.tree_nv[b]);
    for (int32_t k = 0; k < to->size[i] * width; ++k) {
      *J++ = check_random(seed, -1, 1);
    }
    for (int32_t r = 0; r < to->size[i]; ++r, ++to->n_rows) {
      const int32_t row = to->n_rows;
      to->R[row] = pow(10, check_random(seed, -4, 0));
      to->v_hat[row] = check_random(seed, -1, 1);
      bounds_of(kinds[g], &to->lower[row], &to->upper[row], seed);
    }
  }
  constraints[g] =
      (sap_constraints){kinds[g],   n,          kinds[g] == SAP_BILATERAL ? to->size : NULL,
                        to->tree_a, to->tree_b, to->J,
                        to->R,      to->v_hat,  to->lower,
                        to->upper};
}

static void make(int32_t n_trees, int32_t n_contacts, int32_t n, uint64_t *seed) {
  scene_make(&scene, n_trees, n_contacts, seed);
  for (int32_t g = 0; g < GROUPS; ++g) {
    make_group(g, g == GROUPS - 1 ? 0 : n, n_trees, seed);
  }
  scene.problem.n_groups = GROUPS;
  scene.problem.groups = constraints;
  REQUIRE(sap_problem_sizes(&scene.problem, &scene.sizes, NULL) == SAP_OK);
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

/* one row of J in all velocities */
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

/* J^T gamma and J^T G J of n rows */
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

/* |x|_A^2 */
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

/* the graph is kept, numbers are not */
static void numbers_may_change_while_the_graph_stays(void) {
  uint64_t seed = 84;
  static struct scene_outputs first, second, fresh;
  make(8, 10, 6, &seed);
  sap_solver *solver, *other;
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  REQUIRE(sap_solver_create(&other, NULL, NULL, NULL) == SAP_OK);
  sap_solution solution = scene_solution(&first);
  REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  for (int32_t g = 0; g < GROUPS; ++g) {
    for (int32_t i = 0; i < group[g].n_rows; ++i) {
      group[g].v_hat[i] += 0.5;
      group[g].R[i] *= 2;
    }
  }
  solution = scene_solution(&second);
  REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.symbolic_reused, 1);
  solution = scene_solution(&fresh);
  REQUIRE(sap_solver_solve(other, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK(memcmp(second.v, fresh.v, (size_t)scene.sizes.nv * sizeof(double)) == 0);
  CHECK(memcmp(second.v, first.v, (size_t)scene.sizes.nv * sizeof(double)) != 0);
  /* another group: another graph */
  scene.problem.n_groups = 2;
  solution = scene_solution(&second);
  REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  CHECK_EQUAL(solution.symbolic_reused, 0);
  sap_solver_destroy(solver);
  sap_solver_destroy(other);
}

/* one row or three make one triple: the graph is the same, the number of rows is not */
static void rows_are_counted_anew_where_the_graph_stays(void) {
  uint64_t seed = 87;
  static struct scene_outputs out;
  make(3, 8, 1, &seed);
  do {
    make_group(1, 1, 3, &seed);
  } while (group[1].size[0] < 3);
  scene.problem.n_groups = 1;
  scene.problem.groups = &constraints[1];
  sap_solver *kept, *fresh;
  REQUIRE(sap_solver_create(&kept, NULL, NULL, NULL) == SAP_OK);
  REQUIRE(sap_solver_create(&fresh, NULL, NULL, NULL) == SAP_OK);
  sap_solution solution = scene_solution(&out), expected = scene_solution(&out);
  group[1].size[0] = 1;
  REQUIRE(sap_solver_solve(kept, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  group[1].size[0] = 3;
  REQUIRE(sap_solver_solve(kept, &scene.problem, NULL, &solution, NULL) == SAP_OK);
  REQUIRE(sap_solver_solve(fresh, &scene.problem, NULL, &expected, NULL) == SAP_OK);
  CHECK_EQUAL(solution.symbolic_reused, 1);
  CHECK(solution.complementarity_error > 0);
  CHECK(solution.complementarity_error == expected.complementarity_error);
  sap_solver_destroy(kept);
  sap_solver_destroy(fresh);
}

/* What a solver knows of a graph must not be taken for what other constraints on the same trees
 * need. */
static void contacts_may_follow_rows_on_the_same_trees(void) {
  uint64_t seed = 84;
  static struct scene rows;
  scene_make(&rows, 1, 1, &seed);
  scene_make(&scene, 1, 2, &seed);
  const int32_t n = scene.tree_nv[0];
  rows.tree_nv[0] = n;
  memcpy(rows.A, scene.A, sizeof rows.A);
  const int32_t tree_a[1] = {0}, tree_b[1] = {-1};
  const double R[1] = {1e-3}, v_hat[1] = {0.1}, lower[1] = {0}, upper[1] = {INFINITY};
  const sap_constraints limit = {SAP_LIMIT, 1, NULL,  tree_a, tree_b,
                                 rows.J,    R, v_hat, lower,  upper};
  rows.problem.n_groups = 1;
  rows.problem.groups = &limit;
  sap_solver *solver = NULL, *fresh = NULL;
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  REQUIRE(sap_solver_create(&fresh, NULL, NULL, NULL) == SAP_OK);
  static struct scene_outputs outputs[2];
  sap_solution before = scene_solution(&outputs[0]);
  /* contacts beside the row: the next problem has one more and no row */
  const int32_t counts[2] = {0, 1};
  for (int k = 0; k < 2; ++k) {
    rows.problem.n_contacts = counts[k];
    scene.problem.n_contacts = counts[k] + 1;
    before.gamma = outputs[0].gamma;
    REQUIRE(sap_solver_solve(solver, &rows.problem, NULL, &before, NULL) == SAP_OK);
    sap_solution after = scene_solution(&outputs[0]), expected = scene_solution(&outputs[1]);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &after, NULL) == SAP_OK);
    REQUIRE(sap_solver_solve(fresh, &scene.problem, NULL, &expected, NULL) == SAP_OK);
    CHECK(memcmp(outputs[0].v, outputs[1].v, (size_t)n * sizeof(double)) == 0);
    CHECK(after.complementarity_error == expected.complementarity_error);
    CHECK(after.momentum_error == expected.momentum_error);
    CHECK(after.velocity_error_bound == expected.velocity_error_bound);
    REQUIRE(sap_solver_solve(solver, &rows.problem, NULL, &before, NULL) == SAP_OK);
    sap_error error = {0};
    const int32_t last = 3 * n * (counts[k] + 1) - 1;
    const double J_last = scene.J[last];
    scene.J[last] = NAN;
    CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &after, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "J");
    CHECK_EQUAL(error.index, last);
    scene.J[last] = J_last;
    REQUIRE(sap_solver_solve(solver, &rows.problem, NULL, &before, NULL) == SAP_OK);
    const double phi0[2] = {0}, stiffness[2] = {1e4, 1e4}, tau_d[2] = {0};
    double regularized[3][2];
    const sap_parameters parameters = {
        .dt = 0.01, .sigma = 1e-3, .beta = 1, .phi0 = phi0, .k = stiffness, .tau_d = tau_d};
    scene.problem.J = NULL;
    CHECK_EQUAL(sap_solver_solve_physical(solver, &scene.problem, &parameters, regularized[0],
                                          regularized[1], regularized[2], NULL, &after, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "J");
    scene.problem.J = scene.J;
  }
  sap_solver_destroy(solver);
  sap_solver_destroy(fresh);
}

/* from physical parameters in the solve, and before it */
static void a_solve_regularizes_contacts_and_groups(void) {
  uint64_t seed = 86;
  static struct scene_outputs first, second;
  static struct group before[GROUPS];
  static double values[SAP_MOST_PARAMETERS][MOST_ROWS];
  double phi0[6] = {0}, tau_d[6] = {0}, k[6] = {1e2, 1e3, 1e4, 1e5, 1e6, INFINITY}, out[3][6];
  const double *value[SAP_MOST_PARAMETERS];
  struct sap_group_regularization physical[GROUPS];
  for (int p = 0; p < SAP_MOST_PARAMETERS; ++p) {
    value[p] = values[p];
    for (int i = 0; i < MOST_ROWS; ++i) {
      values[p][i] = p + check_random(&seed, 0.1, 1);
    }
  }
  for (int delassus = 0; delassus < 2; ++delassus) {
    make(6, 6, 5, &seed);
    const sap_parameters contacts = {0.01, 1e-3, 1, (sap_delassus)delassus, phi0, k, tau_d, NULL};
    REQUIRE(sap_regularize(&scene.problem, &contacts, scene.R_t, scene.R_n, scene.v_hat_n, NULL,
                           NULL) == SAP_OK);
    for (int g = 0; g < GROUPS; ++g) {
      struct group *to = &group[g];
      physical[g] = (struct sap_group_regularization){
          {0.01, 1e-3, 0.1, (sap_delassus)delassus, value}, to->R, to->v_hat, to->lower, to->upper};
      REQUIRE(sap_regularize_group(&scene.problem, &constraints[g], &physical[g].parameters, to->R,
                                   to->v_hat, to->lower, to->upper, NULL, NULL) == SAP_OK);
    }
    sap_solver *solver;
    REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
    sap_solution solution = scene_solution(&first);
    REQUIRE(sap_solver_solve(solver, &scene.problem, NULL, &solution, NULL) == SAP_OK);
    memcpy(before, group, sizeof before);
    for (int g = 0; g < GROUPS; ++g) {
      memset(group[g].R, 0, sizeof(double) * (size_t)group[g].n_rows);
    }
    const struct sap_regularization all = {&contacts, out[0], out[1], out[2], physical};
    solution = scene_solution(&second);
    REQUIRE(sap_solver_solve_regularized(solver, &scene.problem, &all, NULL, &solution, NULL) ==
            SAP_OK);
    CHECK(memcmp(before, group, sizeof before) == 0);
    CHECK(memcmp(first.v, second.v, (size_t)scene.sizes.nv * sizeof(double)) == 0);
    /* bounds that the group has already are left alone */
    physical[2].lower = physical[2].upper = NULL;
    group[2].upper[0] = 1e-3;
    REQUIRE(sap_solver_solve_regularized(solver, &scene.problem, &all, NULL, &solution, NULL) ==
            SAP_OK);
    CHECK(group[2].upper[0] == 1e-3);
    values[0][1] = NAN;
    sap_error error;
    CHECK_EQUAL(sap_solver_solve_regularized(solver, &scene.problem, &all, NULL, &solution, &error),
                SAP_INVALID_ARGUMENT);
    CHECK(strcmp(error.argument, "phi0") == 0 && error.group == 0 && error.index == 1);
    values[0][1] = 0.5;
    sap_solver_destroy(solver);
  }
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void expect(const char *argument, int64_t index) {
  sap_error error = {0};
  sap_solver *solver;
  static struct scene_outputs out;
  sap_solution solution = scene_solution(&out);
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  CHECK_EQUAL(sap_solver_solve(solver, &scene.problem, NULL, &solution, &error),
              SAP_INVALID_ARGUMENT);
  CHECK(error.argument && strcmp(error.argument, argument) == 0);
  CHECK_EQUAL(error.index, index);
  CHECK_EQUAL(error.group, 1);
  CHECK_EQUAL(sap_problem_check(&scene.problem, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK(strcmp(error.argument, argument) == 0);
  sap_solver_destroy(solver);
}

#define BREAK(what, value, argument, index)      \
  {                                              \
    const struct group kept = group[1];          \
    const sap_constraints same = constraints[1]; \
    what = value;                                \
    expect(argument, index);                     \
    group[1] = kept;                             \
    constraints[1] = same;                       \
  }

static void every_rule_has_its_error(void) {
  uint64_t seed = 85;
  make(6, 4, 5, &seed);
  BREAK(constraints[1].kind, SAP_N_KINDS, "kind", -1)
  BREAK(constraints[1].n, -1, "n", -1)
  BREAK(constraints[1].tree_a, NULL, "tree_a", -1)
  BREAK(constraints[1].tree_b, NULL, "tree_b", -1)
  BREAK(constraints[1].J, NULL, "J", -1)
  BREAK(constraints[1].R, NULL, "R", -1)
  BREAK(constraints[1].v_hat, NULL, "v_hat", -1)
  BREAK(constraints[1].lower, NULL, "lower", -1)
  BREAK(constraints[1].upper, NULL, "upper", -1)
  BREAK(group[1].size[2], 7, "size", 2)
  BREAK(group[1].size[2], 0, "size", 2)
  BREAK(group[1].tree_a[1], 6, "tree_a", 1)
  BREAK(group[1].tree_b[1], -2, "tree_b", 1)
  BREAK(group[1].tree_b[1], group[1].tree_a[1], "tree_b", 1)
  BREAK(group[1].J[3], NAN, "J", 3)
  BREAK(group[1].R[2], 0, "R", 2)
  BREAK(group[1].R[2], INFINITY, "R", 2)
  BREAK(group[1].v_hat[4], INFINITY, "v_hat", 4)
  BREAK(group[1].lower[1] = group[1].upper[1] = 1; group[1].lower[1], 1.5, "lower", 1)
  BREAK(group[1].lower[1], NAN, "lower", 1)
  BREAK(group[1].upper[1] = INFINITY; group[1].lower[1], INFINITY, "lower", 1)
  BREAK(group[1].upper[1], NAN, "upper", 1)
  BREAK(group[1].upper[1], -INFINITY, "upper", 1)
  scene.problem.n_groups = -1;
  sap_error error;
  CHECK_EQUAL(sap_problem_check(&scene.problem, NULL, &error), SAP_INVALID_ARGUMENT);
  CHECK(strcmp(error.argument, "n_groups") == 0);
  CHECK_EQUAL(error.group, -1);
}

int main(int argc, char **argv) {
  const check_test tests[] = {
      CHECK_TEST(cost_and_derivatives_are_the_dense_sums),
      CHECK_TEST(differences_along_a_line_are_those_of_the_cost),
      CHECK_TEST(solutions_are_minima_within_their_bounds),
      CHECK_TEST(numbers_may_change_while_the_graph_stays),
      CHECK_TEST(rows_are_counted_anew_where_the_graph_stays),
      CHECK_TEST(contacts_may_follow_rows_on_the_same_trees),
      CHECK_TEST(a_solve_regularizes_contacts_and_groups),
      CHECK_TEST(every_rule_has_its_error),
  };
  return check_run(tests, CHECK_COUNT(tests), argc, argv);
}
