#include "mujoco/engine/world.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"

/* ---- opening -------------------------------------------------------------------------------- */

/* Returns 1 if the quaternions of the forest lie in qpos. */
static int has_quaternions(const sap_mujoco_world *world, const sap_forest *f) {
  const int64_t nq = SAP_MODEL(world, nq);
  int inside = 1;
  for (int32_t i = 0; f->dof_quaternion && i < f->nv; ++i) {
    inside &= f->dof_quaternion[i] < 0 || f->dof_quaternion[i] <= nq - 4;
  }
  return inside;
}

/* Returns 1 if springs act at the end of the step. */
static int has_implicit_springs(const sap_forest *f) {
  return f->tree_springs && f->n_trees > 0 && f->tree_springs[0] && f->nD > 0;
}

static int fits(const sap_mujoco_world *world, const sap_stepper *stepper) {
  const sap_forest *f = &stepper->forest;
  const sap_elements *e = &stepper->elements;
  return SAP_MODEL(world, nv) == f->nv && SAP_MODEL(world, nC) == f->nM &&
         SAP_MODEL(world, nbody) == f->n_bodies &&
         SAP_MODEL(world, ngeom) == f->n_geoms - (stepper->constrained ? e->n_flexes : 0) &&
         SAP_MODEL(world, ntree) >= f->n_trees && has_quaternions(world, f) &&
         (f->nD == 0 || has_implicit_springs(f) || SAP_MODEL(world, nD) == f->nD) &&
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
  const sap_forest *f = &stepper->forest;
  const size_t slopes = has_implicit_springs(f) ? sizeof(double) * (size_t)f->nD : 0;
  const size_t copies = sizeof *(*world)->copies + SAP_KEPT_COPIES * (size_t)api->model.size;
  *world = allocator->allocate(sizeof **world + slopes + copies, allocator->context);
  if (!*world) {
    return SAP_OUT_OF_MEMORY;
  }
  const sap_status status = sap_mujoco_attach(*world, api, stepper, model, data, error);
  (*world)->allocator = *allocator;
  (*world)->slopes = slopes > 0 ? (double *)(*world + 1) : NULL;
  (*world)->copies = (struct sap_kept_copies *)(void *)((char *)(*world + 1) + slopes);
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
