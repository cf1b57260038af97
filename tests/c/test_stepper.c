/* Tests the stepper on the model of model.h: a step is gather, regularize, solve and scatter, to
 * the last bit; a step that fails writes nothing. */
#include "counter.h"
#include "model.h"
#include "step/scatter.h"
#include "step/stepper_object.h"

enum { ROWS = 3 * MOST };

struct outputs {
  double qacc[NV], qfrc_constraint[NV], efc_force[ROWS];
};

static sap_step_arrays arrays_of(const struct model *m, const struct list *l, struct outputs *o) {
  return (sap_step_arrays){.state = m->state,
                           .contacts = l->list,
                           .qacc = o->qacc,
                           .qfrc_constraint = o->qfrc_constraint,
                           .efc_force = o->efc_force};
}

/* Makes a mass on the floor and two trees that touch. */
static void make(struct model *m, struct list *l, uint64_t *seed) {
  make_model(m, seed);
  make_list(l);
  add_contact(l, 0, 1, 3, 3, seed);
  add_contact(l, 1, 4, 3, 3, seed);
}

static sap_stepper *stepper_of(const struct model *m, const sap_allocator *allocator) {
  const sap_step_settings step = sap_step_settings_default(0.01);
  sap_stepper *stepper;
  CHECK_EQUAL(sap_stepper_create(&stepper, &m->forest, NULL, &step, NULL, allocator, NULL), SAP_OK);
  return stepper;
}

/* Takes the parts of a step one by one. */
static void step_by_hand(const struct model *m, const struct list *l, struct outputs *o) {
  struct sap_gather g;
  sap_solver *solver;
  REQUIRE(sap_gather_create(&g, &m->forest, NULL, NULL) == SAP_OK);
  REQUIRE(sap_gather_run(&g, &m->state, &l->list, NULL, SAP_CONE_ELLIPTIC, &parameters) == SAP_OK);
  REQUIRE(sap_regularize(&g.problem, &g.parameters, g.R_t, g.R_n, g.v_hat_n, NULL, NULL) == SAP_OK);
  for (int i = 0; i < g.problem.n_contacts; ++i) {
    REQUIRE(g.barrier[i] != SAP_BARRIER_NONE);
  }
  double kappa[MOST];
  REQUIRE(sap_barrier_energy(&g.problem, &g.parameters, g.R_n, kappa, NULL) == SAP_OK);
  g.problem.kappa = kappa;
  sap_solution solution = {.v = g.v, .gamma = g.gamma};
  REQUIRE(sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK);
  REQUIRE(sap_solver_solve(solver, &g.problem, g.free_motion.v_0, &solution, NULL) == SAP_OK);
  REQUIRE(solution.outcome == SAP_CONVERGED);
  sap_scatter(&g, SAP_CONE_ELLIPTIC, 1e10, o->qacc, o->qfrc_constraint, o->efc_force);
  REQUIRE(g.fault == SAP_FAULT_NONE);
  sap_solver_destroy(solver);
  sap_gather_release(&g);
}

static void a_step_is_its_parts(void) {
  uint64_t seed = 1;
  struct model m;
  struct list l;
  static struct outputs found, expected;
  for (int trial = 0; trial < 20; ++trial) {
    make(&m, &l, &seed);
    step_by_hand(&m, &l, &expected);
    sap_stepper *stepper = stepper_of(&m, NULL);
    const sap_step_arrays arrays = arrays_of(&m, &l, &found);
    REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK);
    CHECK(sap_stepper_took(stepper));
    CHECK(memcmp(&found, &expected, sizeof found) == 0);
    CHECK_EQUAL(sap_stepper_problem(stepper)->n_contacts, 2);
    CHECK_EQUAL(sap_stepper_solution(stepper)->outcome, SAP_CONVERGED);
    CHECK_EQUAL(stepper->counts[SAP_CONVERGED], 1);
    sap_stepper_destroy(stepper);
  }
}

struct correction {
  struct model *m;
  const double *v; /* velocity that the correction should be given */
  int calls;
};

/* Doubles the smooth forces. */
static void double_forces(void *context, const double *v) {
  struct correction *c = context;
  ++c->calls;
  for (int i = 0; i < NV; ++i) {
    CHECK_CLOSE(v[i], c->v[i], 1e-15);
    c->m->qfrc_smooth[i] *= 2;
    c->m->qacc_smooth[i] *= 2;
  }
}

/* A step is corrected once, by its velocity, and then is that of the corrected forces. */
static void a_corrected_step_is_that_of_the_last_forces(void) {
  uint64_t seed = 5;
  struct model m;
  struct list l;
  static struct outputs found, expected;
  make(&m, &l, &seed);
  sap_stepper *stepper = stepper_of(&m, NULL), *first = stepper_of(&m, NULL);
  sap_step_arrays arrays = arrays_of(&m, &l, &expected);
  REQUIRE(sap_stepper_solve(first, &arrays, NULL) == SAP_OK);
  struct correction correction = {&m, sap_stepper_solution(first)->v, 0};
  arrays = arrays_of(&m, &l, &found);
  arrays.correct = double_forces;
  arrays.context = &correction;
  REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK && sap_stepper_took(stepper));
  CHECK_EQUAL(correction.calls, 1);
  CHECK_EQUAL(stepper->counts[SAP_CONVERGED], 1);
  CHECK_EQUAL(sap_stepper_record(stepper).fallbacks & SAP_FALLBACK_INACTIVE_SET, 0);
  CHECK(sap_stepper_solution(stepper)->iterations > sap_stepper_solution(first)->iterations);
  arrays = arrays_of(&m, &l, &expected);
  REQUIRE(sap_stepper_solve(first, &arrays, NULL) == SAP_OK);
  for (int i = 0; i < NV; ++i) {
    CHECK_CLOSE(found.qacc[i], expected.qacc[i], 1e-4 * (1 + fabs(expected.qacc[i])));
  }
  sap_stepper_destroy(first);
  sap_stepper_destroy(stepper);
}

/* A solution that is handed over is written alike, and only one that fits. */
static void writing_is_the_end_of_a_step(void) {
  uint64_t seed = 2;
  struct model m;
  struct list l;
  static struct outputs found, expected;
  make(&m, &l, &seed);
  add_contact(&l, 0, 3, 3, 3, &seed);
  sap_stepper *first = stepper_of(&m, NULL), *second = stepper_of(&m, NULL);
  sap_step_arrays arrays = arrays_of(&m, &l, &expected);
  REQUIRE(sap_stepper_solve(first, &arrays, NULL) == SAP_OK && sap_stepper_took(first));
  const sap_solution *s = sap_stepper_solution(first);
  arrays = arrays_of(&m, &l, &found);
  REQUIRE(sap_stepper_gather(second, &arrays, NULL) == SAP_OK);
  CHECK(!sap_stepper_took(second) && sap_stepper_solution(second) == NULL);
  const sap_problem *p = sap_stepper_problem(second), *q = sap_stepper_problem(first);
  CHECK(memcmp(p->R_n, q->R_n, 3 * sizeof(double)) == 0);
  CHECK(memcmp(p->v_hat_n, q->v_hat_n, 3 * sizeof(double)) == 0);

  struct sap_found good = {.v = s->v, .gamma = s->gamma, .n_v = NV, .n_gamma = 9};
  struct sap_found wrong[4] = {good, good, good, good};
  wrong[0].n_v = NV - 1;
  wrong[1].n_gamma = 6;
  wrong[2].n_group_gamma = 1;
  wrong[3].n_efc_force = 1;
  for (int i = 0; i < 4; ++i) {
    CHECK(!sap_stepper_write(second, &arrays, &wrong[i]));
  }
  arrays.contacts.n_rows--;
  CHECK(!sap_stepper_write(second, &arrays, &good));
  arrays.contacts.n_rows++;
  CHECK(found.qacc[0] == 0 && found.efc_force[0] == 0);
  CHECK(sap_stepper_write(second, &arrays, &good));
  CHECK(memcmp(&found, &expected, sizeof found) == 0);
  /* forces of contacts that the problem does not have are added to the rows */
  double others[9] = {0};
  REQUIRE(arrays.contacts.n_rows <= 9);
  others[1] = 2.0;
  good.efc_force = others;
  good.n_efc_force = arrays.contacts.n_rows;
  CHECK(sap_stepper_write(second, &arrays, &good));
  CHECK_CLOSE(found.efc_force[1], expected.efc_force[1] + 2.0, 1e-12);
  CHECK_CLOSE(found.efc_force[0], expected.efc_force[0], 0);
  sap_stepper_destroy(first);
  sap_stepper_destroy(second);
}

/* Places come from the list, forces are those in the rows of the engine; a problem that was not
 * solved has none. */
static void contacts_are_told(void) {
  uint64_t seed = 6;
  struct model m;
  struct list l;
  static struct outputs o;
  static const double none[3];
  sap_contact_record records[2], gathered[2];
  make_model(&m, &seed);
  make_list(&l);
  add_contact(&l, 0, 5, 3, 3, &seed); /* two static bodies: left out */
  add_contact(&l, 0, 1, 3, 3, &seed)->dist = -0.01;
  add_contact(&l, 1, 4, 3, 3, &seed)->dist = -0.01;
  sap_stepper *stepper = stepper_of(&m, NULL);
  const sap_step_arrays arrays = arrays_of(&m, &l, &o);
  REQUIRE(sap_stepper_gather(stepper, &arrays, NULL) == SAP_OK);
  REQUIRE(sap_stepper_problem(stepper)->n_contacts == 2);
  sap_stepper_contacts(stepper, gathered);
  REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK && sap_stepper_took(stepper));
  sap_stepper_contacts(stepper, records);
  for (int c = 0; c < 2; ++c) {
    const sap_contact_record *told = &records[c];
    const struct engine_contact *listed = &l.contacts[c + 1];
    CHECK_EQUAL(told->index, c + 1);
    CHECK_EQUAL(told->dim, 3);
    CHECK(memcmp(told->geom, listed->geom, sizeof told->geom) == 0);
    CHECK(memcmp(told->position, listed->pos, sizeof told->position) == 0);
    CHECK(memcmp(told->frame, listed->frame + 3, 6 * sizeof(double)) == 0);
    CHECK(memcmp(told->frame + 6, listed->frame, 3 * sizeof(double)) == 0);
    CHECK(told->distance == listed->dist);
    const double *row = o.efc_force + listed->row;
    CHECK(told->force[2] > 0);
    CHECK(told->force[0] == row[1] && told->force[1] == row[2] && told->force[2] == row[0]);
    CHECK(memcmp(told->torque, none, sizeof none) == 0);
    CHECK_EQUAL(gathered[c].region, SAP_NO_CONTACT);
    CHECK(memcmp(gathered[c].force, none, sizeof none) == 0);
    CHECK(memcmp(gathered[c].frame, told->frame, sizeof told->frame) == 0);
  }
  sap_stepper_destroy(stepper);
}

static void faults_write_nothing(void) {
  uint64_t seed = 3;
  struct model m;
  struct list l;
  static struct outputs o;
  static const struct outputs untouched;
  int64_t index;
  make(&m, &l, &seed);
  sap_stepper *stepper = stepper_of(&m, NULL);
  const sap_step_arrays arrays = arrays_of(&m, &l, &o);
  l.contacts[1].dist = NAN;
  REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK);
  CHECK(!sap_stepper_took(stepper) && sap_stepper_solution(stepper) == NULL);
  CHECK_EQUAL(sap_stepper_fault(stepper, &index), SAP_FAULT_CONTACT);
  CHECK_EQUAL(index, 1);
  CHECK_STRING(sap_fault_name(sap_stepper_fault(stepper, NULL)), "contact");
  CHECK_EQUAL(sap_stepper_problem(stepper)->n_contacts, 0);
  l.contacts[1].dist = 0.001;

  /* after the solve */
  stepper->settings.acceleration_limit = 1e-3;
  REQUIRE(sap_stepper_solve(stepper, &arrays, NULL) == SAP_OK);
  CHECK(!sap_stepper_took(stepper) && sap_stepper_solution(stepper) != NULL);
  CHECK_EQUAL(sap_stepper_fault(stepper, NULL), SAP_FAULT_ACCELERATION);
  CHECK(memcmp(&o, &untouched, sizeof o) == 0);
  CHECK_EQUAL(stepper->counts[SAP_CONVERGED], 0);

  /* a mass that is none is an error of the solver, and the next step forgets it */
  sap_error error;
  stepper->settings.acceleration_limit = 1e10;
  const double mass = m.M[0];
  m.M[0] = -1;
  CHECK_EQUAL(sap_stepper_solve(stepper, &arrays, &error), SAP_NOT_POSITIVE_DEFINITE);
  CHECK_STRING(error.argument, "A");
  CHECK(!sap_stepper_took(stepper) && sap_stepper_problem(stepper)->n_contacts == 0);
  CHECK_EQUAL(sap_stepper_gather(stepper, &arrays, &error), SAP_NOT_POSITIVE_DEFINITE);
  m.M[0] = mass;
  CHECK(memcmp(&o, &untouched, sizeof o) == 0);
  CHECK_EQUAL(sap_stepper_solve(stepper, &arrays, NULL), SAP_OK);
  CHECK(sap_stepper_took(stepper));
  sap_stepper_destroy(stepper);
}

static void wrong_arguments_are_named(void) {
  uint64_t seed = 4;
  struct model m;
  sap_stepper *stepper;
  sap_error error;
  make_model(&m, &seed);
  static const char *const names[] = {
      "dt", "sigma", "beta", "delassus", "cone", "acceleration_limit", "slip_speed", "slip_rate"};
  for (int i = 0; i < 8; ++i) {
    sap_step_settings step = sap_step_settings_default(0.01);
    step.dt = i == 0 ? 0.0 : step.dt;
    step.sigma = i == 1 ? NAN : step.sigma;
    step.beta = i == 2 ? -1.0 : step.beta;
    step.delassus = i == 3 ? (sap_delassus)7 : step.delassus;
    step.cone = i == 4 ? (sap_cone)2 : step.cone;
    step.acceleration_limit = i == 5 ? NAN : step.acceleration_limit;
    step.slip_speed = i == 6 ? -1.0 : step.slip_speed;
    step.slip_rate = i == 7 ? INFINITY : step.slip_rate;
    CHECK_EQUAL(sap_stepper_create(&stepper, &m.forest, NULL, &step, NULL, NULL, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, names[i]);
    CHECK(stepper == NULL);
  }
  const sap_step_settings step = sap_step_settings_default(0.01);
  m.friction[2] = -1;
  CHECK_EQUAL(sap_stepper_create(&stepper, &m.forest, NULL, &step, NULL, NULL, &error),
              SAP_INVALID_ARGUMENT);
  CHECK(strcmp(error.argument, "friction") == 0 && error.index == 2);
  m.friction[2] = 1;
  sap_settings settings = sap_settings_default();
  settings.max_iterations = -1;
  CHECK_EQUAL(sap_stepper_create(&stepper, &m.forest, NULL, &step, &settings, NULL, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "max_iterations");
  const sap_elements elements = {.n_limits = -1};
  CHECK_EQUAL(sap_stepper_create(&stepper, &m.forest, &elements, &step, NULL, NULL, &error),
              SAP_INVALID_ARGUMENT);
  CHECK(strcmp(error.argument, "n_limits") == 0 && stepper == NULL);
  m.forest.n_geoms = -1;
  CHECK_EQUAL(sap_stepper_create(&stepper, &m.forest, NULL, &step, NULL, NULL, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "n_geoms");
  sap_stepper_destroy(NULL);
}

static sap_status take_steps(const sap_allocator *allocator, struct counter *counter) {
  uint64_t seed = 5;
  struct model m;
  struct list l;
  struct outputs o;
  make(&m, &l, &seed);
  const sap_step_arrays arrays = arrays_of(&m, &l, &o);
  const sap_step_settings step = sap_step_settings_default(0.01);
  sap_stepper *stepper;
  sap_status status = sap_stepper_create(&stepper, &m.forest, NULL, &step, NULL, allocator, NULL);
  if (status == SAP_OK) {
    status = sap_stepper_solve(stepper, &arrays, NULL);
  }
  if (stepper && status != SAP_OK) {
    /* nothing is left of a problem that was not finished */
    CHECK_EQUAL(sap_stepper_problem(stepper)->n_contacts, 0);
  } else if (stepper) {
    const long before = counter->allocations;
    l.list.count = 1;
    const sap_step_arrays fewer = arrays_of(&m, &l, &o);
    for (int i = 0; i < 5; ++i) {
      m.qvel[i] += 0.1;
      CHECK_EQUAL(sap_stepper_solve(stepper, i % 2 ? &fewer : &arrays, NULL), SAP_OK);
    }
    CHECK_EQUAL(counter->allocations, before);
  }
  sap_stepper_destroy(stepper);
  return status;
}

/* Every allocation fails in turn; later steps allocate nothing. */
static void memory_is_given_back(void) { CHECK(fail_allocations(take_steps) > 1); }

static const check_test tests[] = {
    CHECK_TEST(a_step_is_its_parts),
    CHECK_TEST(a_corrected_step_is_that_of_the_last_forces),
    CHECK_TEST(writing_is_the_end_of_a_step),
    CHECK_TEST(contacts_are_told),
    CHECK_TEST(faults_write_nothing),
    CHECK_TEST(wrong_arguments_are_named),
    CHECK_TEST(memory_is_given_back),
};
CHECK_FILE(test_stepper, tests);
