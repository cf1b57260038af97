#include "mujoco/engine/world.h"

#include <math.h>

#include "base/clock.h"
#include "base/fail.h"
#include "mujoco/engine/fields.h"

/* of MuJoCo's enums */
enum { INTEGRATOR_EULER = 0, INTEGRATOR_IMPLICIT = 2, INTEGRATOR_IMPLICITFAST = 3 };
enum { CONE_PYRAMIDAL = 0, CONE_ELLIPTIC = 1 };
enum { NO_ACTUATION = 1 << 11, NO_EULER_DAMPING = 1 << 15, NO_ISLANDS = 1 << 18 };

/* ---- options -------------------------------------------------------------------------------- */

sap_mujoco_options sap_mujoco_read_options(const sap_mujoco *api, const void *model) {
  return (sap_mujoco_options){.timestep = sap_double_at(model, api->model.timestep),
                              .integrator = sap_int_at(model, api->model.integrator),
                              .cone = sap_int_at(model, api->model.cone),
                              .disableflags = sap_int_at(model, api->model.disableflags),
                              .enableflags = sap_int_at(model, api->model.enableflags)};
}

int sap_mujoco_same_options(const sap_mujoco_options *a, const sap_mujoco_options *b) {
  return a->timestep == b->timestep && a->integrator == b->integrator && a->cone == b->cone &&
         a->disableflags == b->disableflags && a->enableflags == b->enableflags;
}

static sap_status refuse(sap_error *error, const char *argument, double value, const char *rule) {
  return sap_fail(error, SAP_INVALID_ARGUMENT, argument, -1, value, rule);
}

/* MuJoCo and the stepper would do the same step */
static sap_status check_options(const sap_mujoco_options *o, const sap_stepper *stepper,
                                sap_error *error) {
  const sap_step_settings *settings = &stepper->settings;
  const int cone = settings->cone == SAP_CONE_PYRAMIDAL ? CONE_PYRAMIDAL : CONE_ELLIPTIC;
  const int flags = NO_EULER_DAMPING | NO_ISLANDS;
  if (o->timestep != settings->dt) {
    return refuse(error, "model.opt.timestep", o->timestep, "must be that of the stepper");
  }
  if (stepper->forest.nD == 0 && o->integrator != INTEGRATOR_EULER) {
    return refuse(error, "model.opt.integrator", o->integrator, "must be mjINT_EULER");
  }
  if (stepper->forest.nD > 0 && o->integrator != INTEGRATOR_IMPLICIT &&
      o->integrator != INTEGRATOR_IMPLICITFAST) {
    return refuse(error, "model.opt.integrator", o->integrator,
                  "must be mjINT_IMPLICIT or mjINT_IMPLICITFAST");
  }
  if (o->cone != cone) {
    return refuse(error, "model.opt.cone", o->cone, "must be that of the stepper");
  }
  if ((o->disableflags & flags) != flags) {
    return refuse(error, "model.opt.disableflags", o->disableflags,
                  "must have mjDSBL_EULERDAMP and mjDSBL_ISLAND");
  }
  return SAP_OK;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int fits(const sap_mujoco *a, const void *m, const sap_stepper *stepper) {
  const sap_forest *f = &stepper->forest;
  const sap_elements *e = &stepper->elements;
  return sap_int64_at(m, a->model.nv) == f->nv && sap_int64_at(m, a->model.nC) == f->nM &&
         sap_int64_at(m, a->model.nbody) == f->n_bodies &&
         sap_int64_at(m, a->model.ngeom) == f->n_geoms &&
         sap_int64_at(m, a->model.ntree) == f->n_trees &&
         (f->nD == 0 || sap_int64_at(m, a->model.nD) == f->nD) &&
         (!stepper->constrained || (sap_int64_at(m, a->model.nq) == e->nq &&
                                    sap_int64_at(m, a->model.neq) == e->n_equalities &&
                                    sap_int64_at(m, a->model.ntendon) == e->n_tendons &&
                                    sap_int64_at(m, a->model.nout) == e->n_outputs));
}

sap_status sap_mujoco_attach(sap_mujoco_world *world, const sap_mujoco *api, sap_stepper *stepper,
                             const void *model, void *data, sap_error *error) {
  if (!fits(api, model, stepper)) {
    return refuse(error, "model", NAN, "has other sizes than the forest of this stepper");
  }
  const int64_t nmocap = sap_int64_at(model, api->model.nmocap);
  *world = (sap_mujoco_world){.api = api,
                              .stepper = stepper,
                              .model = model,
                              .data = data,
                              .failure = SAP_STEP_TAKEN,
                              .started = sap_seconds()};
  world->state_length[0] = sap_int64_at(model, api->model.nq);
  world->state_length[1] = stepper->forest.nv;
  world->state_length[2] = sap_int64_at(model, api->model.na);
  world->state_length[3] = sap_int64_at(model, api->model.nu);
  world->state_length[4] = 3 * nmocap;
  world->state_length[5] = 4 * nmocap;
  world->nsensordata = sap_int64_at(model, api->model.nsensordata);
  return SAP_OK;
}

sap_status sap_mujoco_open(sap_mujoco_world *world, const sap_mujoco *api, sap_stepper *stepper,
                           const void *model, void *data, sap_error *error) {
  sap_status status = sap_mujoco_attach(world, api, stepper, model, data, error);
  if (status == SAP_OK) {
    world->options = sap_mujoco_read_options(api, model);
    status = check_options(&world->options, stepper, error);
    world->options_known = status == SAP_OK;
  }
  return status;
}

/* ---- the arrays of a step ------------------------------------------------------------------- */

static sap_field field_at(const char *contacts, ptrdiff_t offset, ptrdiff_t size) {
  return offset < 0 ? (sap_field){NULL, 0} : (sap_field){contacts + offset, size};
}

/* arrays of constrained elements; the engine vouches for what its sparse rows point at */
static sap_element_state elements_of(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const char *d = world->data;
  const int sparse = a->mj_isSparse(world->model);
  const int off = sap_int_at(world->model, a->model.disableflags) & NO_ACTUATION;
#define POINTER(name) .name = sap_pointer_at(d, a->data.name)
#define SPARSE(name) .name = sparse ? sap_pointer_at(d, a->data.name) : NULL
  return (sap_element_state){
      POINTER(qpos),
      POINTER(efc_type),
      POINTER(efc_id),
      POINTER(efc_pos),
      POINTER(efc_frictionloss),
      POINTER(efc_D),
      POINTER(efc_J),
      SPARSE(efc_J_rownnz),
      SPARSE(efc_J_rowadr),
      SPARSE(efc_J_colind),
      POINTER(ten_length),
      POINTER(ten_J),
      POINTER(actuator_length),
      POINTER(actuator_velocity),
      POINTER(moment_rownnz),
      POINTER(moment_rowadr),
      POINTER(moment_colind),
      POINTER(actuator_moment),
      POINTER(actuator_force),
      POINTER(qfrc_actuator),
      POINTER(qfrc_smooth),
      .n_constraint_entries = INT64_MAX,
      .n_moment_entries = INT64_MAX,
      .n_rows = sap_int_at(d, a->data.nefc),
      .disabled = off ? -1 : sap_int_at(world->model, a->model.disableactuator) & INT32_MAX};
#undef POINTER
#undef SPARSE
}

sap_step_arrays sap_mujoco_arrays(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const char *d = world->data, *contacts = sap_pointer_at(d, a->data.contact);
  const ptrdiff_t size = a->contact.size;
  sap_step_arrays arrays = {
      .state = {.qvel = sap_pointer_at(d, a->data.qvel),
                .M = sap_pointer_at(d, a->data.M),
                .cdof = sap_pointer_at(d, a->data.cdof),
                .subtree_com = sap_pointer_at(d, a->data.subtree_com),
                .qfrc_smooth = sap_pointer_at(d, a->data.qfrc_smooth),
                .qacc_smooth = sap_pointer_at(d, a->data.qacc_smooth),
                .qDeriv = sap_pointer_at(d, a->data.qDeriv),
                .geom_xpos = sap_pointer_at(d, a->data.geom_xpos),
                .geom_xmat = sap_pointer_at(d, a->data.geom_xmat)},
      .contacts = {.count = sap_int_at(d, a->data.ncon),
                   .left_out = world->rows_left_out,
                   .n_rows = sap_int_at(d, a->data.nefc),
                   .dist = field_at(contacts, a->contact.dist, size),
                   .pos = field_at(contacts, a->contact.pos, size),
                   .frame = field_at(contacts, a->contact.frame, size),
                   .friction = field_at(contacts, a->contact.friction, size),
                   .surface_velocity = field_at(contacts, a->contact.surfacevel, size),
                   .dim = field_at(contacts, a->contact.dim, size),
                   .geom = field_at(contacts, a->contact.geom, size),
                   .exclude = field_at(contacts, a->contact.exclude, size),
                   .row = field_at(contacts, a->contact.efc_address, size),
                   .KBIP = sap_pointer_at(d, a->data.efc_KBIP)},
      .qacc = sap_pointer_at(d, a->data.qacc),
      .qfrc_constraint = sap_pointer_at(d, a->data.qfrc_constraint),
      .efc_force = sap_pointer_at(d, a->data.efc_force),
      .memory = world->memory};
  if (world->stepper->constrained) {
    arrays.elements = elements_of(world);
  }
  return arrays;
}

/* ---- failures ------------------------------------------------------------------------------- */

void sap_mujoco_fail(sap_mujoco_world *world, sap_step_failure failure, int code, int64_t index) {
  world->failure = failure;
  world->code = code;
  world->index = index;
}

const char *sap_step_failure_name(sap_step_failure failure) {
  static const char *const names[] = {"none",  "state",    "memory",  "mujoco",
                                      "fault", "argument", "outcome", "options"};
  _Static_assert(sizeof names / sizeof *names == SAP_STEP_FAILURES, "one name per failure");
  return (unsigned)failure < SAP_STEP_FAILURES ? names[failure] : "unknown";
}
