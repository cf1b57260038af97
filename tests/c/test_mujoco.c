/* Steps and runs on an engine of our own that looks like MuJoCo from the table: in what order its
 * stages are called, what an error of it leaves, and every failure by its name. */
#include "counter.h"
#include "model.h"
#include "mujoco/guard.h"
#include "mujoco/rollout.h"
#include "mujoco/world.h"

enum { EULER_AND_ISLANDS = 1 << 15 | 1 << 18, PYRAMIDAL = 0, ELLIPTIC = 1, ERROR = 3, WARNING = 2 };

/* ---- an engine ------------------------------------------------------------------------------ */

#define COUNT(name) +1
enum { MOST_ARRAYS = 0 SAP_MUJOCO_ARRAYS(COUNT), MOST_CONSTANTS = 0 SAP_MUJOCO_CONSTANTS(COUNT) };
#undef COUNT

/* positions in SAP_MUJOCO_CONSTANTS */
#define PLACE(name) AT_##name,
enum { SAP_MUJOCO_CONSTANTS(PLACE) N_CONSTANTS };
#undef PLACE

struct engine_model {
  int64_t nq, nv, nu, na, nbody, ngeom, ntree, nC, nD, nmocap, nsensordata, neq, ntendon, npair,
      nout;
  double timestep, gravity[3];
  int integrator, cone, disableflags, enableflags, disableactuator;
  const void *constant[MOST_CONSTANTS]; /* in the order of SAP_MUJOCO_CONSTANTS */
};

struct engine_data {
  double time, energy[2];
  size_t pstack, pbase;
  int ncon, nefc, contacts_full, rows_full;
  unsigned char flg_energypos, flg_energyvel, flg_rnepost;
  void *array[MOST_ARRAYS]; /* in the order of SAP_MUJOCO_ARRAYS */
};

/* what the engine does, beside moving on */
static struct {
  char stages[64]; /* first letters */
  int n_stages;
  const char *error, *warning; /* of the position stage, or of step1 */
  int full, full_of_margins;   /* it finds no room, with its own margins or with others */
  int found;                   /* contacts */
  int finds_energy;            /* while it finds the values of sensors */
  const struct engine_model *model;
  double geom_margin[GEOMS], body_margin[BODIES], pair_margin[1]; /* that it found */
  int frames;                                                     /* of the stack that are open */
  int warnings; /* that came to the global handler */
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

static void find_contacts(struct engine_data *d) {
  d->pstack += 64;
  if (engine.warning) {
    say(WARNING, engine.warning);
  }
  if (engine.error) {
    engine.frames = 0; /* they lie in the stack that the caller gives back */
    say(ERROR, engine.error);
  }
  d->pstack -= 64;
  d->contacts_full += engine.full;
}

static void step1(const void *model, void *data) {
  CHECK(model == engine.model);
  note('1');
  find_contacts(data);
}

/* with margins in a copy of the model, or with the model itself */
static void collision(const void *model, void *data) {
  const struct engine_model *m = model;
  struct engine_data *d = data;
  CHECK(m->nv == NV && engine.frames == (m != engine.model));
  note(m == engine.model ? 'n' : 'p');
  memcpy(engine.geom_margin, m->constant[AT_geom_margin], sizeof engine.geom_margin);
  memcpy(engine.body_margin, m->constant[AT_body_margin], sizeof engine.body_margin);
  memcpy(engine.pair_margin, m->constant[AT_pair_margin], sizeof engine.pair_margin);
  d->ncon = engine.found;
  find_contacts(d);
  d->contacts_full += engine.full_of_margins && m != engine.model;
}

#define STAGE(name, letter)                         \
  static void name(const void *model, void *data) { \
    (void)data;                                     \
    CHECK(model == engine.model && !engine.frames); \
    note(letter);                                   \
  }
STAGE(kinematics, 'k')
STAGE(make_mass, 'm')
STAGE(factor_mass, 'f')
STAGE(make_rows, 'r')
STAGE(transmission, 't')
STAGE(position_energy, 'E')
STAGE(velocity_stage, 'v')
STAGE(velocity_sensors, 'w')
STAGE(velocity_energy, 'K')
STAGE(control, 'c')

/* sensors of energy find it */
static void position_sensors(const void *model, void *data) {
  struct engine_data *d = data;
  CHECK(model == engine.model && !d->flg_energypos);
  note('q');
  d->flg_energypos = (unsigned char)engine.finds_energy;
}

static sap_mujoco_stage *control_callback, *filter_callback;

static void mark(void *data) {
  (void)data;
  engine.frames++;
}

static void free_frame(void *data) {
  (void)data;
  engine.frames--;
}

static void *take(void *data, size_t bytes, size_t alignment) {
  static double memory[1 << 12];
  static size_t used;
  (void)data;
  CHECK(engine.frames > 0 && alignment <= sizeof(double));
  const size_t n = (bytes + sizeof(double) - 1) / sizeof(double);
  used = used + n > sizeof memory / sizeof *memory ? 0 : used;
  void *taken = memory + used;
  used += n;
  return taken;
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

enum {
  QPOS,
  QVEL,
  ACT,
  CTRL,
  MOCAP_POS,
  MOCAP_QUAT,
  MASS,
  CDOF,
  COM,
  XPOS,
  SMOOTH,
  FREE,
  QDERIV,
  QACC,
  FORCE
};
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

static void slopes(const void *model, void *data, int with_bias) {
  (void)model, (void)data;
  CHECK(!with_bias);
  note('d');
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
                    .mj_fwdKinematics = kinematics,
                    .mj_makeM = make_mass,
                    .mj_factorM = factor_mass,
                    .mj_collision = collision,
                    .mj_makeConstraint = make_rows,
                    .mj_transmission = transmission,
                    .mj_sensorPos = position_sensors,
                    .mj_energyPos = position_energy,
                    .mj_fwdVelocity = velocity_stage,
                    .mj_sensorVel = velocity_sensors,
                    .mj_energyVel = velocity_energy,
                    .mjcb_control = &control_callback,
                    .mjcb_contactfilter = &filter_callback,
                    .mj_markStack = mark,
                    .mj_freeStack = free_frame,
                    .mj_stackAllocByte = take,
                    .mj_fwdActuation = actuation,
                    .mj_fwdAcceleration = acceleration,
                    .mj_sensorAcc = sensors,
                    .mj_Euler = integrate,
                    .mjd_smooth_vel = slopes,
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
  api.model.size = (ptrdiff_t)sizeof(struct engine_model);
  ptrdiff_t *const constants = &api.model.body_margin;
  for (int i = 0; i < MOST_CONSTANTS; ++i) {
    constants[i] =
        (ptrdiff_t)(offsetof(struct engine_model, constant) + (size_t)i * sizeof(void *));
  }
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
  api.contact.surfacevel = -1;
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
  double body_margin[BODIES], geom_xpos[3 * GEOMS], geom_rbound[GEOMS], geom_margin[GEOMS];
  double geom_gap[GEOMS], pair_margin[1], pair_gap[1];
  int body_parentid[BODIES], geom_type[GEOMS], pair_geom1[1], pair_geom2[1];
  struct engine_model model;
  struct engine_data data;
  sap_mujoco api;
  sap_stepper *stepper;
};

/* joints and geoms of the model of model.h; q is 0 */
static void make_constants(struct setting *s) {
  static const int parents[BODIES] = {0, 0, 0, 2, 3, 0}, capsule = 3;
  memcpy(s->body_parentid, parents, sizeof parents);
  for (int g = 0; g < GEOMS; ++g) {
    s->geom_type[g] = capsule;
    s->geom_rbound[g] = 0.1;
  }
  const void *const constants[N_CONSTANTS] = {
      [AT_body_margin] = s->body_margin,     [AT_geom_rbound] = s->geom_rbound,
      [AT_geom_margin] = s->geom_margin,     [AT_geom_gap] = s->geom_gap,
      [AT_pair_margin] = s->pair_margin,     [AT_pair_gap] = s->pair_gap,
      [AT_body_parentid] = s->body_parentid, [AT_geom_type] = s->geom_type,
      [AT_pair_geom1] = s->pair_geom1,       [AT_pair_geom2] = s->pair_geom2,
  };
  memcpy(s->model.constant, constants, sizeof constants);
}

static void make(struct setting *s) {
  uint64_t seed = 3;
  memset(s, 0, sizeof *s);
  memset(&engine, 0, sizeof engine);
  make_model(&s->m, &seed);
  make_list(&s->l);
  add_contact(&s->l, 0, 1, 3, 3, &seed)->dist = -0.001;
  add_contact(&s->l, 1, 4, 3, 3, &seed)->dist = -0.002;
  s->model = (struct engine_model){.nq = NV,
                                   .nv = NV,
                                   .nbody = BODIES,
                                   .ngeom = GEOMS,
                                   .ntree = 2,
                                   .nC = NM,
                                   .npair = 1,
                                   .timestep = 0.01,
                                   .gravity = {0.0, -3.0, 4.0},
                                   .cone = ELLIPTIC,
                                   .disableflags = EULER_AND_ISLANDS};
  void *const arrays[N_USED] = {
      s->qpos,     s->m.qvel, s->none,          s->none,      s->none,          s->none,
      s->m.M,      s->m.cdof, s->m.subtree_com, s->geom_xpos, s->m.qfrc_smooth, s->m.qacc_smooth,
      s->m.qDeriv, s->qacc,   s->force,         s->none,      s->l.contacts,    s->rows};
  memcpy(s->data.array, arrays, sizeof arrays);
  make_constants(s);
  engine.model = &s->model;
  s->data.ncon = engine.found = s->l.list.count;
  s->data.nefc = s->l.list.n_rows;
  s->data.flg_rnepost = 1;
  s->api = table();
  sap_step_settings step = sap_step_settings_default(0.01);
  step.speculative = 1;
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

/* energy where it is asked for and no sensor has found it, the callback unless actuation is off */
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

/* the derivative is found after the accelerations, where the forest has its pattern */
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
    CHECK_STRING(engine.stages + engine.n_stages - 6, "1uadse");
  }
  CHECK_EQUAL(sap_mujoco_find_slopes(&world), SAP_STEP_TAKEN);
  CHECK_STRING(engine.stages + engine.n_stages - 2, "ed");
  for (size_t i = 0; i < CHECK_COUNT(explicit); ++i) {
    s.model.integrator = explicit[i];
    CHECK_EQUAL(sap_mujoco_open(&world, &s.api, s.stepper, &s.model, &s.data, &error),
                SAP_INVALID_ARGUMENT);
    CHECK_STRING(error.argument, "model.opt.integrator");
  }
  s.model.integrator = 2;
  s.model.nD = ND - 1;
  CHECK_EQUAL(sap_mujoco_open(&world, &s.api, s.stepper, &s.model, &s.data, &error),
              SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "model");
  sap_stepper_destroy(s.stepper);
}

static void margins_stay_where_they_are_not_asked_for(void) {
  struct setting s;
  sap_mujoco_world world;
  make(&s);
  open_world(&s, &world);
  filter_callback = step1;
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  filter_callback = NULL;
  s.stepper->settings.speculative = 0;
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_STRING(engine.stages, "1uase1uase");
  sap_stepper_destroy(s.stepper);
}

/* by hand, at 5/4 of a step of 10 ms under a gravity of 5 m/s^2 */
static void margins_hold_what_geoms_travel(void) {
  const double time = 0.0125, fall = 0.01 * 5.0;
  struct setting s;
  sap_mujoco_world world;
  make(&s);
  open_world(&s, &world);
  const double v[NV] = {3, 4, -12, -2, 5};
  memcpy(s.m.qvel, v, sizeof v);
  s.geom_xpos[3 * 4] = 0.3;
  s.geom_type[1] = 2;      /* a sphere */
  s.geom_margin[2] = 7.0;  /* as it is the more */
  s.geom_margin[3] = -0.1; /* on purpose */
  s.geom_gap[4] = 0.01;
  s.body_margin[5] = 0.6;
  s.pair_margin[0] = 0.01;
  s.pair_geom1[0] = 1;
  s.pair_geom2[0] = 4;
  double of_four[3];
  velocity(&s.m, 4, s.geom_xpos + 3 * 4, of_four);
  const double speed =
      sqrt(of_four[0] * of_four[0] + of_four[1] * of_four[1] + of_four[2] * of_four[2]);
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);

  const double one = time * (13 + fall), four = time * (speed + 3 * 0.1 + fall);
  const double expected[GEOMS] = {0, one, 7.0, -0.1, four, 0};
  for (int g = 0; g < GEOMS; ++g) {
    CHECK_CLOSE(engine.geom_margin[g], expected[g], 1e-14);
  }
  CHECK_CLOSE(engine.body_margin[4], four + 0.01, 1e-14);
  CHECK_CLOSE(engine.body_margin[5], 0.6, 0);
  CHECK_CLOSE(engine.pair_margin[0], one + four, 1e-14);
  CHECK(s.geom_margin[1] == 0 && s.pair_margin[0] == 0.01);

  /* at rest, and at a hundredth of what a step of gravity makes */
  memset(s.m.qvel, 0, sizeof s.m.qvel);
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_CLOSE(engine.geom_margin[1], time * 0.1 * fall, 1e-14);
  memset(s.m.qvel, 0, sizeof s.m.qvel);
  s.m.qvel[1] = 0.01 * fall;
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_CLOSE(engine.geom_margin[1], time * (0.01 + 0.1 + 0.04) * fall, 1e-14);
  sap_stepper_destroy(s.stepper);
}

/* a sphere that moves along the normal of its only contact, at 1 m/s */
static void what_cannot_close_leaves_the_list(void) {
  static const struct {
    double speed, dist, margin;
    int kept;
  } cases[] = {{-1, 0.0125 * 2.04, 0, 1}, {-1, 0.0125 * 2.06, 0, 0}, {1, 0.0125 * 0.04, 0, 1},
               {1, 0.0125 * 0.06, 0, 0},  {1, 0.01, 0.02, 1},        {1, -0.01, 0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct setting s;
    sap_mujoco_world world;
    make(&s);
    open_world(&s, &world);
    s.geom_type[1] = 2;
    s.geom_margin[1] = cases[i].margin;
    struct engine_contact *contact = s.l.contacts;
    contact->dist = cases[i].dist;
    for (int j = 0; j < 3; ++j) {
      s.m.qvel[j] = cases[i].speed * contact->frame[j];
    }
    CHECK_EQUAL(sap_mujoco_start(&world), SAP_STEP_TAKEN);
    CHECK_EQUAL(s.data.ncon, 1 + cases[i].kept);
    CHECK_EQUAL(s.l.contacts[s.data.ncon - 1].geom[1], 4);
    sap_stepper_destroy(s.stepper);
  }
}

/* what is looked for ahead needs more room than the model's own contacts */
static void without_room_margins_are_the_models(void) {
  struct setting s;
  sap_mujoco_world world;
  make(&s);
  open_world(&s, &world);
  engine.full_of_margins = 1;
  REQUIRE(sap_mujoco_step(&world) == SAP_STEP_TAKEN);
  CHECK_STRING(engine.stages, "kmfprnrtqvwuase");
  CHECK_EQUAL(s.data.contacts_full, 0);
  CHECK_EQUAL(world.record.contacts, 2);
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
  CHECK_STRING(world.message, "no such thing");
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
      CHECK_TEST(errors_come_back),
      CHECK_TEST(a_step_is_that_of_the_stepper),
      CHECK_TEST(stages_are_those_of_step1),
      CHECK_TEST(smooth_forces_of_implicit_integrators),
      CHECK_TEST(margins_stay_where_they_are_not_asked_for),
      CHECK_TEST(margins_hold_what_geoms_travel),
      CHECK_TEST(what_cannot_close_leaves_the_list),
      CHECK_TEST(without_room_margins_are_the_models),
      CHECK_TEST(failures_leave_the_state),
      CHECK_TEST(wrong_models_are_refused),
      CHECK_TEST(a_run_is_its_steps),
      CHECK_TEST(worlds_do_not_know_each_other),
  };
  return check_run(tests, CHECK_COUNT(tests), argc, argv);
}
