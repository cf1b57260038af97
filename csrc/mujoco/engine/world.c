#include "mujoco/engine/world.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/guard.h"

/* ---- opening -------------------------------------------------------------------------------- */

/* Returns 1 if the quaternions of the forest lie in qpos. */
static int has_quaternions(const sap_mujoco_world *world, const sap_forest *f) {
  const int64_t nq = SAP_MODEL(world, nq);
  int inside = 1;
  for (int32_t t = 0; f->tree_quaternion && t < f->n_trees; ++t) {
    inside &= f->tree_quaternion[t] < 0 || f->tree_quaternion[t] <= nq - 4;
  }
  return inside;
}

static int fits(const sap_mujoco_world *world, const sap_stepper *stepper) {
  const sap_forest *f = &stepper->forest;
  const sap_elements *e = &stepper->elements;
  return SAP_MODEL(world, nv) == f->nv && SAP_MODEL(world, nC) == f->nM &&
         SAP_MODEL(world, nbody) == f->n_bodies && SAP_MODEL(world, ngeom) == f->n_geoms &&
         SAP_MODEL(world, ntree) == f->n_trees && has_quaternions(world, f) &&
         (f->nD == 0 || SAP_MODEL(world, nD) == f->nD) &&
         (!stepper->constrained ||
          (SAP_MODEL(world, nq) == e->nq && SAP_MODEL(world, neq) == e->n_equalities &&
           SAP_MODEL(world, ntendon) == e->n_tendons && SAP_MODEL(world, nout) == e->n_outputs));
}

sap_status sap_mujoco_attach(sap_mujoco_world *world, const sap_mujoco *api, sap_stepper *stepper,
                             const void *model, void *data, sap_error *error) {
  memset(world, 0, offsetof(struct sap_mujoco_world, end.message));
  world->end.message[0] = '\0';
  world->api = api;
  world->stepper = stepper;
  world->model = model;
  world->data = data;
  if (!fits(world, stepper)) {
    return sap_fail(error, SAP_INVALID_ARGUMENT, "model", -1, NAN,
                    "has other sizes than the forest of this stepper");
  }
  const int64_t nmocap = SAP_MODEL(world, nmocap);
  world->state_length[0] = SAP_MODEL(world, nq);
  world->state_length[1] = stepper->forest.nv;
  world->state_length[2] = SAP_MODEL(world, na);
  world->state_length[3] = SAP_MODEL(world, nu);
  world->state_length[4] = 3 * nmocap;
  world->state_length[5] = 4 * nmocap;
  world->nsensordata = SAP_MODEL(world, nsensordata);
  world->started = sap_seconds();
  return SAP_OK;
}

sap_status sap_mujoco_accept_options(sap_mujoco_world *world, sap_error *error) {
  world->options = sap_mujoco_read_options(world->api, world->model);
  const sap_status status = sap_mujoco_check_options(&world->options, world->stepper, error);
  world->options_known = status == SAP_OK;
  return status;
}

static sap_status make(sap_mujoco_world **world, const sap_mujoco *api, sap_stepper *stepper,
                       const void *model, void *data, sap_error *error) {
  const sap_allocator *allocator = &stepper->memory;
  *world = allocator->allocate(sizeof **world, allocator->context);
  if (!*world) {
    return SAP_OUT_OF_MEMORY;
  }
  const sap_status status = sap_mujoco_attach(*world, api, stepper, model, data, error);
  (*world)->allocator = *allocator;
  return status;
}

/* Returns the status, and closes the world if it is not SAP_OK. */
static sap_status made(sap_mujoco_world **world, sap_status status) {
  if (status != SAP_OK) {
    sap_mujoco_close(*world);
    *world = NULL;
  }
  return status;
}

sap_status sap_mujoco_open(sap_mujoco_world **world, const sap_mujoco *api, sap_stepper *stepper,
                           const void *model, void *data, sap_error *error) {
  const sap_status status = make(world, api, stepper, model, data, error);
  return made(world, status == SAP_OK ? sap_mujoco_accept_options(*world, error) : status);
}

sap_status sap_mujoco_open_with(sap_mujoco_world **world, const sap_mujoco *api,
                                sap_stepper *stepper, const void *model, void *data,
                                const sap_mujoco_options *options, sap_error *error) {
  const sap_status status = make(world, api, stepper, model, data, error);
  if (status == SAP_OK && options) {
    (*world)->options = *options;
    (*world)->options_known = 1;
  }
  return made(world, status);
}

void sap_mujoco_close(sap_mujoco_world *world) {
  if (world) {
    const sap_allocator allocator = world->allocator;
    allocator.release(world, allocator.context);
  }
}

void sap_mujoco_set_hooks(sap_mujoco_world *world, const sap_step_hooks *hooks) {
  world->hooks = *hooks;
}

void sap_mujoco_set_memory(sap_mujoco_world *world, sap_friction_memory *memory) {
  world->memory = memory;
}

const sap_step_end *sap_mujoco_end(const sap_mujoco_world *world) { return &world->end; }

const sap_step_record *sap_mujoco_record(const sap_mujoco_world *world) { return &world->record; }

/* ---- the arrays of a step ------------------------------------------------------------------- */

static sap_field field_at(const char *contacts, ptrdiff_t offset, ptrdiff_t size) {
  return offset < 0 ? (sap_field){NULL, 0} : (sap_field){contacts + offset, size};
}

/* Returns the arrays of constrained elements; the engine guarantees that its sparse rows are
 * valid. */
static sap_element_state elements_of(const sap_mujoco_world *world) {
  const int sparse = world->api->mj_isSparse(world->model);
  const int off = SAP_MODEL(world, disableflags) & SAP_MJDSBL_ACTUATION;
#define POINTER(name) .name = SAP_DATA(world, name)
#define SPARSE(name) .name = sparse ? SAP_DATA(world, name) : NULL
  return (sap_element_state){POINTER(qpos),
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
                             .n_rows = SAP_DATA(world, nefc),
                             .disabled = off ? -1 : SAP_MODEL(world, disableactuator) & INT32_MAX};
#undef POINTER
#undef SPARSE
}

/* Returns |g|, m/s^2. */
static double gravity_of(const sap_mujoco_world *world) {
  const double *g = SAP_MODEL(world, gravity);
  const int off = SAP_MODEL(world, disableflags) & SAP_MJDSBL_GRAVITY;
  return off ? 0.0 : sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
}

sap_step_arrays sap_mujoco_arrays(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const char *contacts = SAP_DATA(world, contact);
  const ptrdiff_t size = a->contact.size;
  sap_step_arrays arrays = {
      .state = {.qvel = SAP_DATA(world, qvel),
                .M = SAP_DATA(world, M),
                .cdof = SAP_DATA(world, cdof),
                .subtree_com = SAP_DATA(world, subtree_com),
                .qfrc_smooth = SAP_DATA(world, qfrc_smooth),
                .qacc_smooth = SAP_DATA(world, qacc_smooth),
                .qDeriv = SAP_DATA(world, qDeriv),
                .geom_xpos = SAP_DATA(world, geom_xpos),
                .geom_xmat = SAP_DATA(world, geom_xmat),
                .gravity = gravity_of(world)},
      .contacts = {.count = SAP_DATA(world, ncon),
                   .left_out = world->rows_left_out,
                   .n_rows = SAP_DATA(world, nefc),
                   .dist = field_at(contacts, a->contact.dist, size),
                   .pos = field_at(contacts, a->contact.pos, size),
                   .frame = field_at(contacts, a->contact.frame, size),
                   .friction = field_at(contacts, a->contact.friction, size),
                   .surface_velocity = field_at(contacts, a->contact.surfacevel, size),
                   .dim = field_at(contacts, a->contact.dim, size),
                   .geom = field_at(contacts, a->contact.geom, size),
                   .exclude = field_at(contacts, a->contact.exclude, size),
                   .row = field_at(contacts, a->contact.efc_address, size),
                   .KBIP = SAP_DATA(world, efc_KBIP)},
      .qacc = SAP_DATA(world, qacc),
      .qfrc_constraint = SAP_DATA(world, qfrc_constraint),
      .efc_force = SAP_DATA(world, efc_force),
      .memory = world->memory};
  if (world->stepper->constrained) {
    arrays.elements = elements_of(world);
  }
  return arrays;
}

/* ---- the lock of the stepper ----------------------------------------------------------------- */

void sap_mujoco_lock(const sap_mujoco_world *world) {
  if (world->hooks.lock) {
    world->hooks.lock(world->hooks.context);
  }
}

void sap_mujoco_unlock(const sap_mujoco_world *world) {
  if (world->hooks.unlock) {
    world->hooks.unlock(world->hooks.context);
  }
}

/* ---- failures ------------------------------------------------------------------------------- */

void sap_mujoco_fail(sap_mujoco_world *world, sap_step_failure failure, int code, int64_t index) {
  world->end.failure = failure;
  world->end.code = code;
  world->end.index = index;
}

const char *sap_step_failure_name(sap_step_failure failure) {
  static const char *const names[] = {"none",     "state",   "memory",  "mujoco",    "fault",
                                      "argument", "outcome", "options", "remembered"};
  _Static_assert(sizeof names / sizeof *names == SAP_STEP_FAILURES, "one name per failure");
  return (unsigned)failure < SAP_STEP_FAILURES ? names[failure] : "unknown";
}

/* ---- sizes of states ------------------------------------------------------------------------- */

struct size {
  const sap_mujoco_world *world;
  int spec, found;
};

static void call_state_size(void *context) {
  struct size *size = context;
  size->found = size->world->api->mj_stateSize(size->world->model, size->spec);
}

int sap_mujoco_state_size(sap_mujoco_world *world, int spec) {
  struct size size = {world, spec, -1};
  return sap_mujoco_call(world->api, call_state_size, &size, world->end.message) < 0 ? -1
                                                                                     : size.found;
}
