/* Tests steps on an engine that imitates MuJoCo: the order of its stages, the state after an error,
 * and every failure by its name. */

#include "engine.h"

static void errors_come_back(void) {
  struct setting s;
  make(&s);
  CHECK(sap_mujoco_catches_errors(&s.api));
  CHECK(local == NULL);
  sap_stepper_destroy(s.stepper);
}

/* A step is the step of the stepper between the stages of the engine. */
static void a_step_is_that_of_the_stepper(void) {
  struct setting s, other;
  sap_mujoco_world world;
  make(&other);
  double qacc[NV], force[NV], rows[3 * MOST] = {0};
  const sap_step_arrays arrays = {.state = other.m.state,
                                  .contacts = other.l.list,
                                  .qacc = qacc,
                                  .qfrc_constraint = force,
                                  .efc_force = rows};
  sap_step_arrays still = arrays;
  still.contacts.surface_velocity.base = NULL;
  REQUIRE(sap_stepper_solve(other.stepper, &still, NULL) == SAP_OK);
  make(&s);
  open_world(&s, &world);
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_STRING(engine.stages, "kmfprtqvwuase");
  CHECK(memcmp(s.qacc, qacc, sizeof qacc) == 0 && memcmp(s.force, force, sizeof force) == 0);
  CHECK(memcmp(s.rows, rows, sizeof rows) == 0);
  CHECK_EQUAL(world.record.contacts, 2);
  CHECK_CLOSE(world.record.time, 0.01, 0);
  for (int i = 0; i < NV; ++i) {
    CHECK_CLOSE(s.m.qvel[i], other.m.qvel[i] + 0.01 * qacc[i], 0);
  }
  sap_stepper_destroy(s.stepper);
  sap_stepper_destroy(other.stepper);
}

/* Energy is found where it is asked for and no sensor has found it. The callback is called unless
 * actuation is off. */
static void stages_are_those_of_step1(void) {
  static const struct {
    int enable, disable, found, control;
    const char *stages;
  } cases[] = {{0, 0, 0, 0, "kmfprtqvwuase"},
               {2, 0, 0, 0, "kmfprtqEvwKuase"},
               {2, 0, 1, 0, "kmfprtqvwuase"},
               {0, 0, 0, 1, "kmfprtqvwcuase"},
               {0, 1 << 11, 0, 1, "kmfprtqvwuase"}};
  for (int i = 0; i < 5; ++i) {
    struct setting s;
    sap_mujoco_world world;
    make(&s);
    s.model.enableflags = cases[i].enable;
    s.model.disableflags |= cases[i].disable;
    open_world(&s, &world);
    engine.finds_energy = cases[i].found;
    s.data.flg_energypos = 1;
    s.data.flg_energyvel = (unsigned char)cases[i].found;
    s.data.energy[0] = s.data.energy[1] = 1;
    control_callback = cases[i].control ? control : NULL;
    REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
    CHECK_STRING(engine.stages, cases[i].stages);
    const double energy = cases[i].enable || cases[i].found;
    CHECK(s.data.energy[0] == energy && s.data.energy[1] == energy);
    control_callback = NULL;
    sap_stepper_destroy(s.stepper);
  }
}

/* The derivative is found after the accelerations, where the forest has its pattern. */
static void smooth_forces_of_implicit_integrators(void) {
  static const int implicit[] = {2, 3}, explicit[] = {0, 1, 4};
  struct setting s;
  sap_mujoco_world world;
  sap_error error;
  make(&s);
  sap_stepper_destroy(s.stepper);
  give_slopes(&s.m);
  s.model.nD = ND;
  const sap_step_settings step = sap_step_settings_default(0.01);
  REQUIRE(sap_stepper_create(&s.stepper, &s.m.forest, NULL, &step, NULL, NULL, NULL) == SAP_OK);
  for (size_t i = 0; i < CHECK_COUNT(implicit); ++i) {
    s.model.integrator = implicit[i];
    open_world(&s, &world);
    REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
    CHECK_STRING(engine.stages + engine.n_stages - 6, "wuadse");
  }
  CHECK_EQUAL(sap_mujoco_find_forces(&world), SAP_STEP_TAKEN);
  CHECK_STRING(engine.stages + engine.n_stages - 4, "euad");
  for (size_t i = 0; i < CHECK_COUNT(explicit); ++i) {
    s.model.integrator = explicit[i];
    CHECK_EQUAL(open_with_options(&s, &world, &error), SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "model.opt.integrator");
  }
  s.model.integrator = 2;
  s.model.nD = ND - 1;
  CHECK_EQUAL(open_with_options(&s, &world, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "model");
  sap_stepper_destroy(s.stepper);
}

static void failures_leave_the_state(void) {
  struct setting s;
  sap_mujoco_world world;
  double before[NV];
  make(&s);
  open_world(&s, &world);
  memcpy(before, s.m.qvel, sizeof before);

  engine.error = "no such thing";
  engine.warning = "mind the step";
  s.data.pstack = 7;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_MUJOCO);
  CHECK_STRING(world.end.message, "no such thing");
  CHECK(s.data.pstack == 7 && local == NULL);
  CHECK_EQUAL(engine.warnings, 1);
  engine.error = engine.warning = NULL;
  engine.frames = 0;

  engine.full = 1;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_MEMORY);
  engine.full = 0;

  s.model.disableflags |= 1;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_OPTIONS);
  s.model.disableflags &= ~1;

  s.l.contacts[1].dist = NAN;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_FAULT);
  CHECK_EQUAL(world.end.code, SAP_FAULT_CONTACT);
  CHECK_EQUAL(world.end.index, 1);
  s.l.contacts[1].dist = 0;

  s.m.M[0] = -1;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_ARGUMENT);
  CHECK_EQUAL(world.end.status, SAP_NOT_POSITIVE_DEFINITE);
  s.m.M[0] = 2;
  CHECK(memcmp(before, s.m.qvel, sizeof before) == 0);

  s.qpos[3] = 1e11;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_STATE);
  CHECK(world.end.code == 0 && world.end.index == 3);
  s.qpos[3] = 0;
  s.m.qvel[2] = NAN;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_STATE);
  CHECK(world.end.code == 1 && world.end.index == 2);
  CHECK_STRING(sap_step_failure_name(world.end.failure), "state");
  s.m.qvel[2] = 0;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_TAKEN);
  CHECK_STRING(engine.stages + engine.n_stages - 13, "kmfprtqvwuase");
  sap_stepper_destroy(s.stepper);
}

static void wrong_models_are_refused(void) {
  struct setting s;
  sap_mujoco_world world;
  sap_error error;
  make(&s);
  static const char *const names[] = {"model", "model.opt.timestep", "model.opt.integrator",
                                      "model.opt.cone", "model.opt.disableflags"};
  for (int i = 0; i < 5; ++i) {
    const struct engine_model good = s.model;
    s.model.nbody += i == 0;
    s.model.timestep += i == 1;
    s.model.integrator += i == 2;
    s.model.cone = i == 3 ? PYRAMIDAL : ELLIPTIC;
    s.model.disableflags &= i == 4 ? ~(1 << 18) : -1;
    CHECK_EQUAL(open_with_options(&s, &world, &error), SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, names[i]);
    s.model = good;
  }
  sap_stepper_destroy(s.stepper);
}

/* A world is opened and closed by the functions of the public header. */
static void a_world_is_opened_and_closed(void) {
  struct setting s;
  sap_mujoco_world *world;
  sap_friction_memory *memory;
  sap_error error;
  make(&s);
  REQUIRE(sap_mujoco_open(&world, &s.api, s.stepper, &s.model, &s.data, &error) == SAP_OK);
  REQUIRE(sap_friction_memory_create(&memory, NULL) == SAP_OK);
  sap_mujoco_set_memory(world, memory);
  CHECK_EQUAL(sap_mujoco_step(world), SAP_STEP_TAKEN);
  CHECK_EQUAL(sap_mujoco_end(world)->failure, SAP_STEP_TAKEN);
  CHECK_CLOSE(sap_mujoco_record(world)->time, 0.01, 0);
  s.qpos[1] = NAN;
  CHECK_EQUAL(sap_mujoco_step(world), SAP_STEP_STATE);
  CHECK_EQUAL(sap_mujoco_end(world)->index, 1);
  CHECK_CLOSE(sap_mujoco_record(world)->time, 0.01, 0);
  sap_mujoco_close(world);
  sap_friction_memory_destroy(memory);
  s.model.nv += 1;
  CHECK_EQUAL(sap_mujoco_open(&world, &s.api, s.stepper, &s.model, &s.data, &error),
              SAP_INVALID_ARGUMENT);
  CHECK(world == NULL);
  s.model.nv -= 1;
  s.model.timestep *= 2;
  CHECK_EQUAL(sap_mujoco_open(&world, &s.api, s.stepper, &s.model, &s.data, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "model.opt.timestep");
  CHECK(world == NULL);
  sap_mujoco_close(world);
  sap_stepper_destroy(s.stepper);
}

/* A series counts as one version. */
static void tested_versions_are_known(void) {
  CHECK(sap_mujoco_is_tested(3012000) && sap_mujoco_is_tested(4000001));
  CHECK(sap_mujoco_is_tested(4000000) && sap_mujoco_is_tested(3017002));
  CHECK(!sap_mujoco_is_tested(3013000) && !sap_mujoco_is_tested(4001000));
  CHECK(!sap_mujoco_is_tested(0));
}

static const check_test tests[] = {
    CHECK_TEST(errors_come_back),
    CHECK_TEST(a_step_is_that_of_the_stepper),
    CHECK_TEST(stages_are_those_of_step1),
    CHECK_TEST(smooth_forces_of_implicit_integrators),
    CHECK_TEST(failures_leave_the_state),
    CHECK_TEST(wrong_models_are_refused),
    CHECK_TEST(a_world_is_opened_and_closed),
    CHECK_TEST(tested_versions_are_known),
};
CHECK_FILE(test_mujoco, tests);
