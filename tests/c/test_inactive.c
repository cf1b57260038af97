/* Tests the inactive set of open contacts: the solution equals that with all contacts. */
#include "model.h"
#include "step/stepper_object.h"

enum { ROWS = 3 * MOST, TRIALS = 400 };

struct outputs {
  double qacc[NV], qfrc_constraint[NV], efc_force[ROWS];
};

static const int32_t pairs[][2] = {{0, 1}, {1, 4}, {0, 3}, {1, 3}, {0, 2}, {4, 5}};

/* Makes contacts that are open, but for some, and a mass fast enough to push what is at rest into
 * others. */
static void make(struct model *m, struct list *l, uint64_t *seed) {
  make_model(m, seed);
  m->forest.barrier = NULL;
  for (int i = 0; i < NV; ++i) {
    m->qvel[i] *= i < 3 ? 5 : 0.1;
  }
  make_list(l);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
    add_contact(l, pairs[i][0], pairs[i][1], 3, 3, seed)->dist = check_random(seed, -0.002, 0.03);
  }
}

static sap_stepper *stepper_of(const struct model *m, sap_friction friction) {
  sap_step_settings step = sap_step_settings_default(0.01);
  sap_settings settings = sap_settings_default();
  step.speculative = 1;
  settings.friction = friction;
  settings.relative_tolerance = 1e-9;
  sap_stepper *stepper;
  CHECK_EQUAL(sap_stepper_create(&stepper, &m->forest, NULL, &step, &settings, NULL, NULL), SAP_OK);
  return stepper;
}

static sap_step_arrays arrays_of(const struct model *m, const struct list *l, struct outputs *o) {
  return (sap_step_arrays){.state = m->state,
                           .contacts = l->list,
                           .qacc = o->qacc,
                           .qfrc_constraint = o->qfrc_constraint,
                           .efc_force = o->efc_force};
}

/* Returns the number of contacts between two trees. */
static int32_t count_pairs(const sap_problem *problem) {
  int32_t n = 0;
  for (int32_t c = 0; c < problem->n_contacts; ++c) {
    n += problem->tree_b[c] >= 0;
  }
  return n;
}

/* Takes the step of a problem with every contact of the list, and counts its contacts and those
 * between two trees. */
static void with_all(const struct model *m, const struct list *l, double *v, int32_t *n,
                     int32_t *n_pairs, sap_outcome *outcome) {
  struct outputs unused;
  sap_stepper *stepper = stepper_of(m, SAP_FRICTION_COULOMB);
  const sap_step_arrays arrays = arrays_of(m, l, &unused);
  REQUIRE(sap_stepper_gather(stepper, &arrays, NULL) == SAP_OK);
  const sap_problem *problem = sap_stepper_problem(stepper);
  sap_settings settings = sap_settings_default();
  settings.friction = SAP_FRICTION_COULOMB;
  settings.relative_tolerance = 1e-9;
  sap_solver *solver;
  REQUIRE(sap_solver_create(&solver, &settings, NULL, NULL) == SAP_OK);
  double gamma[3 * MOST];
  sap_solution solution = {.v = v, .gamma = gamma};
  REQUIRE(sap_solver_solve(solver, problem, m->qvel, &solution, NULL) == SAP_OK);
  *n = problem->n_contacts;
  *n_pairs = count_pairs(problem);
  *outcome = solution.outcome;
  sap_solver_destroy(solver);
  sap_stepper_destroy(stepper);
}

static void the_same_velocity(void) {
  uint64_t seed = 3;
  struct model m;
  struct list l;
  struct outputs found;
  int solved = 0, waited = 0, came = 0;
  for (int trial = 0; trial < TRIALS; ++trial) {
    make(&m, &l, &seed);
    double v[NV];
    int32_t all = 0, n_pairs = 0;
    sap_outcome outcome = SAP_NON_FINITE;
    with_all(&m, &l, v, &all, &n_pairs, &outcome);
    CHECK_EQUAL(all, (int32_t)(sizeof pairs / sizeof *pairs));
    sap_stepper *stepper = stepper_of(&m, SAP_FRICTION_COULOMB);
    const sap_step_arrays arrays = arrays_of(&m, &l, &found);
    REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK);
    REQUIRE(sap_stepper_took(stepper));
    /* Coulomb's law may have no solution here, or several */
    const int both = outcome == SAP_CONVERGED && stepper->solution.outcome == SAP_CONVERGED;
    solved += both;
    for (int i = 0; i < NV && both; ++i) {
      CHECK_CLOSE(found.qacc[i] * 0.01 + m.qvel[i], v[i], 1e-6);
    }
    CHECK(n_pairs > 0);
    CHECK_EQUAL(count_pairs(sap_stepper_problem(stepper)), n_pairs);
    waited += sap_stepper_problem(stepper)->n_contacts < all;
    came += stepper->gather.inactive.all_act;
    const int32_t fallbacks = sap_stepper_record(stepper).fallbacks;
    CHECK_EQUAL((fallbacks & SAP_FALLBACK_INACTIVE_SET) != 0, stepper->gather.inactive.all_act);
    sap_stepper_destroy(stepper);
  }
  CHECK(solved > TRIALS / 2);
  CHECK(waited > TRIALS / 2);
  CHECK(came > 10);
}

/* Convex friction depends on sliding contacts, so that a gap is not enough to decide. */
static void convex_friction_lets_none_wait(void) {
  uint64_t seed = 4;
  struct model m;
  struct list l;
  struct outputs found;
  for (int trial = 0; trial < 10; ++trial) {
    make(&m, &l, &seed);
    sap_stepper *stepper = stepper_of(&m, SAP_FRICTION_CONVEX);
    const sap_step_arrays arrays = arrays_of(&m, &l, &found);
    REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK);
    CHECK_EQUAL(sap_stepper_problem(stepper)->n_contacts, l.list.count);
    sap_stepper_destroy(stepper);
  }
}

static const check_test tests[] = {CHECK_TEST(the_same_velocity),
                                   CHECK_TEST(convex_friction_lets_none_wait)};
CHECK_FILE(test_inactive, tests);
