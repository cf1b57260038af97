/* Compares the problem without velocities that no contact moves with the whole one. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "problem/problem_check.h"
#include "solver/solver_object.h"
#include "problem_of.h"

enum { TREES = 8, MOST_NV = 20, CONTACTS = 16, MOST = TREES * MOST_NV };

/* Trees have many velocities and most contacts far down the tree: many columns of J are zero. */
struct robots {
  sap_problem problem;
  sap_sizes sizes;
  int32_t tree_nv[TREES], tree_a[CONTACTS], tree_b[CONTACTS];
  double A[TREES * MOST_NV * MOST_NV], v_star[MOST], v_guess[MOST];
  double J[CONTACTS * 6 * MOST_NV];
  double mu[CONTACTS], R_t[CONTACTS], R_n[CONTACTS], v_hat_n[CONTACTS];
};

struct outputs {
  double v[MOST], gamma[3 * CONTACTS];
};

static struct robots robots, others;
static struct outputs reduced, whole;

/* Makes A = B B^T + n I, scaled by rows and columns: inertias differ by orders of magnitude. */
static void make_mass(int32_t n, double *A, uint64_t *seed) {
  double B[MOST_NV * MOST_NV], scale[MOST_NV];
  for (int32_t i = 0; i < n * n; ++i) {
    B[i] = check_random(seed, -1, 1);
  }
  for (int32_t i = 0; i < n; ++i) {
    scale[i] = pow(10, check_random(seed, -1, 1));
  }
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j <= i; ++j) {
      double sum = i == j ? 0.1 * n : 0;
      for (int32_t k = 0; k < n; ++k) {
        sum += B[i * n + k] * B[j * n + k];
      }
      A[i * n + j] = A[j * n + i] = scale[i] * sum * scale[j];
    }
  }
}

/* Returns 0 where no contact moves velocity j of tree t, which is the same in every problem of one
 * share. */
static int moves(int32_t t, int32_t j, double share) {
  uint64_t state = (uint64_t)(1000 * t + j);
  return check_random(&state, 0, 1) < share;
}

/* A `share` of the columns of J are not zero. */
static void make_robots(struct robots *r, int32_t n_trees, int32_t n_contacts, double share,
                        uint64_t *seed) {
  double *A = r->A;
  for (int32_t t = 0; t < n_trees; ++t) {
    const int32_t n = r->tree_nv[t] = 1 + (int32_t)(check_random_bits(seed) % MOST_NV);
    make_mass(n, A, seed);
    A += n * n;
  }
  for (int32_t i = 0; i < n_contacts; ++i) {
    r->tree_a[i] = (int32_t)(check_random_bits(seed) % (uint64_t)n_trees);
    r->tree_b[i] = (int32_t)(check_random_bits(seed) % (uint64_t)(n_trees + 1)) - 1;
    r->tree_b[i] = r->tree_b[i] == r->tree_a[i] ? -1 : r->tree_b[i];
    r->mu[i] = check_random(seed, 0, 1);
    r->R_t[i] = check_random(seed, 1e-2, 1e-1);
    r->R_n[i] = check_random(seed, 1e-2, 1);
    r->v_hat_n[i] = check_random(seed, -0.1, 0.5);
  }
  r->problem = PROBLEM_OF(r, r->tree_nv, n_trees, n_contacts);
  sap_problem_sizes(&r->problem, &r->sizes, NULL);
  for (int64_t i = 0; i < r->sizes.nv; ++i) {
    r->v_star[i] = check_random(seed, -1, 1);
    r->v_guess[i] = check_random(seed, -1, 1);
  }
  double *J = r->J;
  for (int32_t i = 0; i < n_contacts; ++i) {
    const int32_t sides[2] = {r->tree_a[i], r->tree_b[i]};
    for (int s = 0; s < 2 && sides[s] >= 0; ++s) {
      for (int32_t k = 0; k < 3 * r->tree_nv[sides[s]]; ++k, ++J) {
        *J = check_random(seed, -1, 1) * moves(sides[s], k % r->tree_nv[sides[s]], share);
      }
    }
  }
}

/* Puts entries in their place that are too small to matter, and not zero: nothing is eliminated. */
static void fill_zeros(struct robots *r) {
  for (int64_t i = 0; i < r->sizes.nJ; ++i) {
    r->J[i] = r->J[i] == 0 ? 1e-300 : r->J[i];
  }
}

static sap_solver *make(double tolerance) {
  sap_settings settings = sap_settings_default();
  settings.relative_tolerance = tolerance;
  sap_solver *solver = NULL;
  CHECK_EQUAL(sap_solver_create(&solver, &settings, NULL, NULL), SAP_OK);
  return solver;
}

static sap_solution solve(sap_solver *solver, const struct robots *r, struct outputs *o) {
  sap_solution solution = {.v = o->v, .gamma = o->gamma};
  CHECK_EQUAL(sap_solver_solve(solver, &r->problem, r->v_guess, &solution, NULL), SAP_OK);
  return solution;
}

static int32_t n_scalars(const sap_solver *solver) { return solver->plan.graph.tree.n_scalars; }

/* Returns |x - y|_A over all trees. */
static double distance(const struct robots *r, const double *x, const double *y) {
  const double *A = r->A;
  double sum = 0;
  for (int32_t t = 0; t < r->problem.n_trees; ++t) {
    const int32_t n = r->tree_nv[t];
    for (int32_t i = 0; i < n * n; ++i) {
      sum += (x[i / n] - y[i / n]) * A[i] * (x[i % n] - y[i % n]);
    }
    A += n * n;
    x += n;
    y += n;
  }
  return sqrt(fmax(sum, 0));
}

/* Returns e_m (24) of the outputs over the trees that a contact touches, from the arrays of the
 * problem. */
static double momentum_error(const struct robots *r, const struct outputs *o) {
  double impulse[MOST] = {0}, gradient = 0, momenta = 0, impulses = 0;
  int64_t first[TREES + 1] = {0};
  int touched[TREES] = {0};
  for (int32_t t = 0; t < r->problem.n_trees; ++t) {
    first[t + 1] = first[t] + r->tree_nv[t];
  }
  const double *J = r->J;
  for (int32_t i = 0; i < r->problem.n_contacts; ++i) {
    const int32_t sides[2] = {r->tree_a[i], r->tree_b[i]};
    for (int s = 0; s < 2 && sides[s] >= 0; ++s) {
      const int32_t n = r->tree_nv[sides[s]];
      touched[sides[s]] = 1;
      for (int32_t k = 0; k < 3 * n; ++k) {
        impulse[first[sides[s]] + k % n] += *J++ * o->gamma[3 * i + k / n];
      }
    }
  }
  const double *A = r->A;
  for (int32_t t = 0; t < r->problem.n_trees; ++t) {
    const int32_t n = r->tree_nv[t];
    for (int32_t i = 0; i < n; ++i, A += n) {
      double momentum = 0, change = 0;
      for (int32_t j = 0; j < n; ++j) {
        momentum += A[j] * o->v[first[t] + j];
        change += A[j] * (o->v[first[t] + j] - r->v_star[first[t] + j]);
      }
      const double D2 = touched[t] / A[i], j = impulse[first[t] + i];
      gradient += D2 * (change - j) * (change - j);
      momenta += D2 * momentum * momentum;
      impulses += D2 * j * j;
    }
  }
  return sqrt(gradient / fmax(momenta, impulses));
}

/* Results have the same v, impulses and e_m with and without reduction; the bound of a rough
 * solution holds. */
static void reduced_and_whole_problems_agree(void) {
  uint64_t seed = 70;
  int32_t n_eliminated = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const uint64_t before = seed;
    make_robots(&robots, 1 + trial % TREES, 1 + trial % CONTACTS, 0.1 * (trial % 11), &seed);
    sap_solver *tight = make(1e-12), *rough = make(1e-2);
    const sap_solution exact = solve(tight, &robots, &reduced);
    const int32_t scalars = n_scalars(tight);
    CHECK(exact.momentum_error <= 1e-12);
    CHECK_CLOSE(exact.momentum_error, momentum_error(&robots, &reduced), 1e-13);
    others = robots;
    others.problem.J = others.J;
    fill_zeros(&others);
    const sap_solution reference = solve(tight, &others, &whole);
    CHECK(scalars <= n_scalars(tight));
    n_eliminated += n_scalars(tight) - scalars;
    CHECK_EQUAL(exact.n_islands, reference.n_islands);
    const int same = CHECK_ALL_CLOSE(reduced.v, whole.v, robots.sizes.nv, 1e-9) &&
                     CHECK_CLOSE(exact.cost, reference.cost, 1e-10 * reference.cost);
    CHECK(distance(&robots, reduced.v, whole.v) <=
          exact.velocity_error_bound + reference.velocity_error_bound);
    const sap_solution first = solve(rough, &robots, &reduced);
    CHECK_CLOSE(first.momentum_error, momentum_error(&robots, &reduced),
                1e-13 + 1e-9 * first.momentum_error);
    const int bounded = CHECK(distance(&robots, reduced.v, whole.v) <=
                              first.velocity_error_bound + reference.velocity_error_bound);
    if (!same || !bounded) {
      printf("    trial %d, seed %" PRIu64 "\n", trial, before);
    }
    sap_solver_destroy(tight);
    sap_solver_destroy(rough);
  }
  CHECK(n_eliminated > 500);
}

/* The complement has A' (A^-1)_tt = I, and dw_u makes A dw vanish where no contact acts. */
static void the_complement_inverts_a_block_of_the_inverse(void) {
  uint64_t seed = 71;
  const struct sap_vector_loops *loops = sap_vector_loops_of(sap_kernels_best_set());
  const sap_allocator memory = sap_allocator_or_default(NULL);
  struct sap_reduction reduction = {0};
  struct sap_triples triples = {0};
  static double S[TREES * MOST_NV * MOST_NV];
  uint64_t strips[TREES * MOST_NV];
  int32_t n_reduced = 0;
  for (int trial = 0; trial < 20; ++trial) {
    make_robots(&robots, TREES, CONTACTS, 0.5, &seed);
    sap_sizes sizes;
    REQUIRE(sap_problem_sizes(&robots.problem, &sizes, NULL) == SAP_OK);
    REQUIRE(sap_triples_list(&triples, &robots.problem, &sizes, SAP_FRICTION_CONVEX, &memory) ==
            SAP_OK);
    REQUIRE(sap_reduction_find(&reduction, &robots.problem, &triples, NULL, sap_kernels_best(),
                               loops, &memory) == SAP_OK);
    REQUIRE(sap_invert_mass(&robots.problem, 0, robots.problem.n_trees, NULL, S, strips, NULL,
                            NULL) == SAP_OK);
    const double *S_t = S;
    for (int32_t t = 0; t < TREES; ++t) {
      const int32_t n = robots.tree_nv[t];
      const struct sap_reduced_tree *tree = reduction.tree ? reduction.tree[t] : NULL;
      CHECK_EQUAL(reduction.size[t], tree ? tree->n_t : n);
      for (int32_t k = 0; tree && k < tree->n_t * tree->n_t; ++k) {
        const int32_t row = k / tree->n_t, column = k % tree->n_t;
        double sum = 0, size = 0;
        for (int32_t j = 0; j < tree->n_t; ++j) {
          double inverse = 0;
          for (int32_t i = 0; i < n; ++i) {
            inverse += S_t[tree->t[j] * n + i] * S_t[tree->t[column] * n + i];
          }
          sum += tree->A[row * tree->n_t + j] * inverse;
          size += fabs(tree->A[row * tree->n_t + j] * inverse);
        }
        CHECK_CLOSE(sum, row == column, 1e-12 * (1 + size));
      }
      if (tree) {
        double v_t[MOST_NV], dw_t[MOST_NV], momentum[MOST_NV], expected[MOST_NV] = {0};
        for (int32_t k = 0; k < tree->n_t; ++k) {
          dw_t[k] = check_random(&seed, -1, 1);
          v_t[k] = tree->v_star[tree->t[k]] + dw_t[k];
        }
        const double rest =
            sap_reduced_restore(tree, sap_kernels_best(), loops, v_t, dw_t, momentum);
        CHECK(sqrt(rest) < 1e-12 * distance(&robots, robots.v_guess, robots.v_star));
        for (int32_t k = 0; k < tree->n_t * tree->n_t; ++k) {
          expected[k / tree->n_t] += tree->A[k] * dw_t[k % tree->n_t];
        }
        CHECK_ALL_CLOSE(momentum, expected, tree->n_t, 1e-10);
        ++n_reduced;
      }
      S_t += n * n;
    }
  }
  CHECK(n_reduced > 20);
  sap_block_release(&reduction.block, &memory);
}

/* One tree, and rows that cancel: of every second column of J the sum is zero, but the entries are
 * not; every third column is zero. The rows are those of contacts, or of a group. */
static void rows_that_cancel_move_their_velocities(void) {
  enum { N = 18, PAIRS = 4 };
  static const int32_t n = N, tree[PAIRS] = {0}, world[PAIRS] = {-1, -1, -1, -1}, six[1] = {6};
  double A[N * N] = {0}, v_star[N] = {0}, J[3 * PAIRS * N] = {0};
  uint64_t seed = 77;
  for (int32_t k = 0; k < 3 * PAIRS * N; ++k) {
    const int32_t j = k % N, row = k / N;
    const double x = check_random(&seed, 0.5, 1);
    J[k] = j % 3 == 2 ? 0 : j % 2 == 0 ? x : row % 3 == 2 ? 0 : row % 3 == 0 ? 1 : -1;
  }
  for (int32_t i = 0; i < N; ++i) {
    A[i * (N + 1)] = 2;
  }
  const sap_constraints group = {
      .kind = SAP_BILATERAL, .n = 1, .size = six, .tree_a = tree, .tree_b = world, .J = J};
  const sap_problem problems[] = {
      {.n_trees = 1, .tree_nv = &n, .A = A, .v_star = v_star, .n_contacts = PAIRS, .J = J},
      {.n_trees = 1, .tree_nv = &n, .A = A, .v_star = v_star, .n_groups = 1, .groups = &group}};
  const sap_allocator memory = sap_allocator_or_default(NULL);
  for (int k = 0; k < 2; ++k) {
    sap_problem problem = problems[k];
    struct sap_reduction reduction = {0};
    struct sap_triples triples = {0};
    problem.tree_a = tree;
    problem.tree_b = world;
    sap_sizes sizes;
    REQUIRE(sap_problem_sizes(&problem, &sizes, NULL) == SAP_OK);
    REQUIRE(sap_triples_list(&triples, &problem, &sizes, SAP_FRICTION_CONVEX, &memory) == SAP_OK);
    REQUIRE(sap_reduction_find(&reduction, &problem, &triples, NULL, sap_kernels_best(),
                               sap_vector_loops_of(sap_kernels_best_set()), &memory) == SAP_OK);
    REQUIRE(reduction.tree && reduction.tree[0]);
    CHECK_EQUAL(reduction.tree[0]->n_u, N / 3);
    for (int32_t j = 0; j < reduction.tree[0]->n_u; ++j) {
      CHECK_EQUAL(reduction.tree[0]->u[j], 3 * j + 2);
    }
    sap_block_release(&reduction.block, &memory);
    sap_block_release(&triples.block, &memory);
  }
}

/* Reverses the order of the velocities of every tree. */
static void reverse(const struct robots *from, struct robots *to) {
  *to = *from;
  to->problem.A = to->A;
  to->problem.v_star = to->v_star;
  to->problem.J = to->J;
  int64_t v = 0, A = 0, J = 0;
  for (int32_t t = 0; t < from->problem.n_trees; ++t) {
    const int32_t n = from->tree_nv[t];
    for (int32_t i = 0; i < n; ++i) {
      to->v_star[v + i] = from->v_star[v + n - 1 - i];
      to->v_guess[v + i] = from->v_guess[v + n - 1 - i];
    }
    for (int32_t i = 0; i < n * n; ++i) {
      to->A[A + i] = from->A[A + n * n - 1 - i];
    }
    v += n;
    A += n * n;
  }
  for (int32_t i = 0; i < from->problem.n_contacts; ++i) {
    const int32_t sides[2] = {from->tree_a[i], from->tree_b[i]};
    for (int s = 0; s < 2 && sides[s] >= 0; ++s) {
      const int32_t n = from->tree_nv[sides[s]];
      for (int32_t k = 0; k < 3 * n; ++k) {
        to->J[J + k] = from->J[J + k / n * n + n - 1 - k % n];
      }
      J += 3 * n;
    }
  }
}

static void the_order_of_velocities_does_not_matter(void) {
  uint64_t seed = 72;
  for (int trial = 0; trial < 20; ++trial) {
    make_robots(&robots, 4, 10, 0.5, &seed);
    reverse(&robots, &others);
    sap_solver *solver = make(1e-12);
    const sap_solution one = solve(solver, &robots, &reduced), two = solve(solver, &others, &whole);
    CHECK_EQUAL(two.symbolic_reused, 1); /* as many other velocities remain */
    CHECK_CLOSE(one.momentum_error, two.momentum_error, 1e-12);
    int64_t v = 0;
    for (int32_t t = 0; t < 4; ++t) {
      const int32_t n = robots.tree_nv[t];
      for (int32_t i = 0; i < n; ++i) {
        CHECK_CLOSE(reduced.v[v + i], whole.v[v + n - 1 - i], 1e-9);
      }
      v += n;
    }
    sap_solver_destroy(solver);
  }
}

/* The guess of a velocity that is eliminated is not read; evaluating in between changes nothing. */
static void a_solve_repeats_bit_by_bit(void) {
  uint64_t seed = 73;
  make_robots(&robots, 6, 12, 0.4, &seed);
  sap_solver *solver = make(1e-6);
  solve(solver, &robots, &reduced);
  const int32_t scalars = n_scalars(solver);
  REQUIRE(solver->plan.reduction.tree);
  for (int64_t t = 0, v = 0; t < 6; v += robots.tree_nv[t++]) {
    const struct sap_reduced_tree *tree = solver->plan.reduction.tree[t];
    for (int32_t k = 0; tree && k < tree->n_u; ++k) {
      robots.v_guess[v + tree->u[k]] += 100;
    }
  }
  static double gradient[MOST];
  double cost;
  REQUIRE(sap_solver_evaluate(solver, &robots.problem, reduced.v, &cost, gradient, NULL, NULL,
                              NULL) == SAP_OK);
  CHECK(n_scalars(solver) > scalars); /* the whole problem */
  const sap_solution again = solve(solver, &robots, &whole);
  CHECK_EQUAL(n_scalars(solver), scalars);
  CHECK_CLOSE(again.cost, cost, 1e-12 * cost);
  CHECK(memcmp(reduced.v, whole.v, (size_t)robots.sizes.nv * sizeof(double)) == 0);
  CHECK(memcmp(reduced.gamma, whole.gamma, 36 * sizeof(double)) == 0);
  sap_solver_destroy(solver);
}

static void a_tree_that_no_contact_moves_stays_whole(void) {
  uint64_t seed = 74;
  make_robots(&robots, 3, 6, 0, &seed);
  sap_solver *solver = make(1e-12);
  const sap_solution solution = solve(solver, &robots, &reduced);
  CHECK_EQUAL(solution.outcome, SAP_CONVERGED);
  CHECK(solution.n_islands > 0);
  CHECK_ALL_CLOSE(reduced.v, robots.v_star, robots.sizes.nv, 1e-9);
  sap_solver_destroy(solver);
}

/* Errors in a reduced tree have the names of those in a whole tree. */
static void bad_reduced_trees_are_named(void) {
  sap_solver *solver = make(1e-6);
  sap_solution solution = {.v = reduced.v, .gamma = reduced.gamma};
  sap_error error;
  uint64_t seed = 76;
  make_robots(&robots, 4, 8, 0.5, &seed);
  solve(solver, &robots, &reduced);
  REQUIRE(solver->plan.reduction.tree && solver->plan.reduction.tree[3]);
  const int64_t A_3 = robots.sizes.nA - (int64_t)robots.tree_nv[3] * robots.tree_nv[3];
  const int64_t J_last = robots.sizes.nJ - 1;
#define CHECK_REFUSED(change, status, name, at)                                              \
  do {                                                                                       \
    seed = 76;                                                                               \
    make_robots(&robots, 4, 8, 0.5, &seed);                                                  \
    change;                                                                                  \
    CHECK_EQUAL(sap_solver_solve(solver, &robots.problem, NULL, &solution, &error), status); \
    CHECK_STRING(error.argument, name);                                                      \
    CHECK_EQUAL(error.index, at);                                                            \
  } while (0)
  CHECK_REFUSED(robots.A[A_3] = -1, SAP_NOT_POSITIVE_DEFINITE, "A", 3);
  CHECK_REFUSED(robots.A[A_3 + 1] += 1, SAP_INVALID_ARGUMENT, "A", 3);
  CHECK_REFUSED(robots.A[A_3 + 1] = NAN, SAP_INVALID_ARGUMENT, "A", A_3 + 1);
  CHECK_REFUSED(robots.J[J_last] = NAN, SAP_INVALID_ARGUMENT, "J", J_last);
  CHECK_REFUSED(robots.v_star[2] = NAN, SAP_INVALID_ARGUMENT, "v_star", 2);
  CHECK_REFUSED(robots.problem.A = NULL, SAP_INVALID_ARGUMENT, "A", -1);
  CHECK_REFUSED(robots.problem.J = NULL, SAP_INVALID_ARGUMENT, "J", -1);
  CHECK_REFUSED(robots.problem.v_star = NULL, SAP_INVALID_ARGUMENT, "v_star", -1);
#undef CHECK_REFUSED
  sap_solver_destroy(solver);
}

static const check_test tests[] = {
    CHECK_TEST(reduced_and_whole_problems_agree),
    CHECK_TEST(the_complement_inverts_a_block_of_the_inverse),
    CHECK_TEST(rows_that_cancel_move_their_velocities),
    CHECK_TEST(the_order_of_velocities_does_not_matter),
    CHECK_TEST(a_solve_repeats_bit_by_bit),
    CHECK_TEST(a_tree_that_no_contact_moves_stays_whole),
    CHECK_TEST(bad_reduced_trees_are_named),
};
CHECK_FILE(test_reduction, tests);
