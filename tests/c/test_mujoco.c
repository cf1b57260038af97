/* Steps and runs on an engine of our own that looks like MuJoCo from the table: in what order its
 * stages are called, what an error of it leaves, and every failure by its name. */
#include "counter.h"
#include "model.h"
#include "mujoco/guard.h"
#include "mujoco/rollout.h"
#include "mujoco/world.h"

enum { EULER_AND_ISLANDS = 1 << 15 | 1 << 18, PYRAMIDAL = 0, ELLIPTIC = 1, ERROR = 3, WARNING = 2 };

/* ---- an engine ------------------------------------------------------------------------------ */

struct engine_model {
  int64_t nq, nv, nu, na, nbody, ngeom, ntree, nC, nmocap, nsensordata, neq, ntendon, nout;
  double timestep;
  int integrator, cone, disableflags, enableflags, disableactuator;
};

#define COUNT(name) +1
enum { MOST_ARRAYS = 0 SAP_MUJOCO_ARRAYS(COUNT) };
#undef COUNT

struct engine_data {
  double time;
  size_t pstack, pbase;
  int ncon, nefc, contacts_full, rows_full;
  unsigned char flg_rnepost;
  void *array[MOST_ARRAYS]; /* in the order of SAP_MUJOCO_ARRAYS */
};

/* what the engine does, beside moving on */
static struct {
  char stages[16]; /* first letters */
  int n_stages;
  const char *error, *warning; /* of step1 */
  int full;                    /* step1 finds no room */
  int warnings;                /* that came to the global handler */
} engine;

struct message {
  int level, topic;
  char subject[SAP_MUJOCO_MESSAGE];
};

static sap_mujoco_log *local;

static sap_mujoco_log *set_local(sap_mujoco_log *handler) {
  sap_mujoco_log *before = local;
  local = handler;
  return before;
}

static void global(const void *message) {
  engine.warnings += ((const struct message *)message)->level == WARNING;
}

static sap_mujoco_log *get_global(void) { return global; }

static void say(int level, const char *text) {
  struct message m = {.level = level};
  (void)snprintf(m.subject, sizeof m.subject, "%s", text);
  (local ? local : global)(&m);
}

static void engine_error(const char *format, ...) {
  (void)format;
  say(ERROR, "sapwood looks for the way errors take");
}

static void note(char stage) {
  if (engine.n_stages < (int)sizeof engine.stages - 1) {
    engine.stages[engine.n_stages++] = stage;
    engine.stages[engine.n_stages] = '\0';
  }
}

static void step1(const void *model, void *data) {
  struct engine_data *d = data;
  (void)model;
  note('1');
  d->pstack += 64;
  if (engine.warning) {
    say(WARNING, engine.warning);
  }
  if (engine.error) {
    say(ERROR, engine.error);
  }
  d->pstack -= 64;
  d->contacts_full += engine.full;
}

static void actuation(const void *model, void *data) {
  (void)model, (void)data;
  note('u');
}

static void acceleration(const void *model, void *data) {
  (void)model, (void)data;
  note('a');
}

static void sensors(const void *model, void *data) {
  (void)model;
  note(((struct engine_data *)data)->flg_rnepost ? 'x' : 's');
}

static void *array_of(const struct engine_data *d, int i) { return d->array[i]; }

enum { QPOS, QVEL, ACT, CTRL, MOCAP_POS, MOCAP_QUAT, MASS, CDOF, COM, SMOOTH, FREE, QACC, FORCE };
enum { SENSORS = FORCE + 1, CONTACTS, ROWS_OF_CONTACTS, N_USED };

static void integrate(const void *model, void *data) {
  struct engine_data *d = data;
  const double dt = ((const struct engine_model *)model)->timestep;
  note('e');
  for (int i = 0; i < NV; ++i) {
    ((double *)array_of(d, QVEL))[i] += dt * ((double *)array_of(d, QACC))[i];
  }
  d->time += dt;
}

static int is_sparse(const void *model) {
  (void)model;
  return 0;
}

/* a state is qvel, and spec times as long as it seems */
static int state_size(const void *model, int spec) {
  (void)model, (void)spec;
  return NV;
}

static void get_state(const void *model, const void *data, double *state, int spec) {
  (void)model, (void)spec;
  memcpy(state, array_of(data, QVEL), sizeof(double) * NV);
}

static void set_state(const void *model, void *data, const double *state, int spec) {
  (void)model, (void)spec;
  memcpy(array_of(data, QVEL), state, sizeof(double) * NV);
}

static sap_mujoco table(void) {
  sap_mujoco api = {.mj_step1 = step1,
                    .mj_fwdActuation = actuation,
                    .mj_fwdAcceleration = acceleration,
                    .mj_sensorAcc = sensors,
                    .mj_Euler = integrate,
                    .mj_isSparse = is_sparse,
                    .mj_stateSize = state_size,
                    .mj_getState = get_state,
                    .mj_setState = set_state,
                    .mju_error = engine_error,
                    ._mjPRIVATE_setTlsLogHandler = set_local,
                    ._mjPRIVATE_getGlobalLogHandler = get_global};
#define OFFSET(name) api.model.name = (ptrdiff_t)offsetof(struct engine_model, name);
  SAP_MUJOCO_SIZES(OFFSET)
  SAP_MUJOCO_OPTIONS(OFFSET)
#undef OFFSET
#define OFFSET(name) api.data.name = (ptrdiff_t)offsetof(struct engine_data, name);
  SAP_MUJOCO_NUMBERS(OFFSET)
  SAP_MUJOCO_WARNINGS(OFFSET)
#undef OFFSET
  ptrdiff_t *const arrays = &api.data.qpos;
  for (int i = 0; i < MOST_ARRAYS; ++i) {
    arrays[i] = (ptrdiff_t)(offsetof(struct engine_data, array) + (size_t)i * sizeof(void *));
  }
  api.contact.size = (ptrdiff_t)sizeof(struct engine_contact);
  api.contact.dist = (ptrdiff_t)offsetof(struct engine_contact, dist);
  api.contact.pos = (ptrdiff_t)offsetof(struct engine_contact, pos);
  api.contact.frame = (ptrdiff_t)offsetof(struct engine_contact, frame);
  api.contact.friction = (ptrdiff_t)offsetof(struct engine_contact, friction);
  api.contact.surfacevel = api.contact.adhesion = -1;
  api.contact.dim = (ptrdiff_t)offsetof(struct engine_contact, dim);
  api.contact.geom = (ptrdiff_t)offsetof(struct engine_contact, geom);
  api.contact.exclude = (ptrdiff_t)offsetof(struct engine_contact, exclude);
  api.contact.efc_address = (ptrdiff_t)offsetof(struct engine_contact, row);
  return api;
}

/* ---- a world on it -------------------------------------------------------------------------- */

struct setting {
  struct model m;
  struct list l;
  double qpos[NV], qacc[NV], force[NV], rows[3 * MOST], none[1];
  struct engine_model model;
  struct engine_data data;
  sap_mujoco api;
  sap_stepper *stepper;
};

static void make(struct setting *s) {
  uint64_t seed = 3;
  memset(s, 0, sizeof *s);
  memset(&engine, 0, sizeof engine);
  make_model(&s->m, &seed);
  make_list(&s->l);
  add_contact(&s->l, 0, 1, 3, 3, &seed);
  add_contact(&s->l, 1, 4, 3, 3, &seed);
  s->model = (struct engine_model){.nq = NV,
                                   .nv = NV,
                                   .nbody = BODIES,
                                   .ngeom = GEOMS,
                                   .ntree = 2,
                                   .nC = NM,
                                   .timestep = 0.01,
                                   .cone = ELLIPTIC,
                                   .disableflags = EULER_AND_ISLANDS};
  void *const arrays[N_USED] = {s->qpos,          s->m.qvel,        s->none,          s->none,
                                s->none,          s->none,          s->m.M,           s->m.cdof,
                                s->m.subtree_com, s->m.qfrc_smooth, s->m.qacc_smooth, s->qacc,
                                s->force,         s->none,          s->l.contacts,    s->rows};
  memcpy(s->data.array, arrays, sizeof arrays);
  s->data.ncon = s->l.list.count;
  s->data.nefc = s->l.list.n_rows;
  s->data.flg_rnepost = 1;
  s->api = table();
  const sap_step_settings step = sap_step_settings_default(0.01);
  CHECK_EQUAL(sap_stepper_create(&s->stepper, &s->m.forest, NULL, &step, NULL, NULL, NULL), SAP_OK);
}

static void open_world(struct setting *s, sap_mujoco_world *world) {
  sap_error error;
  CHECK_EQUAL(sap_mujoco_open(world, &s->api, s->stepper, &s->model, &s->data, &error), SAP_OK);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void errors_come_back(void) {
  struct setting s;
  make(&s);
  CHECK(sap_mujoco_catches_errors(&s.api));
  CHECK(local == NULL);
  sap_stepper_destroy(s.stepper);
}

/* a step is the step of the stepper between the stages of the engine */
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
  still.contacts.surface_velocity.base = still.contacts.adhesion.base = NULL;
  REQUIRE(sap_stepper_solve(other.stepper, &still, NULL) == SAP_OK);
  make(&s);
  open_world(&s, &world);
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_STRING(engine.stages, "1uase");
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
  CHECK_STRING(world.message, "no such thing");
  CHECK(s.data.pstack == 7 && local == NULL);
  CHECK_EQUAL(engine.warnings, 1);
  engine.error = engine.warning = NULL;

  engine.full = 1;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_MEMORY);
  engine.full = 0;

  s.model.disableflags |= 1;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_OPTIONS);
  s.model.disableflags &= ~1;

  s.l.contacts[1].dist = NAN;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_FAULT);
  CHECK_EQUAL(world.code, SAP_FAULT_CONTACT);
  CHECK_EQUAL(world.index, 1);
  s.l.contacts[1].dist = 0;

  s.m.M[0] = -1;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_ARGUMENT);
  CHECK_EQUAL(world.status, SAP_NOT_POSITIVE_DEFINITE);
  s.m.M[0] = 2;
  CHECK(memcmp(before, s.m.qvel, sizeof before) == 0);

  s.qpos[3] = 1e11;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_STATE);
  CHECK(world.code == 0 && world.index == 3);
  s.qpos[3] = 0;
  s.m.qvel[2] = NAN;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_STATE);
  CHECK(world.code == 1 && world.index == 2);
  CHECK_STRING(sap_step_failure_name(world.failure), "state");
  s.m.qvel[2] = 0;
  CHECK_EQUAL(sap_mujoco_step(&world), SAP_STEP_TAKEN);
  CHECK_STRING(engine.stages + engine.n_stages - 5, "1uase");
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
    CHECK_EQUAL(sap_mujoco_open(&world, &s.api, s.stepper, &s.model, &s.data, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, names[i]);
    s.model = good;
  }
  sap_stepper_destroy(s.stepper);
}

/* locked, left, and how often it was asked whether to stop */
struct watch {
  int locked, left, asked, stop_at;
};

static void lock(void *context) {
  struct watch *w = context;
  CHECK(w->locked == w->left);
  w->locked++;
}

static void leave(void *context) { ((struct watch *)context)->left++; }

static int stop(void *context, double now) {
  struct watch *w = context;
  CHECK(now > 0);
  return ++w->asked == w->stop_at;
}

static void a_run_is_its_steps(void) {
  struct setting s, other;
  sap_mujoco_world world;
  sap_step_record records[10];
  struct watch watch = {.stop_at = 3};
  make(&other);
  open_world(&other, &world);
  for (int i = 0; i < 10; ++i) {
    REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  }
  make(&s);
  open_world(&s, &world);
  world.hooks = (sap_step_hooks){&watch, lock, leave, stop};
  int64_t unconverged = -1;
  CHECK_EQUAL(sap_mujoco_run(&world, 10, records, &unconverged), 3);
  CHECK_EQUAL(unconverged, 0);
  CHECK_EQUAL(sap_mujoco_run(&world, 7, records + 3, NULL), 7);
  /* not asked after the last step */
  CHECK(watch.locked == 10 && watch.left == 10 && watch.asked == 3 + 6);
  CHECK(memcmp(s.m.qvel, other.m.qvel, sizeof s.m.qvel) == 0);
  for (int i = 0; i < 10; ++i) {
    CHECK_CLOSE(records[i].time, 0.01 * (i + 1), 1e-15);
  }
  engine.error = "at once";
  CHECK_EQUAL(sap_mujoco_run(&world, 5, NULL, NULL), 0);
  CHECK_EQUAL(world.failure, SAP_STEP_MUJOCO);
  sap_stepper_destroy(s.stepper);
  sap_stepper_destroy(other.stepper);
}

/* every world starts from its own state, whatever the one before it left */
static void worlds_do_not_know_each_other(void) {
  enum { WORLDS = 3, STEPS = 4 };
  struct setting s;
  struct sap_rollout r = {.neutral_spec = 1, .state_spec = 2, .control_spec = 4};
  make(&s);
  open_world(&s, &r.world);
  double initial[WORLDS][NV], state[WORLDS][STEPS][NV], once[WORLDS][STEPS][NV];
  int64_t taken[WORLDS] = {0};
  volatile uint8_t stopped = 0;
  for (int w = 0; w < WORLDS; ++w) {
    for (int i = 0; i < NV; ++i) {
      initial[w][i] = (w == 2 ? 0 : w) + 0.1 * i;
    }
  }
  int lengths[3];
  CHECK_EQUAL(sap_rollout_lengths(&r, &lengths[0], &lengths[1], &lengths[2]), 0);
  CHECK(lengths[0] == NV && lengths[1] == NV && lengths[2] == NV);
  r.neutral = s.qpos;
  r.initial = (struct sap_plane){initial[0], NV, 0};
  r.state = (struct sap_plane){state[0][0], STEPS * NV, NV};
  r.taken = taken;
  r.stop = &stopped;
  r.last = WORLDS;
  r.steps = STEPS;
  CHECK(sap_rollout_run(&r) && r.current == WORLDS);
  CHECK(taken[0] == STEPS && taken[1] == STEPS && taken[2] == STEPS);
  CHECK(memcmp(state[0], state[2], sizeof state[0]) == 0);
  CHECK(memcmp(state[0], state[1], sizeof state[0]) != 0);

  /* one world at a time, and a failure says which */
  r.state.base = once[0][0];
  r.first = 1;
  r.last = 2;
  CHECK(sap_rollout_run(&r));
  CHECK(memcmp(once[1], state[1], sizeof once[1]) == 0);
  initial[1][4] = INFINITY;
  CHECK(!sap_rollout_run(&r));
  CHECK(r.current == 1 && r.world.failure == SAP_STEP_STATE && r.world.index == 4);
  stopped = 1;
  CHECK(sap_rollout_run(&r) && r.current == 1);
  sap_stepper_destroy(s.stepper);
}

int main(int argc, char **argv) {
  const check_test tests[] = {
      CHECK_TEST(errors_come_back),         CHECK_TEST(a_step_is_that_of_the_stepper),
      CHECK_TEST(failures_leave_the_state), CHECK_TEST(wrong_models_are_refused),
      CHECK_TEST(a_run_is_its_steps),       CHECK_TEST(worlds_do_not_know_each_other),
  };
  return check_run(tests, CHECK_COUNT(tests), argc, argv);
}
