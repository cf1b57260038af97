/* Tests derivatives of solutions: reverse is the transpose of forward mode, forward mode the limit
 * of differences, for contacts and rows by physical parameters, rows of a single velocity among
 * them; memory that runs out, and arguments that are wrong. Every law has its tests in
 * tests/solver/test_sensitivity.py. */
#include <string.h>

#include "constraints/kinds/kinds.h"
#include "counter.h"
#include "groups.h"

enum {
  MOST_NV = SCENE_TREES * SCENE_MOST_NV,
  MOST_A = MOST_NV * SCENE_MOST_NV,
  MOST_J = SCENE_CONTACTS * 6 * SCENE_MOST_NV,
  MOST_ALL_ROWS = MOST_ROWS * GROUPS,
  PARAMETERS = 3, /* parameters of a limit */
};

/* ---- a problem by physical parameters ---- */

static struct {
  sap_problem problem;
  sap_parameters parameters;
  double phi0[SCENE_CONTACTS], k[SCENE_CONTACTS], tau_d[SCENE_CONTACTS];
  double slip_ratio[SCENE_CONTACTS];
  /* the first group, of limits, each of a single velocity */
  int32_t dof[MOST_CONSTRAINTS];
  double J[MOST_CONSTRAINTS], value[PARAMETERS][MOST_CONSTRAINTS];
  const double *values[PARAMETERS];
  sap_group_regularization groups[GROUPS];
} physical;

static void make_limits(uint64_t *seed) {
  struct group *limits = &group[0];
  sap_constraints *of = &constraints[0];
  for (int32_t i = 0; i < of->n; ++i) {
    limits->tree_b[i] = -1;
    physical.dof[i] =
        (int32_t)(check_random_bits(seed) % (uint64_t)scene.tree_nv[limits->tree_a[i]]);
    physical.J[i] = check_random(seed, 0.5, 2);
    physical.value[0][i] = check_random(seed, -0.02, 0.005);
    physical.value[1][i] = check_random(seed, 0, 1) < 0.5 ? 1e2 : INFINITY;
    physical.value[2][i] = check_random(seed, 0.01, 0.02);
  }
  of->J = physical.J;
  of->dof = physical.dof;
  for (int k = 0; k < PARAMETERS; ++k) {
    physical.values[k] = physical.value[k];
  }
  physical.groups[0] = (sap_group_regularization){
      {0.01, 1e-2, 0.3, SAP_DELASSUS_BLOCK, physical.values, NULL, NULL, NULL},
      limits->R,
      limits->v_hat,
      limits->lower,
      limits->upper};
}

static void make(int32_t n_trees, int32_t n_contacts, uint64_t *seed) {
  memset(&physical, 0, sizeof physical);
  make_groups(n_trees, n_contacts, 6, seed);
  make_limits(seed);
  for (int32_t i = 0; i < n_contacts; ++i) {
    scene.mu[i] = check_random(seed, 0.2, 1);
    physical.phi0[i] = check_random(seed, -0.01, 0.002);
    physical.k[i] = check_random(seed, 0, 1) < 0.5 ? 1e3 : 1e9;
    physical.tau_d[i] = check_random(seed, 0.01, 0.03);
    /* the least sigma, in proportion to the slip, and sigma */
    physical.slip_ratio[i] = i % 3 == 0 ? 1e-5 : check_random(seed, 0.1, i % 3 == 1 ? 0.9 : 3);
  }
  physical.parameters = (sap_parameters){.dt = 0.01,
                                         .sigma = 1e-2,
                                         .beta = 1,
                                         .phi0 = physical.phi0,
                                         .k = physical.k,
                                         .tau_d = physical.tau_d,
                                         .slip_ratio = physical.slip_ratio};
  physical.problem = scene.problem;
  REQUIRE(sap_problem_sizes(&physical.problem, &scene.sizes, NULL) == SAP_OK);
}

/* Finds R, v_hat and bounds; those of the groups but the first are numbers of their own. */
static void regularize(void) {
  sap_problem contacts = physical.problem;
  contacts.n_groups = 0;
  REQUIRE(sap_regularize(&contacts, &physical.parameters, scene.R_t, scene.R_n, scene.v_hat_n, NULL,
                         NULL) == SAP_OK);
  const sap_group_regularization *limits = &physical.groups[0];
  REQUIRE(sap_regularize_group(&physical.problem, &constraints[0], &limits->parameters, limits->R,
                               limits->v_hat, limits->lower, limits->upper, NULL, NULL) == SAP_OK);
  physical.parameters.groups = physical.groups;
}

/* ---- numbers in its shape ---- */

struct numbers {
  sap_differential all;
  sap_group_differential groups[GROUPS];
  double A[MOST_A], v_star[MOST_NV], J[MOST_J], v_hat_t[2 * SCENE_CONTACTS];
  double by_contact[8][SCENE_CONTACTS];
  double J_rows[GROUPS][MOST_ROWS * 2 * SCENE_MOST_NV], by_row[GROUPS][4][MOST_ROWS];
  double value[PARAMETERS][MOST_CONSTRAINTS];
  double *values[PARAMETERS];
};

static void point(struct numbers *x) {
  memset(x, 0, sizeof *x);
  double **const of[8] = {&x->all.mu,   &x->all.R_t, &x->all.R_n,   &x->all.v_hat_n,
                          &x->all.phi0, &x->all.k,   &x->all.tau_d, &x->all.slip_ratio};
  for (int k = 0; k < 8; ++k) {
    *of[k] = x->by_contact[k];
  }
  for (int k = 0; k < PARAMETERS; ++k) {
    x->values[k] = x->value[k];
  }
  for (int g = 0; g < GROUPS; ++g) {
    x->groups[g] = (sap_group_differential){x->J_rows[g],    x->by_row[g][0], x->by_row[g][1],
                                            x->by_row[g][2], x->by_row[g][3], g ? NULL : x->values};
  }
  x->all.A = x->A;
  x->all.v_star = x->v_star;
  x->all.J = x->J;
  x->all.v_hat_t = x->v_hat_t;
  x->all.groups = x->groups;
}

/* A piece has the number of entries that count of an array. */
struct piece {
  double *x;
  int64_t n;
};

enum { MOST_PIECES = 20 + 5 * GROUPS + PARAMETERS };

static int list(struct numbers *x, struct piece pieces[MOST_PIECES]) {
  const sap_sizes *sizes = &scene.sizes;
  const int32_t n = scene.problem.n_contacts;
  int count = 0;
  pieces[count++] = (struct piece){x->A, sizes->nA};
  pieces[count++] = (struct piece){x->v_star, sizes->nv};
  pieces[count++] = (struct piece){x->J, sizes->nJ};
  pieces[count++] = (struct piece){x->v_hat_t, 2 * (int64_t)n};
  pieces[count++] = (struct piece){&x->all.dt, 1};
  pieces[count++] = (struct piece){&x->all.sigma, 1};
  for (int k = 0; k < 8; ++k) {
    pieces[count++] = (struct piece){x->by_contact[k], n};
  }
  for (int g = 0; g < GROUPS; ++g) {
    int64_t nJ = constraints[g].n; /* entries of rows with single velocities */
    for (int32_t i = 0; g > 0 && i < constraints[g].n; ++i) {
      const int32_t b = group[g].tree_b[i];
      nJ += group[g].size[i] * (scene.tree_nv[group[g].tree_a[i]] + (b < 0 ? 0 : scene.tree_nv[b]));
      nJ -= 1;
    }
    pieces[count++] = (struct piece){x->J_rows[g], nJ};
    for (int k = 0; k < 4; ++k) {
      pieces[count++] = (struct piece){x->by_row[g][k], group[g].n_rows};
    }
  }
  for (int k = 0; k < PARAMETERS; ++k) {
    pieces[count++] = (struct piece){x->value[k], constraints[0].n};
  }
  return count;
}

struct answer {
  double v[MOST_NV], gamma[3 * SCENE_CONTACTS], rows[MOST_ALL_ROWS];
};

static sap_response response_of(struct answer *a) {
  return (sap_response){a->v, a->gamma, a->rows, NULL};
}

static void fill(double *x, int64_t n, uint64_t *seed) {
  for (int64_t i = 0; i < n; ++i) {
    x[i] = check_random(seed, -1, 1);
  }
}

static double dot(const double *x, const double *y, int64_t n, double *size) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += x[i] * y[i];
    *size += fabs(x[i] * y[i]);
  }
  return sum;
}

/* ---- solving ---- */

static sap_settings settings_of(sap_friction friction) {
  sap_settings settings = sap_settings_default();
  settings.relative_tolerance = 1e-14;
  settings.friction = friction;
  return settings;
}

static void solve(sap_friction friction, struct answer *to) {
  const sap_settings settings = settings_of(friction);
  sap_solution solution = {.v = to->v, .gamma = to->gamma, .group_gamma = to->rows};
  sap_solver *solver;
  regularize();
  REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
  CHECK_EQUAL(sap_solver_solve(solver, &physical.problem, NULL, &solution, NULL), SAP_OK);
  CHECK(solution.momentum_error < 1e-12);
  sap_solver_destroy(solver);
}

static sap_sensitivity *linearize(sap_friction friction, const double *v,
                                  const sap_allocator *memory) {
  const sap_settings settings = settings_of(friction);
  sap_sensitivity *made;
  if (sap_sensitivity_create(&made, &settings, memory, NULL) != SAP_OK) {
    return NULL;
  }
  sap_linear_point at;
  if (!CHECK(sap_sensitivity_linearize(made, &physical.problem, &physical.parameters, v, NULL, &at,
                                       NULL) == SAP_OK)) {
    return made;
  }
  CHECK_EQUAL(at.tree, -1);
  CHECK(at.momentum_error < 1e-11);
  CHECK((at.n_coupled > 0) == (friction == SAP_FRICTION_COULOMB));
  return made;
}

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

/* ---- what is wrong is named ---- */

static void wrong_arguments_are_named(void) {
  uint64_t seed = 8;
  make(4, 8, &seed);
  solve(SAP_FRICTION_CONVEX, &solution);
  sap_sensitivity *s;
  sap_linear_point at;
  sap_coupling coupling;
  sap_error error;
  REQUIRE(sap_sensitivity_create(&s, NULL, NULL, NULL) == SAP_OK);
  point(&gradient);
  const sap_response bars = {.v = bar.v};
  CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, 0, &gradient.all, &coupling, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "sensitivity");
  bar.v[1] = NAN;
  CHECK_EQUAL(sap_sensitivity_linearize(s, &physical.problem, &physical.parameters, bar.v, NULL,
                                        &at, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "v");
  sap_parameters released = physical.parameters;
  released.release = scene.R_n;
  CHECK_EQUAL(
      sap_sensitivity_linearize(s, &physical.problem, &released, solution.v, NULL, &at, &error),
      SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "release");
  REQUIRE(sap_sensitivity_linearize(s, &physical.problem, &physical.parameters, solution.v, NULL,
                                    &at, &error) == SAP_OK);
  CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, 0, &gradient.all, &coupling, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "v_bar");
  CHECK_EQUAL(error.index, 1);
  bar.v[1] = 0;
  gradient.all.tau_d = NULL;
  CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, 0, &gradient.all, &coupling, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "gradient");
  /* A and J may be left out */
  point(&gradient);
  gradient.all.A = gradient.all.J = NULL;
  CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, 0, &gradient.all, &coupling, &error), SAP_OK);
  scene.R_n[3] = -1;
  CHECK_EQUAL(sap_sensitivity_linearize(s, &physical.problem, NULL, solution.v, NULL, &at, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "R_n");
  CHECK_EQUAL(error.index, 3);
  sap_sensitivity_destroy(s);
  sap_sensitivity_destroy(NULL);
}

/* The gradient with respect to R of a single constraint needs an array. */
static void arrays_of_one_constraint_are_missed(void) {
  uint64_t seed = 8;
  make(4, 8, &seed);
  constraints[1].n = 1;
  REQUIRE(sap_problem_sizes(&physical.problem, &scene.sizes, NULL) == SAP_OK);
  solve(SAP_FRICTION_CONVEX, &solution);
  sap_sensitivity *s = linearize(SAP_FRICTION_CONVEX, solution.v, NULL);
  sap_coupling coupling;
  sap_error error = {0};
  REQUIRE(s);
  fill(bar.v, scene.sizes.nv, &seed);
  const sap_response bars = {.v = bar.v};
  point(&gradient);
  gradient.groups[1].R = NULL;
  CHECK_EQUAL(sap_sensitivity_vjp(s, &bars, 0, &gradient.all, &coupling, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "gradient");
  sap_sensitivity_destroy(s);
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
    CHECK_TEST(wrong_arguments_are_named),
    CHECK_TEST(arrays_of_one_constraint_are_missed),
};
CHECK_FILE(test_sensitivity, tests);
