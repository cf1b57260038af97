/* An engine of our own that looks like MuJoCo from the table, and a world on it: it notes in what
 * order its stages are called, and fails where it is told to. */
#ifndef SAPWOOD_TESTS_ENGINE_H
#define SAPWOOD_TESTS_ENGINE_H

#include "model.h"
#include "mujoco/engine/guard.h"
#include "mujoco/engine/world.h"
#include "mujoco/stages/step.h"

enum { EULER_AND_ISLANDS = 1 << 15 | 1 << 18, PYRAMIDAL = 0, ELLIPTIC = 1, ERROR = 3, WARNING = 2 };

/* ---- an engine ------------------------------------------------------------------------------ */

/* the fields that C reads, in the order of the table */
#define MEMBER_SIZE(name) int64_t name;
#define MEMBER_WORD(name) size_t name;
#define MEMBER_BOOL(name) unsigned char name;
#define MEMBER_INT(name) int name;
#define MEMBER_NUM(name) double name;
#define MEMBER_NUM_ROW(name) double name[3];
#define MEMBER_INTS(name) int *name;
#define MEMBER_BOOLS(name) unsigned char *name;
#define MEMBER_FLOATS(name) float *name;
#define MEMBER_NUMS(name) double *name;
#define MEMBER_CONTACTS(name) struct engine_contact *name;
#define MEMBER(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(MEMBER_##type(name))
#define COUNTER(name, warning) int name;

/* clang-format off */
struct engine_model {
  SAP_MUJOCO_MODEL(MEMBER)
  SAP_MUJOCO_OPTION(MEMBER)
};

struct engine_data {
  SAP_MUJOCO_DATA(MEMBER)
  SAP_MUJOCO_WARNINGS(COUNTER)
};
/* clang-format on */

/* The behaviour and the records of the engine. */
static struct {
  char stages[64]; /* first letters */
  int n_stages;
  const char *error, *warning; /* error and warning of the collision stage */
  const char *late_error;      /* error of the sensors of accelerations */
  const char *size_error;      /* error of the length of a state */
  int full, full_of_margins;   /* it finds no room, with its own margins or with others */
  int found, n_rows;           /* contacts, and rows */
  int finds_energy;            /* while it finds the values of sensors */
  const struct engine_model *model;
  double geom_margin[GEOMS], body_margin[BODIES]; /* that it found */
  /* explicit pairs, likewise */
  struct engine_pair {
    int geom[2], dim;
    double margin, gap, solref[2], solimp[5], friction[5], adhesion;
  } pair[16];
  int n_pairs, n_colliding; /* bodies that may meet beside them */
  int is_nothing;           /* a model without bodies */
  int frames;               /* open frames of the stack */
  int warnings;             /* warnings of the global handler */
} engine;

struct message {
  int level, topic;
  char subject[SAP_MUJOCO_MESSAGE];
};

static sap_mujoco_log *local;

static inline sap_mujoco_log *set_local(sap_mujoco_log *handler) {
  sap_mujoco_log *before = local;
  local = handler;
  return before;
}

static inline void global(const void *message) {
  engine.warnings += ((const struct message *)message)->level == WARNING;
}

static inline sap_mujoco_log *get_global(void) { return global; }

static inline void say(int level, const char *text) {
  struct message m = {.level = level};
  (void)snprintf(m.subject, sizeof m.subject, "%s", text);
  (local ? local : global)(&m);
}

static inline void engine_error(const char *format, ...) {
  (void)format;
  say(ERROR, "sapwood looks for the way errors take");
}

static inline void note(char stage) {
  if (engine.n_stages < (int)sizeof engine.stages - 1) {
    engine.stages[engine.n_stages++] = stage;
    engine.stages[engine.n_stages] = '\0';
  }
}

static inline void find_contacts(struct engine_data *d) {
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

/* Lists contacts with the margins of the model, which may be a copy. */
static inline void collision(const void *model, void *data) {
  const struct engine_model *m = model;
  struct engine_data *d = data;
  CHECK(m->nv == (m->nbody > 0 ? NV : 0) && engine.frames == (m != engine.model));
  note(m == engine.model ? 'n' : 'p');
  engine.is_nothing = m->nbody == 0;
  if (!engine.is_nothing) {
    memcpy(engine.geom_margin, m->geom_margin, sizeof engine.geom_margin);
    memcpy(engine.body_margin, m->body_margin, sizeof engine.body_margin);
  }
  engine.n_pairs = (int)m->npair;
  for (int i = 0; i < engine.n_pairs; ++i) {
    struct engine_pair *pair = engine.pair + i;
    pair->geom[0] = m->pair_geom1[i];
    pair->geom[1] = m->pair_geom2[i];
    pair->dim = m->pair_dim[i];
    pair->margin = m->pair_margin[i];
    pair->gap = m->pair_gap[i];
    pair->adhesion = m->pair_adhesion[i];
    memcpy(pair->solref, m->pair_solref + 2 * i, sizeof pair->solref);
    memcpy(pair->solimp, m->pair_solimp + 5 * i, sizeof pair->solimp);
    memcpy(pair->friction, m->pair_friction + 5 * i, sizeof pair->friction);
  }
  engine.n_colliding = 0;
  for (int b = 0; b < (int)m->nbody; ++b) {
    engine.n_colliding += m->body_contype[b] != 0 || m->body_conaffinity[b] != 0;
  }
  d->ncon = engine.found;
  d->nefc = 0;
  find_contacts(d);
  d->contacts_full += engine.full_of_margins && m != engine.model;
}

#define STAGE(name, letter)                                \
  static inline void name(const void *model, void *data) { \
    (void)data;                                            \
    CHECK(model == engine.model && !engine.frames);        \
    note(letter);                                          \
  }
STAGE(kinematics, 'k')
STAGE(poses, 'i')
STAGE(centres, 'o')
STAGE(tendons, 'l')
STAGE(make_mass, 'm')
STAGE(factor_mass, 'f')
STAGE(transmission, 't')
STAGE(position_energy, 'E')
STAGE(velocity_stage, 'v')
STAGE(velocity_sensors, 'w')
STAGE(velocity_energy, 'K')
STAGE(control, 'c')

static inline void make_rows(const void *model, void *data) {
  CHECK(model == engine.model && !engine.frames);
  note('r');
  ((struct engine_data *)data)->nefc = engine.n_rows;
}

/* Counts the calls; sensors of energy find it. */
static inline void position_sensors(const void *model, void *data) {
  struct engine_data *d = data;
  CHECK(model == engine.model && !d->flg_energypos);
  note('q');
  d->flg_energypos = (unsigned char)engine.finds_energy;
}

static sap_mujoco_stage *control_callback, *filter_callback, *other_callback;

static inline void mark(void *data) {
  (void)data;
  engine.frames++;
}

static inline void free_frame(void *data) {
  (void)data;
  engine.frames--;
}

static inline void *take(void *data, size_t bytes, size_t alignment) {
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

static inline void actuation(const void *model, void *data) {
  (void)model, (void)data;
  note('u');
}

static inline void acceleration(const void *model, void *data) {
  (void)model, (void)data;
  note('a');
}

static inline void sensors(const void *model, void *data) {
  (void)model;
  note(((struct engine_data *)data)->flg_rnepost ? 'x' : 's');
  if (engine.late_error) {
    say(ERROR, engine.late_error);
  }
}

static inline void integrate(const void *model, void *data) {
  struct engine_data *d = data;
  const double dt = ((const struct engine_model *)model)->timestep;
  note('e');
  for (int i = 0; i < NV; ++i) {
    d->qvel[i] += dt * d->qacc[i];
  }
  d->time += dt;
}

static inline void slopes(const void *model, void *data, int with_bias) {
  (void)model, (void)data;
  CHECK(!with_bias);
  note('d');
}

static inline void move_positions(const void *model, double *qpos, const double *qvel, double dt) {
  (void)model, (void)qpos, (void)qvel, (void)dt;
}

static inline int is_sparse(const void *model) {
  (void)model;
  return 0;
}

/* Returns the size of a state, which is qvel, and spec times as long as it seems. */
static inline int state_size(const void *model, int spec) {
  (void)model, (void)spec;
  if (engine.size_error) {
    say(ERROR, engine.size_error);
  }
  return NV;
}

static inline void get_state(const void *model, const void *data, double *state, int spec) {
  (void)model, (void)spec;
  memcpy(state, ((const struct engine_data *)data)->qvel, sizeof(double) * NV);
}

static inline void set_state(const void *model, void *data, const double *state, int spec) {
  (void)model, (void)spec;
  memcpy(((struct engine_data *)data)->qvel, state, sizeof(double) * NV);
}

/* all speeds of a world that is reset are its keyframe */
static inline void reset(const void *model, void *data, int key) {
  (void)model;
  note('R');
  for (int i = 0; i < NV; ++i) {
    ((struct engine_data *)data)->qvel[i] = key;
  }
}

static inline sap_mujoco table(void) {
  sap_mujoco api = {.mj_fwdKinematics = kinematics,
                    .mj_kinematics = poses,
                    .mj_comPos = centres,
                    .mj_tendon = tendons,
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
                    .mjcb_passive = &other_callback,
                    .mjcb_sensor = &other_callback,
                    .mjcb_act_dyn = &other_callback,
                    .mjcb_act_gain = &other_callback,
                    .mjcb_act_bias = &other_callback,
                    .mj_markStack = mark,
                    .mj_freeStack = free_frame,
                    .mj_stackAllocByte = take,
                    .mj_fwdActuation = actuation,
                    .mj_fwdAcceleration = acceleration,
                    .mj_sensorAcc = sensors,
                    .mj_Euler = integrate,
                    .mjd_smooth_vel = slopes,
                    .mj_integratePos = move_positions,
                    .mj_isSparse = is_sparse,
                    .mj_stateSize = state_size,
                    .mj_getState = get_state,
                    .mj_setState = set_state,
                    .mj_resetDataKeyframe = reset,
                    .mju_error = engine_error,
                    ._mjPRIVATE_setTlsLogHandler = set_local,
                    ._mjPRIVATE_getGlobalLogHandler = get_global};
#define OFFSET(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(api.model.name = (ptrdiff_t)offsetof(struct engine_model, name);)
  SAP_MUJOCO_MODEL(OFFSET)
  SAP_MUJOCO_OPTION(OFFSET)
#undef OFFSET
#define OFFSET(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(api.data.name = (ptrdiff_t)offsetof(struct engine_data, name);)
  SAP_MUJOCO_DATA(OFFSET)
#undef OFFSET
#define OFFSET(name, warning) api.data.name = (ptrdiff_t)offsetof(struct engine_data, name);
  SAP_MUJOCO_WARNINGS(OFFSET)
#undef OFFSET
  api.model.size = (ptrdiff_t)sizeof(struct engine_model);
  api.model.contact_sensor = 42;
  api.contact.size = (ptrdiff_t)sizeof(struct engine_contact);
  api.contact.dist = (ptrdiff_t)offsetof(struct engine_contact, dist);
  api.contact.pos = (ptrdiff_t)offsetof(struct engine_contact, pos);
  api.contact.frame = (ptrdiff_t)offsetof(struct engine_contact, frame);
  api.contact.friction = (ptrdiff_t)offsetof(struct engine_contact, friction);
  api.contact.solref = (ptrdiff_t)offsetof(struct engine_contact, solref);
  api.contact.solimp = (ptrdiff_t)offsetof(struct engine_contact, solimp);
  api.contact.surfacevel = -1;
  api.contact.dim = (ptrdiff_t)offsetof(struct engine_contact, dim);
  api.contact.geom = (ptrdiff_t)offsetof(struct engine_contact, geom);
  api.contact.exclude = (ptrdiff_t)offsetof(struct engine_contact, exclude);
  api.contact.efc_address = (ptrdiff_t)offsetof(struct engine_contact, row);
  return api;
}

/* ---- a world on it -------------------------------------------------------------------------- */

enum { MOST_MODEL = 1 << 15 }; /* bytes of struct mjModel */

struct setting {
  struct model m;
  struct list l;
  double qpos[NV], qacc[NV], force[NV], rows[3 * MOST], none[1];
  double body_margin[BODIES], geom_xpos[3 * GEOMS], geom_xmat[9 * GEOMS], geom_rbound[GEOMS],
      geom_margin[GEOMS];
  double dof_frictionloss[NV], tendon_frictionloss[1];
  double geom_gap[GEOMS], geom_solmix[GEOMS], geom_solref[2 * GEOMS], geom_solimp[5 * GEOMS],
      geom_friction[3 * GEOMS], geom_adhesion[GEOMS];
  double pair_margin[1], pair_gap[1], pair_solref[2], pair_solreffriction[2], pair_solimp[5],
      pair_friction[5], pair_adhesion[1];
  double xipos[3 * BODIES], ximat[9 * BODIES], geom_size[3 * GEOMS], geom_aabb[6 * GEOMS],
      bvh_aabb[6 * BODIES];
  double qpos_spring[NV], jnt_stiffness[1], jnt_stiffnesspoly[2], tendon_stiffness[1],
      tendon_stiffnesspoly[2], tendon_damping[1], tendon_dampingpoly[2], tendon_lengthspring[2];
  double actuator_gainprm[10], actuator_biasprm[10], actuator_forcerange[2];
  int actuator_trntype[1], actuator_gaintype[1], actuator_biastype[1], actuator_outadr[1],
      actuator_outnum[1], actuator_group[1];
  int jnt_type[1], jnt_dofadr[1], jnt_qposadr[1], dof_treeid[NV];
  int D_rownnz[NV], D_rowadr[NV], D_colind[NV], ten_J_rownnz[1], ten_J_rowadr[1], ten_J_colind[1];
  double jnt_solref[2], jnt_solimp[5], eq_solref[2], eq_solimp[5], tendon_solref_lim[2],
      tendon_solimp_lim[5];
  unsigned char jnt_limited[1], actuator_forcelimited[1];
  int body_bvhadr[BODIES], body_contype[BODIES], body_conaffinity[BODIES], exclude_signature[1];
  int body_rootid[BODIES], body_dofnum[BODIES], body_dofadr[BODIES], dof_parentid[NV];
  int body_parentid[BODIES], geom_type[GEOMS], geom_contype[GEOMS], geom_conaffinity[GEOMS];
  int geom_condim[GEOMS], geom_priority[GEOMS];
  int pair_geom1[1], pair_geom2[1], pair_dim[1];
  int geom_dataid[GEOMS], mesh_vertadr[2], mesh_vertnum[2];
  int site_bodyid[1], sensor_type[2], sensor_needstage[2], sensor_objid[2], efc_id[3 * MOST];
  float mesh_vert[6 * 3];
  struct engine_model model;
  struct engine_data data;
  sap_mujoco api;
  sap_stepper *stepper;
  _Alignas(struct sap_kept_copies) char copies[sizeof(struct sap_kept_copies) +
                                               SAP_KEPT_COPIES * MOST_MODEL];
};

/* Makes the constants for joints and geoms of the model of model.h; q is 0. */
static inline void make_constants(struct setting *s) {
  static const int parents[BODIES] = {0, 0, 0, 2, 3, 0}, capsule = 3;
  memcpy(s->body_parentid, parents, sizeof parents);
  for (int g = 0; g < GEOMS; ++g) {
    s->geom_type[g] = capsule;
    s->geom_rbound[g] = 0.1;
    s->geom_contype[g] = g % 2;
    s->geom_conaffinity[g] = 1 - g % 2;
    s->body_contype[g] = s->body_conaffinity[g] = 1;
    s->geom_size[3 * g] = s->geom_size[3 * g + 1] = 1.0;
    s->body_bvhadr[g] = g;
    for (int j = 0; j < 3; ++j) {
      s->geom_aabb[6 * g + 3 + j] = s->bvh_aabb[6 * g + 3 + j] = 1.0;
      s->geom_xmat[9 * g + 4 * j] = s->ximat[9 * g + 4 * j] = 1.0;
    }
  }
#define POINT_SIZE(name)
#define POINT_INTS(name) s->model.name = s->name;
#define POINT_BOOLS(name) s->model.name = s->name;
#define POINT_FLOATS(name) s->model.name = s->name;
#define POINT_NUMS(name) s->model.name = s->name;
#define POINT(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(POINT_##type(name))
  SAP_MUJOCO_MODEL(POINT)
}

static inline void make_state(struct setting *s) {
  s->data = (struct engine_data){.narena = 1 << 20,
                                 .flg_rnepost = 1,
                                 .ncon = s->l.list.count,
                                 .qpos = s->qpos,
                                 .qvel = s->m.qvel,
                                 .act = s->none,
                                 .ctrl = s->none,
                                 .mocap_pos = s->none,
                                 .mocap_quat = s->none,
                                 .M = s->m.M,
                                 .cdof = s->m.cdof,
                                 .subtree_com = s->m.subtree_com,
                                 .xipos = s->xipos,
                                 .ximat = s->ximat,
                                 .geom_xpos = s->geom_xpos,
                                 .geom_xmat = s->geom_xmat,
                                 .qfrc_smooth = s->m.qfrc_smooth,
                                 .qacc_smooth = s->m.qacc_smooth,
                                 .qDeriv = s->m.qDeriv,
                                 .qacc = s->qacc,
                                 .qfrc_constraint = s->force,
                                 .sensordata = s->none,
                                 .contact = s->l.contacts,
                                 .efc_force = s->rows,
                                 .efc_id = s->efc_id};
}

static inline void make(struct setting *s) {
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
  make_state(s);
  make_constants(s);
  engine.model = &s->model;
  engine.found = s->l.list.count;
  engine.n_rows = s->l.list.n_rows;
  s->api = table();
  sap_step_settings step = sap_step_settings_default(0.01);
  step.speculative = 1;
  CHECK_EQUAL(sap_stepper_create(&s->stepper, &s->m.forest, NULL, &step, NULL, NULL, NULL), SAP_OK);
}

static inline sap_status open_with_options(struct setting *s, sap_mujoco_world *world,
                                           sap_error *error) {
  const sap_status status =
      sap_mujoco_attach(world, &s->api, s->stepper, &s->model, &s->data, error);
  world->copies = memset(s->copies, 0, sizeof s->copies);
  return status == SAP_OK ? sap_mujoco_accept_options(world, error) : status;
}

/* Opens the world in memory of the test, as sap_mujoco_open() does it elsewhere. */
static inline void open_world(struct setting *s, sap_mujoco_world *world) {
  sap_error error;
  CHECK_EQUAL(open_with_options(s, world, &error), SAP_OK);
}

#endif
