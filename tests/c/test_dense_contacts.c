/* Compares contacts with Coulomb's friction in dense storage with supernodal storage: contacts of
 * trees with the world and with each other, with dry friction beside them. */
#include <math.h>
#include <string.h>

#include "constraints/kinds/kinds.h"
#include "counter.h"
#include "groups.h"
#include "solver/solver_object.h"

enum { NV = SCENE_TREES * SCENE_MOST_NV, FRICTION = 3, FEW = 4, ROWS = 12 };

static double phi0[SCENE_CONTACTS], k[SCENE_CONTACTS], tau_d[SCENE_CONTACTS];
static double values[SAP_MOST_PARAMETERS][ROWS];
static const double *value[SAP_MOST_PARAMETERS];
static int32_t dof[ROWS];
static sap_group_regularization physical[GROUPS];
static sap_parameters parameters;
static sap_spin spin;
static int32_t spin_contact[SCENE_CONTACTS];
static double spin_J[SCENE_CONTACTS * 6 * SCENE_MOST_NV], spin_mu[3 * SCENE_CONTACTS];

struct arrays {
  double v[NV], gamma[3 * SCENE_CONTACTS], v_c[3 * SCENE_CONTACTS], rows[ROWS], rates[ROWS];
  double spin_gamma[3 * SCENE_CONTACTS], spin_v_c[3 * SCENE_CONTACTS];
  double R_t[SCENE_CONTACTS], R_n[SCENE_CONTACTS], v_hat_n[SCENE_CONTACTS];
  int8_t regions[SCENE_CONTACTS];
  sap_solution solution;
};

/* Returns the number of velocities of a constraint's trees. */
static int32_t width_of(int32_t a, int32_t b) {
  return scene.tree_nv[a] + (b < 0 ? 0 : scene.tree_nv[b]);
}

/* Two contacts of three get torsion, rolling or both. */
static void add_spin(uint64_t *seed) {
  double *J = spin_J;
  spin = (sap_spin){0, spin_contact, spin_J, spin_mu};
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    scene.mu[i] = fmax(scene.mu[i], 0.1);
    if (i % 3 == 0) {
      continue;
    }
    for (int r = 0; r < 3; ++r) {
      spin_mu[3 * spin.n + r] = fmax(0, check_random(seed, -0.1, 0.4));
    }
    for (int32_t j = 0; j < 3 * width_of(scene.tree_a[i], scene.tree_b[i]); ++j) {
      *J++ = check_random(seed, -1, 1);
    }
    spin_contact[spin.n++] = i;
  }
  scene.problem.spin = &spin;
}

struct extras {
  int32_t n_rows; /* rows of dry friction */
  int spins, joins, couples, branches, crowds;
};

/* Trees of two branches on their first velocity, every other velocity of one of them, and contacts
 * that do not touch the last half of the velocities. */
static void branch(void) {
  static int32_t parent[SCENE_TREES * SCENE_MOST_NV];
  double *A = scene.A, *J = scene.J;
  int32_t v = 0;
  for (int32_t t = 0; t < scene.problem.n_trees; ++t) {
    const int32_t n = scene.tree_nv[t];
    for (int32_t i = 0; i < n; ++i) {
      parent[v++] = i < 2 ? i - 1 : i > 2 ? i - 2 : 0;
      for (int32_t j = 1; j < n; ++j) {
        A[i * n + j] = i > 0 && (i - j) % 2 != 0 ? 0 : A[i * n + j];
      }
      A[i * (n + 1)] += n;
    }
    A += n * n;
  }
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    const int32_t n = scene.tree_nv[scene.tree_a[i]];
    for (int32_t r = 0; r < 3; ++r, J += n) {
      for (int32_t j = (n + 1) / 2; j < n; ++j) {
        J[j] = 0;
      }
    }
  }
  scene.problem.parent = parent;
}

/* Puts half of the contacts, and all dense rows, between two trees, none of them the last. */
static void join(int32_t n_trees, int32_t n_rows, uint64_t *seed) {
  double *J = scene.J, *J_rows = group[FRICTION].J;
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    const int32_t a = scene.tree_a[i], b = (a + 1) % (n_trees - 1);
    scene.tree_b[i] = i % 2 && a != b ? b : -1;
    for (int32_t j = 0; j < 3 * width_of(a, scene.tree_b[i]); ++j) {
      *J++ = check_random(seed, -1, 1);
    }
  }
  for (int32_t i = 0; i < n_rows; ++i) {
    const int32_t a = group[FRICTION].tree_a[i], b = (a + 1) % (n_trees - 1);
    group[FRICTION].tree_b[i] = dof[i] < 0 && a != b ? b : -1;
    const int32_t width = dof[i] < 0 ? width_of(a, group[FRICTION].tree_b[i]) : 1;
    for (int32_t j = 0; j < width; ++j) {
      *J_rows++ = check_random(seed, -1, 1);
    }
  }
}

/* Two contacts of three are on the first tree, which has too many of them for dense storage. */
static void crowd(uint64_t *seed) {
  double *J = scene.J;
  for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
    scene.tree_a[i] = i % 3 ? 0 : scene.tree_a[i];
    for (int32_t j = 0; j < 3 * scene.tree_nv[scene.tree_a[i]]; ++j) {
      *J++ = check_random(seed, -1, 1);
    }
  }
}

/* Makes contacts of all trees but the last, some deep and some open, and dry friction of joints or
 * of all velocities of a tree. */
static void make_with(struct extras extras, int32_t n_trees, int32_t n_contacts, uint64_t *seed) {
  const int32_t n_rows = extras.n_rows;
  make_groups(n_trees, n_contacts, ROWS, seed);
  for (int32_t i = 0; i < n_contacts; ++i) {
    scene.tree_a[i] %= n_trees - 1;
    scene.tree_b[i] = -1;
    phi0[i] = check_random(seed, -0.01, 0.002);
    k[i] = i % 3 ? INFINITY : 1e3;
    tau_d[i] = 0.01;
  }
  for (int p = 0; p < SAP_MOST_PARAMETERS; ++p) {
    value[p] = values[p];
    for (int i = 0; i < ROWS; ++i) {
      values[p][i] = check_random(seed, 0, 1);
    }
  }
  for (int32_t g = 0; g < GROUPS; ++g) {
    constraints[g].n = g == FRICTION ? n_rows : 0;
    physical[g] =
        (sap_group_regularization){{0.01, 1e-3, 0.1, SAP_DELASSUS_BLOCK, value, NULL, NULL, NULL},
                                   group[g].R,
                                   group[g].v_hat,
                                   group[g].lower,
                                   group[g].upper};
  }
  for (int32_t i = 0; i < n_rows; ++i) {
    const int32_t a = group[FRICTION].tree_a[i] %= n_trees - 1;
    group[FRICTION].tree_b[i] = -1;
    const int is_dense = n_rows > FEW && i % 3 == 0;
    dof[i] = is_dense ? -1 : (int32_t)(check_random_bits(seed) % (uint64_t)scene.tree_nv[a]);
  }
  constraints[FRICTION].dof = dof;
  double *J = group[FRICTION].J;
  for (int32_t i = 0; extras.couples && i < n_rows; ++i) {
    const int32_t nv = scene.tree_nv[group[FRICTION].tree_a[i]], width = dof[i] < 0 ? nv : 1;
    for (int32_t j = 0; j < width; ++j) {
      *J++ = j == i % width || j == (i + 2) % width ? check_random(seed, 0.5, 1) : 0;
    }
  }
  parameters = (sap_parameters){.dt = 0.01,
                                .sigma = 1e-3,
                                .beta = 1,
                                .phi0 = phi0,
                                .k = k,
                                .tau_d = tau_d,
                                .groups = physical};
  if (extras.branches) {
    branch();
  }
  if (extras.crowds) {
    crowd(seed);
  }
  if (extras.joins) {
    join(n_trees, n_rows, seed);
  }
  scene.problem.spin = NULL;
  if (extras.spins) {
    add_spin(seed);
  }
  REQUIRE(sap_problem_sizes(&scene.problem, &scene.sizes, NULL) == SAP_OK);
}

static void make(int32_t n_trees, int32_t n_contacts, uint64_t *seed) {
  make_with((struct extras){.n_rows = FEW}, n_trees, n_contacts, seed);
}

static sap_status solve(sap_solver *solver, struct arrays *to, const double *guess,
                        sap_error *error) {
  to->solution = (sap_solution){.v = to->v,
                                .gamma = to->gamma,
                                .v_c = to->v_c,
                                .regions = to->regions,
                                .group_gamma = to->rows,
                                .group_v_c = to->rates,
                                .spin_gamma = to->spin_gamma,
                                .spin_v_c = to->spin_v_c};
  return sap_solver_solve_physical(solver, &scene.problem, &parameters, to->R_t, to->R_n,
                                   to->v_hat_n, guess, &to->solution, error);
}

static sap_settings settings_of(void) {
  sap_settings settings = sap_settings_default();
  settings.friction = SAP_FRICTION_COULOMB;
  settings.relative_tolerance = 1e-10;
  return settings;
}

static sap_solver *solver_of(int supernodal) {
  const sap_settings settings = settings_of();
  sap_solver *solver = NULL;
  CHECK(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
  solver->without_dense = supernodal;
  return solver;
}

/* Islands in dense storage, counted from the reports of a solve; -1 where it fails. */
static int32_t count_dense(const sap_settings *settings, const double *guess, int32_t *n_islands) {
  static struct arrays out;
  sap_island_report reports[SCENE_TREES];
  int32_t n_dense = 0;
  sap_solver *solver = NULL;
  CHECK(sap_solver_create(&solver, settings, NULL, NULL) == SAP_OK);
  out.solution = (sap_solution){.v = out.v, .gamma = out.gamma, .islands = reports};
  const sap_status status =
      sap_solver_solve_physical(solver, &scene.problem, &parameters, out.R_t, out.R_n, out.v_hat_n,
                                guess, &out.solution, NULL);
  *n_islands = out.solution.n_islands;
  for (int32_t i = 0; i < *n_islands; ++i) {
    n_dense += reports[i].storage == SAP_STORAGE_DENSE;
  }
  sap_solver_destroy(solver);
  return status == SAP_OK ? n_dense : -1;
}

static int takes_from(const sap_settings *settings, const double *guess) {
  int32_t n_islands;
  return count_dense(settings, guess, &n_islands) == n_islands;
}

static int takes(const sap_settings *settings) { return takes_from(settings, NULL); }

struct counts {
  int32_t taken, touching, several; /* problems, contacts, problems of more than one step */
  int32_t mixed;                    /* problems of which a part is in dense storage */
};

/* Islands that begin with what it found take no step: laws of friction may have several
 * solutions. */
static void compare(struct extras extras, uint64_t seed, struct counts *counts) {
  static struct arrays here, there;
  *counts = (struct counts){0};
  const sap_settings settings = settings_of();
  const int most = extras.spins ? 5 : 9, least = extras.crowds ? 26 : 1;
  for (int trial = 0; trial < 80; ++trial) {
    sap_solver *one = solver_of(0), *two = solver_of(1);
    make_with(extras, (extras.joins ? 3 : 2) + trial % 3, least + trial % most, &seed);
    int32_t n_islands;
    const int32_t n_dense = count_dense(&settings, NULL, &n_islands);
    const int took = n_dense == n_islands;
    counts->taken += took;
    counts->mixed += n_dense > 0 && !took;
    REQUIRE(solve(one, &here, NULL, NULL) == SAP_OK);
    REQUIRE(solve(two, &there, here.v, NULL) == SAP_OK);
    const sap_solution *a = &here.solution, *b = &there.solution;
    counts->several += took && a->iterations > 1;
    CHECK_EQUAL(a->outcome, SAP_CONVERGED);
    CHECK(a->momentum_error <= 1e-10 && a->coulomb_error <= 1e-10);
    CHECK_EQUAL(a->n_islands, b->n_islands);
    CHECK_EQUAL(b->total_iterations, 0);
    CHECK_CLOSE(a->cost, b->cost, 1e-8 * fabs(b->cost));
    CHECK(a->complementarity_error <= 1e-8 && a->velocity_error_bound <= 4e-8 * sqrt(a->cost));
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      CHECK_CLOSE(here.v[i], there.v[i], 1e-8);
    }
    for (int32_t i = 0; i < scene.problem.n_contacts; ++i) {
      CHECK_EQUAL(here.regions[i], there.regions[i]);
      counts->touching += here.regions[i] != SAP_NO_CONTACT;
      for (int r = 3 * i; r < 3 * i + 3; ++r) {
        CHECK_CLOSE(here.gamma[r], there.gamma[r], 1e-6 * (1 + fabs(there.gamma[r])));
        CHECK_CLOSE(here.v_c[r], there.v_c[r], 1e-8);
      }
    }
    for (int32_t r = 0; extras.spins && r < 3 * spin.n; ++r) {
      CHECK_CLOSE(here.spin_gamma[r], there.spin_gamma[r], 1e-6 * (1 + fabs(there.spin_gamma[r])));
      CHECK_CLOSE(here.spin_v_c[r], there.spin_v_c[r], 1e-8);
    }
    for (int32_t i = 0; i < extras.n_rows; ++i) {
      CHECK_CLOSE(here.rows[i], there.rows[i], 1e-6 * (1 + fabs(there.rows[i])));
      CHECK_CLOSE(here.rates[i], there.rates[i], 1e-8);
    }
    sap_solver_destroy(one);
    sap_solver_destroy(two);
  }
}

static void islands_have_nothing_to_add(void) {
  static const struct {
    struct extras extras;
    uint64_t seed;
    int touching, several; /* at least so many contacts touch, fewer problems take several steps */
  } cases[] = {
      {{.n_rows = FEW}, 311, 100, 80},
      /* rows are condensed */
      {{.n_rows = ROWS}, 316, 100, 5},
      {{.n_rows = FEW, .spins = 1}, 317, 80, 80},
      {{.n_rows = ROWS, .spins = 1}, 318, 80, 80},
      {{.n_rows = FEW, .joins = 1}, 331, 80, 80},
      {{.n_rows = ROWS, .joins = 1}, 332, 80, 80},
      {{.n_rows = FEW, .spins = 1, .joins = 1}, 333, 80, 80},
      {{.n_rows = ROWS, .spins = 1, .joins = 1}, 334, 80, 80},
      /* rows couple two joints, and their other entries are zeros */
      {{.n_rows = ROWS, .couples = 1}, 341, 100, 80},
  };
  for (size_t i = 0; i < CHECK_COUNT(cases); ++i) {
    struct counts counts;
    compare(cases[i].extras, cases[i].seed, &counts);
    CHECK(counts.taken > 60);
    CHECK(counts.touching > cases[i].touching);
    CHECK(counts.several < cases[i].several);
  }
}

static void nor_where_other_components_are_left_to_them(void) {
  struct counts counts;
  compare((struct extras){.n_rows = ROWS, .crowds = 1}, 361, &counts);
  CHECK(counts.mixed > 30);
}

/* A has branches, in trees by themselves and joined; v is the same where nothing is known of
 * them. */
static void nor_where_trees_have_branches(void) {
  static struct arrays known, unknown;
  struct counts counts;
  for (int joins = 0; joins < 2; ++joins) {
    compare((struct extras){.n_rows = FEW, .branches = 1, .joins = joins}, 351 + (uint64_t)joins,
            &counts);
    CHECK(counts.taken > 60);
    CHECK(counts.touching > 80);
    sap_solver *solver = solver_of(0);
    REQUIRE(solve(solver, &known, NULL, NULL) == SAP_OK);
    scene.problem.parent = NULL;
    REQUIRE(solve(solver, &unknown, NULL, NULL) == SAP_OK);
    CHECK_ALL_CLOSE(known.v, unknown.v, scene.sizes.nv, 1e-12);
    CHECK_ALL_CLOSE(known.R_n, unknown.R_n, scene.problem.n_contacts, 1e-12);
    sap_solver_destroy(solver);
  }
}

/* If all impulses are unknowns, the step starts from v* for any guess. At rest the solve first
 * checks whether nothing moves. */
static void the_guess_does_not_matter(void) {
  double guess[SCENE_TREES * SCENE_MOST_NV];
  const sap_settings settings = settings_of();
  int32_t taken = 0;
  uint64_t seed = 342;
  for (int trial = 0; trial < 40; ++trial) {
    make(2 + trial % 3, 1 + trial % 6, &seed);
    constraints[FRICTION].n = 0;
    REQUIRE(sap_problem_sizes(&scene.problem, &scene.sizes, NULL) == SAP_OK);
    const double speed = trial % 2 == 0 ? 1 : 1e-9;
    for (int64_t i = 0; i < scene.sizes.nv; ++i) {
      guess[i] = check_random(&seed, -speed, speed);
    }
    taken += takes(&settings);
    CHECK_EQUAL(takes_from(&settings, guess), takes(&settings));
  }
  CHECK(taken > 30);
}

/* The islands solve other friction, components above the limits, and numbers that break rules. */
static void the_rest_is_left_to_the_islands(void) {
  uint64_t seed = 312;
  sap_settings settings = settings_of();
  make(2, 4, &seed);
  REQUIRE(takes(&settings));
  double *const numbers[] = {scene.mu, scene.v_hat_t, scene.J, phi0};
  for (size_t i = 0; i < CHECK_COUNT(numbers); ++i) {
    const double before = *numbers[i];
    *numbers[i] = NAN;
    CHECK(!takes(&settings));
    *numbers[i] = before;
  }
  const double mu = scene.mu[0];
  scene.mu[0] = -1;
  CHECK(!takes(&settings));
  scene.mu[0] = mu;
  sap_settings other = settings;
  other.friction = SAP_FRICTION_CONVEX;
  CHECK(!takes(&other));
  other = settings;
  other.soft_norm = 1e-3;
  CHECK(!takes(&other));
  other = settings;
  other.start = SAP_START_NEWTON;
  CHECK(!takes(&other));
  const int8_t barrier[SCENE_CONTACTS] = {SAP_BARRIER_LOG};
  scene.problem.barrier = barrier;
  CHECK(!takes(&settings));
  make(2, SAP_DENSE_IMPULSES / 3 + 1, &seed);
  CHECK(!takes(&settings));
  make_with((struct extras){.n_rows = FEW, .spins = 1, .joins = 0}, 2, 4, &seed);
  REQUIRE(takes(&settings));
  spin_mu[0] = -1;
  CHECK(!takes(&settings));
  spin_mu[0] = NAN;
  CHECK(!takes(&settings));
  spin_mu[0] = 0.1;
  spin_J[0] = NAN;
  CHECK(!takes(&settings));
}

static void errors_are_those_of_supernodal_storage(void) {
  static struct arrays out;
  uint64_t seed = 313;
  sap_solver *one = solver_of(0), *two = solver_of(1);
  make(2, 4, &seed);
  double *const numbers[] = {scene.mu + 2, scene.v_hat_t + 3, tau_d + 1};
  for (size_t i = 0; i < CHECK_COUNT(numbers); ++i) {
    const double before = *numbers[i];
    sap_error a = {0}, b = {0};
    *numbers[i] = NAN;
    CHECK_EQUAL(solve(one, &out, NULL, &a), SAP_INVALID_ARGUMENT);
    CHECK_EQUAL(solve(two, &out, NULL, &b), SAP_INVALID_ARGUMENT);
    CHECK_STRING(a.argument, b.argument);
    CHECK_STRING(a.rule, b.rule);
    CHECK_EQUAL(a.index, b.index);
    *numbers[i] = before;
  }
  sap_solver_destroy(one);
  sap_solver_destroy(two);
}

/* Results have the same bits, whatever the solver has solved before. */
static void nothing_is_remembered(void) {
  static struct arrays used, fresh;
  uint64_t seed = 315;
  sap_solver *one = solver_of(0);
  for (int trial = 0; trial < 20; ++trial) {
    sap_solver *two = solver_of(0);
    make_with(
        (struct extras){
            .n_rows = trial % 2 ? FEW : ROWS, .spins = trial % 3 == 0, .joins = trial % 4 == 0},
        3, 5, &seed);
    REQUIRE(solve(one, &used, NULL, NULL) == SAP_OK);
    REQUIRE(solve(two, &fresh, NULL, NULL) == SAP_OK);
    CHECK(memcmp(used.v, fresh.v, (size_t)scene.sizes.nv * sizeof *used.v) == 0);
    sap_solver_destroy(two);
  }
  sap_solver_destroy(one);
}

static void steps_allocate_nothing(void) {
  static struct arrays out;
  uint64_t seed = 314;
  struct counter counter = {.fail_at = -1};
  const sap_allocator memory = {counting_allocate, counting_release, &counter};
  const sap_settings settings = settings_of();
  sap_solver *solver;
  make_with((struct extras){.n_rows = ROWS, .spins = 1, .joins = 1}, 3, 6, &seed);
  REQUIRE(sap_solver_create(&solver, &settings, &memory, NULL) == SAP_OK);
  REQUIRE(solve(solver, &out, NULL, NULL) == SAP_OK);
  const long before = counter.allocations;
  for (int step = 0; step < 5; ++step) {
    phi0[step] *= 0.9;
    REQUIRE(solve(solver, &out, NULL, NULL) == SAP_OK);
  }
  CHECK_EQUAL(counter.allocations, before);
  sap_solver_destroy(solver);
}

static const check_test tests[] = {
    CHECK_TEST(islands_have_nothing_to_add),
    CHECK_TEST(nor_where_trees_have_branches),
    CHECK_TEST(nor_where_other_components_are_left_to_them),
    CHECK_TEST(the_guess_does_not_matter),
    CHECK_TEST(the_rest_is_left_to_the_islands),
    CHECK_TEST(errors_are_those_of_supernodal_storage),
    CHECK_TEST(nothing_is_remembered),
    CHECK_TEST(steps_allocate_nothing),
};
CHECK_FILE(test_dense_contacts, tests);
