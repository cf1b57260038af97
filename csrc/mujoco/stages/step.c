#include "mujoco/stages/step.h"

#include <string.h>

#include "base/clock.h"
#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/guard.h"
#include "mujoco/engine/springs.h"
#include "mujoco/speculative/contact_place.h"
#include "mujoco/speculative/margins.h"
#include "mujoco/stages/contact_part.h"
#include "mujoco/stages/contact_sensors.h"
#include "mujoco/stages/lean_step.h"
#include "mujoco/stages/open_contacts.h"
#include "mujoco/stages/recording.h"
#include "mujoco/stages/rotation.h"
#include "mujoco/stages/state_check.h"
#include "mujoco/engine/world.h"

/* ---- a step --------------------------------------------------------------------------------- */

/* Counts of how often MuJoCo had no room for contacts and for rows. */
struct shortage {
  int contacts, rows;
};

static struct shortage shortage_of(const sap_mujoco_world *world) {
  return (struct shortage){SAP_DATA(world, contacts_full), SAP_DATA(world, rows_full)};
}

static void set_shortage(const sap_mujoco_world *world, const struct shortage *shortage) {
  SAP_SET_DATA(world, contacts_full, shortage->contacts);
  SAP_SET_DATA(world, rows_full, shortage->rows);
}

static int is_short(const sap_mujoco_world *world, const struct shortage *before) {
  const struct shortage now = shortage_of(world);
  return now.contacts != before->contacts || now.rows != before->rows;
}

static void make_rows(sap_mujoco_world *world) {
  world->rows_left_out = world->lean && sap_mujoco_make_few_rows(world);
  if (!world->rows_left_out) {
    world->api->mj_makeConstraint(world->model, world->data);
  }
}

static void find_speculative(void *context) {
  sap_mujoco_world *world = context;
  sap_mujoco_find_contacts(world);
  sap_mujoco_place_contacts(world);
  make_rows(world);
}

/* Finds the contacts that may close in the step, and the rows. If there is no room for them, it
 * finds the contacts that the model itself lists. */
static void find_contacts(sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  char *d = world->data;
  if (!sap_mujoco_is_speculative(world)) {
    a->mj_collision(world->model, d);
    make_rows(world);
    return;
  }
  const struct shortage before = shortage_of(world);
  if (sap_mujoco_try(world, find_speculative, world) < 0 || is_short(world, &before)) {
    set_shortage(world, &before);
    a->mj_collision(world->model, d);
    sap_mujoco_place_contacts(world);
    a->mj_makeConstraint(world->model, d);
    world->rows_left_out = 0;
    world->fallbacks |= SAP_FALLBACK_MODEL_CONTACTS;
  }
}

/* Finds sensors and energy. */
static void find_position_values(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  void *d = world->data;
  a->mj_sensorPos(m, d);
  if (SAP_DATA(world, flg_energypos)) {
    return;
  }
  if (SAP_MODEL(world, enableflags) & SAP_MJENBL_ENERGY) {
    a->mj_energyPos(m, d);
  } else {
    memset(SAP_DATA(world, energy), 0, 2 * sizeof(double));
  }
}

static void find_velocity_values(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  void *d = world->data;
  a->mj_sensorVel(m, d);
  if ((SAP_MODEL(world, enableflags) & SAP_MJENBL_ENERGY) && !SAP_DATA(world, flg_energyvel)) {
    a->mj_energyVel(m, d);
  }
}

/* Does mj_fwdKinematics; a lean step needs no cameras and lights. */
static void find_kinematics(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  void *d = world->data;
  if (world->lean) {
    a->mj_kinematics(m, d);
    a->mj_comPos(m, d);
    a->mj_tendon(m, d);
  } else {
    a->mj_fwdKinematics(m, d);
  }
}

/* Does mj_fwdPosition, which first forgets the energy, with a speculative collision stage. All
 * other functions receive the model itself, because Python's callbacks know no copy of it. */
static void find_positions(sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  void *d = world->data;
  SAP_SET_DATA(world, flg_energypos, 0);
  find_kinematics(world);
  a->mj_makeM(m, d);
  if (!world->skips_factor) {
    a->mj_factorM(m, d);
  }
  find_contacts(world);
  a->mj_transmission(m, d);
}

/* Does mj_fwdVelocity. A lean step has no use for the reference accelerations of the rows, which
 * the engine finds for the rows that it counts. */
static void find_velocities(sap_mujoco_world *world) {
  const int ne = SAP_DATA(world, ne), nefc = SAP_DATA(world, nefc);
  if (world->lean) {
    SAP_SET_DATA(world, ne, 0);
    SAP_SET_DATA(world, nefc, 0);
  }
  world->api->mj_fwdVelocity(world->model, world->data);
  SAP_SET_DATA(world, ne, ne);
  SAP_SET_DATA(world, nefc, nefc);
}

/* Does mj_step1 of a checked state. */
static void start_stages(sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  void *d = world->data;
  find_positions(world);
  if (!world->lean) {
    find_position_values(world);
  }
  find_velocities(world);
  if (!world->lean) {
    find_velocity_values(world);
  }
  if (*a->mjcb_control && !(SAP_MODEL(world, disableflags) & SAP_MJDSBL_ACTUATION)) {
    (*a->mjcb_control)(m, d);
  }
}

/* Checks the state, and runs MuJoCo's stages up to the velocity-dependent ones; returns 0 with the
 * failure in the world. */
static int start_step(sap_mujoco_world *world) {
  if (!sap_mujoco_check_state(world)) {
    return 0;
  }
  const struct shortage before = shortage_of(world);
  start_stages(world);
  if (is_short(world, &before)) {
    sap_mujoco_fail(world, SAP_STEP_MEMORY, 0, -1);
    return 0;
  }
  return 1;
}

static void find_forces(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  a->mj_fwdActuation(world->model, world->data);
  if (world->skips_acceleration) {
    sap_mujoco_add_smooth_forces(world);
  } else {
    a->mj_fwdAcceleration(world->model, world->data);
  }
  if (world->stepper->forest.nD > 0) {
    a->mjd_smooth_vel(world->model, world->data, 0);
  }
  if (world->slopes) {
    sap_mujoco_add_spring_forces(world);
  }
}

/* Finds the forces of a step: those of the engine, with rotation at the middle of the step. */
static void find_step_forces(sap_mujoco_world *world) {
  find_forces(world);
  if (!world->skips_factor) {
    sap_mujoco_take_rotation(world);
  }
}

/* Runs all stages before contact. */
static void find_smooth_forces(void *context) {
  sap_mujoco_world *world = context;
  const sap_mujoco_options options = sap_mujoco_read_options(world->api, world->model);
  if (!world->options_known || !sap_mujoco_same_options(&options, &world->options)) {
    sap_mujoco_fail(world, SAP_STEP_OPTIONS, 0, -1);
  } else if (start_step(world)) {
    find_step_forces(world);
  }
}

/* Finds the sensors of accelerations, once the contact part is done. */
static void find_acceleration_values(void *context) {
  sap_mujoco_world *world = context;
  /* sensors have to see the new forces, not those computed before */
  SAP_SET_DATA(world, flg_rnepost, 0);
  world->api->mj_sensorAcc(world->model, world->data);
  if (world->n_removed > 0) {
    sap_mujoco_correct_contact_sensors(world);
  }
  if (sap_mujoco_is_speculative(world)) {
    sap_mujoco_correct_touch_sensors(world);
  }
}

/* Runs the contact part and the sensors of accelerations; returns 0 with the failure in the
 * world. */
static int find_accelerations(sap_mujoco_world *world) {
  if (!sap_mujoco_take_contact_part(world)) {
    return 0;
  }
  if (!world->lean) {
    find_acceleration_values(world);
  }
  return 1;
}

/* Runs the contact part, and all stages after it. */
static void end_step(sap_mujoco_world *world) {
  if (!find_accelerations(world)) {
    return;
  }
  world->api->mj_Euler(world->model, world->data);
  world->record.time = SAP_DATA(world, time);
  sap_mujoco_keep_memory(world);
}

static void take_step(void *context) {
  sap_mujoco_world *world = context;
  find_smooth_forces(world);
  if (world->end.failure == SAP_STEP_TAKEN) {
    end_step(world);
  }
}

/* Calls body(world), which records a failure in the world; an error of MuJoCo is also recorded. */
static void guarded(sap_mujoco_world *world, void (*body)(void *)) {
  world->end.failure = SAP_STEP_TAKEN;
  if (sap_mujoco_call(world, body, world) < 0) {
    sap_mujoco_fail(world, SAP_STEP_MUJOCO, 0, -1);
  }
}

/* ---- parts of a step ------------------------------------------------------------------------ */

static void take_first_half(void *context) { start_step(context); }

sap_step_failure sap_mujoco_start(sap_mujoco_world *world) {
  guarded(world, take_first_half);
  return world->end.failure;
}

static void take_second_half(void *context) {
  find_step_forces(context);
  end_step(context);
}

sap_step_failure sap_mujoco_finish(sap_mujoco_world *world) {
  guarded(world, take_second_half);
  return world->end.failure;
}

static void call_find_forces(void *context) { find_step_forces(context); }

sap_step_failure sap_mujoco_find_forces(sap_mujoco_world *world) {
  guarded(world, call_find_forces);
  return world->end.failure;
}

int sap_mujoco_write_step(sap_mujoco_world *world, const struct sap_found *found) {
  const int fits = sap_mujoco_write(world, found);
  if (fits && world->end.failure == SAP_STEP_TAKEN) {
    guarded(world, find_acceleration_values);
  }
  return fits;
}

static void evaluate(void *context) {
  sap_mujoco_world *world = context;
  const struct shortage before = shortage_of(world);
  find_positions(world);
  find_velocities(world);
  find_forces(world);
  if (is_short(world, &before)) {
    sap_mujoco_fail(world, SAP_STEP_MEMORY, 0, -1);
  }
}

sap_step_failure sap_mujoco_evaluate(sap_mujoco_world *world) {
  guarded(world, evaluate);
  return world->end.failure;
}

/* Runs the stages of a step before its contact part. */
static void evaluate_step(void *context) {
  sap_mujoco_world *world = context;
  sap_mujoco_choose_products(world);
  evaluate(world);
  if (!world->skips_factor) {
    sap_mujoco_take_rotation(world);
  }
  world->skips_acceleration = world->skips_factor = 0;
}

sap_step_failure sap_mujoco_evaluate_step(sap_mujoco_world *world) {
  guarded(world, evaluate_step);
  return world->end.failure;
}

static void evaluate_from_velocities(void *context) {
  find_velocities(context);
  find_step_forces(context);
}

sap_step_failure sap_mujoco_evaluate_velocities(sap_mujoco_world *world) {
  guarded(world, evaluate_from_velocities);
  return world->end.failure;
}

sap_step_failure sap_mujoco_find_forces_again(sap_mujoco_world *world) {
  return sap_mujoco_takes_rotation(world) ? sap_mujoco_evaluate_velocities(world)
                                          : sap_mujoco_find_forces(world);
}

static void find_sensors(void *context) {
  sap_mujoco_world *world = context;
  sap_mujoco_lock(world);
  world->n_removed =
      sap_mujoco_is_speculative(world) ? sap_mujoco_remove_open_contacts(world, 1) : 0;
  sap_mujoco_unlock(world);
  find_position_values(world);
  find_velocity_values(world);
  find_acceleration_values(world);
}

sap_step_failure sap_mujoco_find_sensors(sap_mujoco_world *world) {
  guarded(world, find_sensors);
  return world->end.failure;
}

/* Removes open contacts before a solve that does not follow. */
static void end_without_forces(sap_mujoco_world *world) {
  if (sap_mujoco_is_speculative(world) && sap_mujoco_remove_open_contacts(world, 0) > 0) {
    sap_mujoco_correct_contact_sensors(world);
  }
}

static void evaluate_positions(void *context) {
  sap_mujoco_world *world = context;
  const struct shortage before = shortage_of(world);
  if (sap_mujoco_check_state(world)) {
    find_positions(world);
    find_position_values(world);
    if (is_short(world, &before)) {
      sap_mujoco_fail(world, SAP_STEP_MEMORY, 0, -1);
    } else {
      end_without_forces(world);
    }
  }
}

static void evaluate_velocities(void *context) {
  if (start_step(context)) {
    end_without_forces(context);
  }
}

static void evaluate_accelerations(void *context) {
  sap_mujoco_world *world = context;
  find_smooth_forces(world);
  if (world->end.failure == SAP_STEP_TAKEN) {
    find_accelerations(world);
  }
}

sap_step_failure sap_mujoco_forward(sap_mujoco_world *world, enum sap_forward_stage stage) {
  static void (*const bodies[])(void *) = {evaluate_positions, evaluate_velocities,
                                           evaluate_accelerations};
  sap_friction_memory *memory = world->memory;
  world->lean = 0;
  world->memory = NULL;
  guarded(world, bodies[stage]);
  world->memory = memory;
  return world->end.failure;
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* The possible actions after an attempt at a step. */
enum next {
  DONE,
  TAKE_FULL_STEP, /* a lean step failed: fail with the results of a full one */
  LEAVE_FORCES    /* a lean step was interrupted: find its smooth forces, and do not solve */
};

static enum next find_next(const sap_mujoco_world *world) {
  if (!world->lean || world->end.failure == SAP_STEP_TAKEN) {
    return DONE;
  }
  const int is_interrupted =
      world->end.failure == SAP_STEP_ARGUMENT && world->end.status == SAP_INTERRUPTED;
  return is_interrupted ? LEAVE_FORCES : TAKE_FULL_STEP;
}

sap_step_failure sap_mujoco_take(sap_mujoco_world *world, int lean) {
  const struct shortage before = shortage_of(world);
  world->fallbacks = 0;
  world->lean = lean && !sap_mujoco_is_watched(world);
  sap_mujoco_choose_products(world);
  guarded(world, take_step);
  world->skips_acceleration = world->skips_factor = 0;
  const enum next next = find_next(world);
  if (next != DONE) {
    set_shortage(world, &before);
    world->lean = 0;
  }
  if (next == TAKE_FULL_STEP) {
    world->fallbacks = 0;
    guarded(world, take_step);
  } else if (next == LEAVE_FORCES) {
    guarded(world, find_smooth_forces);
    sap_mujoco_fail(world, SAP_STEP_ARGUMENT, 0, -1);
  }
  world->goes_on = world->lean;
  const double now = sap_seconds();
  world->record.fallbacks |= world->fallbacks;
  world->record.seconds = now - world->started;
  world->started = now;
  return world->end.failure;
}

sap_step_failure sap_mujoco_step(sap_mujoco_world *world) { return sap_mujoco_take(world, 0); }

int64_t sap_mujoco_run(sap_mujoco_world *world, int64_t steps, sap_step_record *records,
                       int64_t *notable) {
  const sap_step_hooks *hooks = &world->hooks;
  const int lean = steps > 1 && sap_mujoco_begin_lean(world);
  int64_t taken = 0, missed = 0;
  int stopped = 0, ended = steps <= 0;
  world->is_unread = records == NULL;
  while (!ended &&
         sap_mujoco_take(world, lean && !stopped && taken + 1 < steps) == SAP_STEP_TAKEN) {
    missed += sap_step_is_notable(&world->record);
    if (records) {
      records[taken] = world->record;
    }
    if (world->recording) {
      sap_recording_keep(world->recording, world);
    }
    ++taken;
    ended = stopped || taken == steps;
    stopped = !ended && hooks->stop && hooks->stop(hooks->context, world->started);
    ended |= stopped && !world->lean;
  }
  if (notable) {
    *notable = missed;
  }
  return taken;
}
