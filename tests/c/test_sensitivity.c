/* Tests derivatives of solutions: reverse is the transpose of forward mode, forward mode the limit
 * of differences, for contacts and rows by physical parameters, rows of a single velocity among
 * them; memory that runs out. Every law has its tests in tests/solver/test_sensitivity.py. */
#include "constraints/kinds/kinds.h"
#include "counter.h"
#include "physical.h"

static struct numbers change, gradient;
static struct answer solution, bar, moved, presolve, behind;

static void check_transpose(sap_friction friction, int frozen, uint64_t *seed) {
  solve(friction, &solution);
  sap_sensitivity *s = linearize(friction, solution.v, NULL);
  REQUIRE(s);
  struct piece of[MOST_PIECES], to[MOST_PIECES];
  point(&change);
  point(&gradient);
  const int n_pieces = list(&change, of);
  CHECK_EQUAL(list(&gradient, to), n_pieces);
  for (int k = 0; k < n_pieces; ++k) {
    fill(of[k].x, of[k].n, seed);
    memset(to[k].x, 0x55, sizeof(double) * (size_t)to[k].n); /* is overwritten */
  }
  const int64_t nv = scene.sizes.nv, n = 3 * (int64_t)scene.problem.n_contacts;
  fill(bar.v, nv, seed);
  fill(bar.gamma, n, seed);
  fill(bar.rows, scene.sizes.n_rows, seed);
  const sap_response bars = response_of(&bar), response = response_of(&moved);
  sap_coupling coupling;
  CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, frozen, &gradient.all, &coupling, NULL), SAP_OK);
  CHECK(coupling.residual <= 1e-14);
  CHECK((coupling.residual > 0) == (friction == SAP_FRICTION_COULOMB));
  CHECK_EQUAL(sap_sensitivity_jvp(s, &change.all, frozen, &response, &coupling, NULL), SAP_OK);
  CHECK(coupling.residual <= 1e-14);
  double size = 0;
  const double left = dot(bar.v, moved.v, nv, &size) + dot(bar.gamma, moved.gamma, n, &size) +
                      dot(bar.rows, moved.rows, scene.sizes.n_rows, &size);
  double right = 0;
  for (int k = 0; k < n_pieces; ++k) {
    right += dot(of[k].x, to[k].x, of[k].n, &size);
  }
  CHECK_CLOSE(left, right, 1e-10 * size);
  sap_sensitivity_destroy(s);
}

static void reverse_is_the_transpose_of_forward(void) {
  uint64_t seed = 31;
  for (int trial = 0; trial < 8; ++trial) {
    make(4 + trial, 6 + 3 * trial, &seed);
    check_transpose(SAP_FRICTION_CONVEX, trial % 2, &seed);
    check_transpose(SAP_FRICTION_COULOMB, trial % 2, &seed);
  }
}

/* ---- differences ---- */

/* Moves the problem by h along a change of masses, rows, stiffness and time. */
static void move(double h) {
  const struct {
    double *x;
    const double *dx;
    int64_t n;
  } moves[] = {{scene.A, change.A, scene.sizes.nA},
               {scene.J, change.J, scene.sizes.nJ},
               {physical.J, change.J_rows[0], constraints[0].n},
               {physical.k, change.all.k, scene.problem.n_contacts},
               {physical.value[0], change.value[0], constraints[0].n},
               {physical.value[1], change.value[1], constraints[0].n},
               {&physical.parameters.dt, &change.all.dt, 1},
               {&physical.groups[0].parameters.dt, &change.all.dt, 1},
               {&physical.parameters.sigma, &change.all.sigma, 1}};
  for (size_t m = 0; m < CHECK_COUNT(moves); ++m) {
    for (int64_t i = 0; i < moves[m].n; ++i) {
      moves[m].x[i] += h * moves[m].dx[i];
    }
  }
}

static void make_change(uint64_t *seed) {
  point(&change);
  double *A = change.A;
  for (int32_t t = 0; t < scene.problem.n_trees; ++t) {
    const int32_t n = scene.tree_nv[t];
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j <= i; ++j) {
        A[i * n + j] = A[j * n + i] = check_random(seed, -0.1, 0.1);
      }
    }
    A += n * n;
  }
  fill(change.J, scene.sizes.nJ, seed);
  fill(change.J_rows[0], constraints[0].n, seed);
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    change.all.k[i] = check_random(seed, -0.5, 0.5) * physical.k[i];
  }
  for (int32_t i = 0; i < constraints[0].n; ++i) {
    change.value[0][i] = check_random(seed, -0.01, 0.01);
    change.value[1][i] = isfinite(physical.value[1][i]) ? check_random(seed, -50, 50) : 0;
  }
  change.all.dt = 2e-3;
  change.all.sigma = 3e-3;
}

/* The limit holds for most problems; in a few a region changes within h. */
static void forward_mode_is_the_limit_of_differences(void) {
  static const double h = 1e-6;
  uint64_t seed = 77;
  for (int friction = SAP_FRICTION_CONVEX; friction <= SAP_FRICTION_COULOMB; friction += 2) {
    int agree = 0;
    for (int trial = 0; trial < 8; ++trial) {
      make(5, 8, &seed);
      make_change(&seed);
      solve((sap_friction)friction, &solution);
      sap_sensitivity *s = linearize((sap_friction)friction, solution.v, NULL);
      REQUIRE(s);
      const sap_response response = response_of(&moved);
      sap_coupling coupling;
      CHECK_EQUAL(sap_sensitivity_jvp(s, &change.all, 0, &response, &coupling, NULL), SAP_OK);
      sap_sensitivity_destroy(s);
      move(h);
      solve((sap_friction)friction, &presolve);
      move(-2 * h);
      solve((sap_friction)friction, &behind);
      double error = 0, largest = 0;
      for (int64_t i = 0; i < scene.sizes.nv; ++i) {
        const double slope = (presolve.v[i] - behind.v[i]) / (2 * h);
        error = fmax(error, fabs(slope - moved.v[i]));
        largest = fmax(largest, fabs(slope));
      }
      agree += error <= 1e-5 * largest;
    }
    CHECK(agree >= 6);
  }
}

/* ---- no derivative ---- */

/* With R_n = 2^-60 the matrix H = I + 2^60 [1 1; 1 1] has no factor in double precision. The first
 * of two islands where that is so is named. */
static void the_first_singular_tree_is_named(void) {
  static const int32_t sizes[] = {2, 2}, trees[] = {0, 1}, world[] = {-1, -1};
  static const double A[] = {1, 0, 0, 1, 1, 0, 0, 1}, J[] = {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1};
  static const double v[] = {-1, -1, -1, -1}, ones[] = {1, 1}, zeros[2] = {0};
  for (int singular = 0; singular < 4; ++singular) {
    const double R_n[] = {singular & 1 ? 0x1p-60 : 1, singular & 2 ? 0x1p-60 : 1};
    const sap_problem problem = {.n_trees = 2,
                                 .n_contacts = 2,
                                 .tree_nv = sizes,
                                 .A = A,
                                 .v_star = v,
                                 .tree_a = trees,
                                 .tree_b = world,
                                 .J = J,
                                 .mu = ones,
                                 .R_t = ones,
                                 .R_n = R_n,
                                 .v_hat_n = zeros};
    sap_sensitivity *s;
    sap_linear_point at;
    REQUIRE(sap_sensitivity_create(&s, NULL, NULL, NULL) == SAP_OK);
    CHECK_EQUAL(sap_sensitivity_linearize(s, &problem, NULL, v, NULL, &at, NULL), SAP_OK);
    CHECK_EQUAL(at.tree, singular & 1 ? 0 : singular & 2 ? 1 : -1);
    sap_sensitivity_destroy(s);
  }
}

/* At velocities away from the solution. */
static void the_gradient_is_that_of_a_solver(void) {
  static const sap_friction frictions[] = {SAP_FRICTION_CONVEX, SAP_FRICTION_COULOMB};
  uint64_t seed = 17;
  for (int f = 0; f < 2; ++f) {
    make(6, 12, &seed);
    solve(frictions[f], &solution);
    const sap_settings settings = settings_of(frictions[f]);
    double expected[SCENE_TREES * SCENE_MOST_NV], found[SCENE_TREES * SCENE_MOST_NV] = {0};
    sap_solver *solver;
    sap_sensitivity *s;
    sap_linear_point at;
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      solution.v[i] += check_random(&seed, -0.1, 0.1);
    }
    REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
    REQUIRE(sap_sensitivity_create(&s, &settings, NULL, NULL) == SAP_OK);
    sap_sensitivity_gradient(s, found);
    CHECK_EQUAL(found[0], 0); /* nothing is linearized yet */
    REQUIRE(sap_solver_evaluate(solver, &physical.problem, solution.v, NULL, expected, NULL, NULL,
                                NULL) == SAP_OK);
    REQUIRE(sap_sensitivity_linearize(s, &physical.problem, NULL, solution.v, NULL, &at, NULL) ==
            SAP_OK);
    sap_sensitivity_gradient(s, found);
    CHECK_ALL_CLOSE(found, expected, scene.sizes.nv, 1e-12);
    sap_sensitivity_destroy(s);
    sap_solver_destroy(solver);
  }
}

/* ---- memory ---- */

static sap_status linearize_once(const sap_allocator *memory, struct counter *counter) {
  const sap_settings settings = settings_of(SAP_FRICTION_COULOMB);
  sap_sensitivity *s;
  sap_linear_point at;
  (void)counter;
  sap_status status = sap_sensitivity_create(&s, &settings, memory, NULL);
  CHECK((status == SAP_OK) == (s != NULL));
  if (status == SAP_OK) {
    status = sap_sensitivity_linearize(s, &physical.problem, &physical.parameters, solution.v, NULL,
                                       &at, NULL);
  }
  sap_sensitivity_destroy(s);
  return status;
}

static void memory_that_runs_out_is_reported(void) {
  uint64_t seed = 5;
  make(6, 12, &seed);
  solve(SAP_FRICTION_COULOMB, &solution);
  CHECK(fail_allocations(linearize_once) > 3);
}

static void directions_allocate_nothing(void) {
  uint64_t seed = 6;
  make(6, 12, &seed);
  solve(SAP_FRICTION_COULOMB, &solution);
  struct counter counter = {0, 0, -1};
  const sap_allocator memory = {counting_allocate, counting_release, &counter};
  sap_sensitivity *s = linearize(SAP_FRICTION_COULOMB, solution.v, &memory);
  REQUIRE(s);
  const long standing = counter.allocations;
  point(&gradient);
  point(&change);
  fill(bar.v, scene.sizes.nv, &seed);
  fill(change.v_star, scene.sizes.nv, &seed);
  const sap_response bars = {.v = bar.v}, response = {.v = moved.v};
  sap_coupling coupling;
  for (int repeat = 0; repeat < 2; ++repeat) {
    CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, 0, &gradient.all, &coupling, NULL), SAP_OK);
    CHECK_EQUAL(sap_sensitivity_jvp(s, &change.all, 0, &response, &coupling, NULL), SAP_OK);
    sap_linear_point at;
    CHECK_EQUAL(sap_sensitivity_linearize(s, &physical.problem, &physical.parameters, solution.v,
                                          NULL, &at, NULL),
                SAP_OK);
  }
  CHECK_EQUAL(counter.allocations, standing);
  sap_sensitivity_destroy(s);
  CHECK_EQUAL(counter.live, 0);
}

/* ---- solves with H ---- */

/* Computes b = A u. */
static void multiply_blocks(const double *u, double *b) {
  const sap_problem *p = &scene.problem;
  const double *A = p->A;
  int64_t first = 0;
  for (int32_t t = 0; t < p->n_trees; first += p->tree_nv[t], ++t) {
    for (int32_t i = 0; i < p->tree_nv[t]; ++i, A += p->tree_nv[t]) {
      double size = 0;
      b[first + i] = dot(A, u + first, p->tree_nv[t], &size);
    }
  }
}

/* H dv = A dv* for trees with constraints, and 0 for others. */
static void a_solve_is_forward_mode_by_the_free_motion(void) {
  uint64_t seed = 11;
  for (int friction = SAP_FRICTION_CONVEX; friction <= SAP_FRICTION_COULOMB; friction += 2) {
    make(5, 8, &seed);
    solve((sap_friction)friction, &solution);
    sap_sensitivity *s = linearize((sap_friction)friction, solution.v, NULL);
    REQUIRE(s);
    const int64_t nv = scene.sizes.nv;
    point(&change);
    fill(change.v_star, nv, &seed);
    const sap_differential by = {.v_star = change.v_star};
    const sap_response response = {.v = moved.v};
    sap_coupling coupling;
    CHECK_EQUAL(sap_sensitivity_jvp(s, &by, 0, &response, &coupling, NULL), SAP_OK);
    multiply_blocks(change.v_star, bar.v);
    CHECK_EQUAL(sap_sensitivity_solve(s, bar.v, presolve.v, &coupling, NULL), SAP_OK);
    CHECK(coupling.residual <= 1e-10);
    int64_t n_solved = 0;
    for (int64_t i = 0; i < nv; ++i) {
      CHECK(presolve.v[i] == 0.0 || fabs(presolve.v[i] - moved.v[i]) <= 1e-9);
      n_solved += presolve.v[i] != 0.0;
    }
    CHECK(n_solved > 0);
    sap_sensitivity_destroy(s);
  }
}

/* H dv = -dm/dp dp for trees with constraints, for a change of all numbers. */
static void a_solve_of_the_momentum_is_forward_mode(void) {
  uint64_t seed = 12;
  for (int friction = SAP_FRICTION_CONVEX; friction <= SAP_FRICTION_COULOMB; friction += 2) {
    make(5, 8, &seed);
    make_change(&seed);
    solve((sap_friction)friction, &solution);
    sap_sensitivity *s = linearize((sap_friction)friction, solution.v, NULL);
    REQUIRE(s);
    const sap_response response = {.v = moved.v};
    sap_coupling coupling;
    CHECK_EQUAL(sap_sensitivity_jvp(s, &change.all, 0, &response, &coupling, NULL), SAP_OK);
    CHECK_EQUAL(sap_sensitivity_momentum(s, &change.all, 0, bar.v, NULL), SAP_OK);
    CHECK_EQUAL(sap_sensitivity_solve(s, bar.v, presolve.v, &coupling, NULL), SAP_OK);
    int64_t n_solved = 0;
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      CHECK(presolve.v[i] == 0.0 || fabs(presolve.v[i] - moved.v[i]) <= 1e-9);
      n_solved += presolve.v[i] != 0.0;
    }
    CHECK(n_solved > 0);
    sap_sensitivity_destroy(s);
  }
}

static const check_test tests[] = {
    CHECK_TEST(reverse_is_the_transpose_of_forward),
    CHECK_TEST(forward_mode_is_the_limit_of_differences),
    CHECK_TEST(the_first_singular_tree_is_named),
    CHECK_TEST(the_gradient_is_that_of_a_solver),
    CHECK_TEST(memory_that_runs_out_is_reported),
    CHECK_TEST(directions_allocate_nothing),
    CHECK_TEST(a_solve_is_forward_mode_by_the_free_motion),
    CHECK_TEST(a_solve_of_the_momentum_is_forward_mode),
};
CHECK_FILE(test_sensitivity, tests);
