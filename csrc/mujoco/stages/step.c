#include "mujoco/stages/step.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "step/contacts/friction_memory.h"
#include "mujoco/engine/fields.h"
#include "mujoco/engine/guard.h"
#include "mujoco/speculative/margins.h"
#include "mujoco/stages/lean_step.h"
#include "mujoco/stages/recording.h"
#include "mujoco/engine/world.h"

/* Returns 1 if every entry is a number within the limit; it has no branch per entry. */
static int all_within(const double *x, int64_t n, double limit) {
  int64_t outside = 0;
  for (int64_t i = 0; i < n; ++i) {
    outside += !(fabs(x[i]) <= limit);
  }
  return outside == 0;
}

static int check_state(sap_mujoco_world *world) {
  const double limit = world->stepper->settings.acceleration_limit;
  const double *const state[SAP_STATE_ARRAYS] = {
      SAP_DATA(world, qpos), SAP_DATA(world, qvel),      SAP_DATA(world, act),
      SAP_DATA(world, ctrl), SAP_DATA(world, mocap_pos), SAP_DATA(world, mocap_quat)};
  for (int i = 0; i < SAP_STATE_ARRAYS; ++i) {
    const double *x = state[i];
    if (!all_within(x, world->state_length[i], limit)) {
      int64_t j = 0;
      while (fabs(x[j]) <= limit) {
        ++j;
      }
      sap_mujoco_fail(world, SAP_STEP_STATE, i, j);
      return 0;
    }
  }
  return 1;
}

/* Records why the stepper took no step. */
static void explain(sap_mujoco_world *world) {
  const sap_stepper *stepper = world->stepper;
  const sap_solution *s = &stepper->solution;
  if (world->end.status != SAP_OK) {
    sap_mujoco_fail(world, SAP_STEP_ARGUMENT, 0, -1);
  } else if (stepper->gather.fault != SAP_FAULT_NONE) {
    sap_mujoco_fail(world, SAP_STEP_FAULT, (int)stepper->gather.fault, stepper->gather.fault_index);
  } else {
    sap_mujoco_fail(world, SAP_STEP_OUTCOME, (int)s->outcome, s->tree);
  }
}

/* ---- the lock of the stepper ----------------------------------------------------------------- */

static void enter(const sap_mujoco_world *world) {
  if (world->hooks.lock) {
    world->hooks.lock(world->hooks.context);
  }
}

static void leave(const sap_mujoco_world *world) {
  if (world->hooks.unlock) {
    world->hooks.unlock(world->hooks.context);
  }
}

/* ---- the friction memory -------------------------------------------------------------------- */

enum { STATE_PARTS = 4 };

/* Lists the parts of the state that stay unchanged between two steps. */
static void list_state(const sap_mujoco_world *world, double *time, struct sap_state_part *parts) {
  *time = SAP_DATA(world, time);
  parts[0] = (struct sap_state_part){time, 1};
  parts[1] = (struct sap_state_part){SAP_DATA(world, qpos), world->state_length[0]};
  parts[2] = (struct sap_state_part){SAP_DATA(world, qvel), world->state_length[1]};
  parts[3] = (struct sap_state_part){SAP_DATA(world, act), world->state_length[2]};
}

static void check_memory(const sap_mujoco_world *world) {
  if (world->memory) {
    double time;
    struct sap_state_part parts[STATE_PARTS];
    list_state(world, &time, parts);
    sap_friction_memory_check(world->memory, parts, STATE_PARTS);
  }
}

static void mark_memory(const sap_mujoco_world *world) {
  if (world->memory) {
    double time;
    struct sap_state_part parts[STATE_PARTS];
    list_state(world, &time, parts);
    enter(world);
    sap_friction_memory_mark(world->memory, parts, STATE_PARTS);
    leave(world);
  }
}

/* ---- a step --------------------------------------------------------------------------------- */

/* Gathers, solves, writes back, and fills the record. */
static int take_contact_part(sap_mujoco_world *world) {
  const sap_step_arrays arrays = sap_mujoco_arrays(world);
  enter(world);
  check_memory(world);
  world->end.error = (sap_error){0};
  world->end.status = sap_stepper_solve(world->stepper, &arrays, &world->end.error);
  if (!world->stepper->took) {
    explain(world);
  } else {
    world->record = sap_stepper_record(world->stepper);
    world->reads_rows = world->stepper->gather.reads_rows;
    if (world->recording && !sap_recording_note(world->recording, world)) {
      world->end.status = SAP_OUT_OF_MEMORY;
      sap_mujoco_fail(world, SAP_STEP_ARGUMENT, 0, -1);
    }
  }
  leave(world);
  return world->end.failure == SAP_STEP_TAKEN;
}

/* values of MuJoCo's enums */
enum { NO_CONSTRAINT = 1 << 0, NO_CONTACT = 1 << 4, NO_ACTUATION = 1 << 11, ENERGY = 1 << 1 };

/* The pointers of MuJoCo's stack, as its functions should leave them. */
struct stack {
  size_t pstack, pbase;
};

static struct stack stack_of(const sap_mujoco_world *world) {
  return (struct stack){SAP_DATA(world, pstack), SAP_DATA(world, pbase)};
}

/* Frees the stack memory of functions that an error left. */
static void restore_stack(const sap_mujoco_world *world, const struct stack *stack) {
  SAP_SET_DATA(world, pstack, stack->pstack);
  SAP_SET_DATA(world, pbase, stack->pbase);
}

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
  world->rows_left_out = world->lean && !world->reads_rows && sap_mujoco_make_few_rows(world);
  if (!world->rows_left_out) {
    world->api->mj_makeConstraint(world->model, world->data);
  }
}

static void find_speculative(void *context) {
  sap_mujoco_world *world = context;
  sap_mujoco_find_contacts(world);
  make_rows(world);
}

/* Returns 1 if the margins are widened. Margins stay if a contact filter is set, because the
 * position stage passes it the model, and if there are no contacts. */
static int is_speculative(const sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const int none = SAP_MODEL(world, disableflags) & (NO_CONSTRAINT | NO_CONTACT);
  return world->stepper->settings.speculative && !*a->mjcb_contactfilter && !none;
}

/* Finds the contacts that may close in the step, and the rows. If there is no room for them, it
 * finds the contacts that the model itself lists. */
static void find_contacts(sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  char *d = world->data;
  if (!is_speculative(world)) {
    a->mj_collision(world->model, d);
    make_rows(world);
    return;
  }
  const struct shortage before = shortage_of(world);
  const struct stack stack = stack_of(world);
  if (sap_mujoco_try(a, find_speculative, world) < 0 || is_short(world, &before)) {
    restore_stack(world, &stack);
    set_shortage(world, &before);
    a->mj_collision(world->model, d);
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
  if (SAP_MODEL(world, enableflags) & ENERGY) {
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
  if ((SAP_MODEL(world, enableflags) & ENERGY) && !SAP_DATA(world, flg_energyvel)) {
    a->mj_energyVel(m, d);
  }
}

/* Does mj_fwdPosition, which first forgets the energy, with a speculative collision stage. All
 * other functions receive the model itself, because Python's callbacks know no copy of it. */
static void find_positions(sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const void *m = world->model;
  void *d = world->data;
  SAP_SET_DATA(world, flg_energypos, 0);
  a->mj_fwdKinematics(m, d);
  a->mj_makeM(m, d);
  a->mj_factorM(m, d);
  find_contacts(world);
  a->mj_transmission(m, d);
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
  a->mj_fwdVelocity(m, d);
  if (!world->lean) {
    find_velocity_values(world);
  }
  if (*a->mjcb_control && !(SAP_MODEL(world, disableflags) & NO_ACTUATION)) {
    (*a->mjcb_control)(m, d);
  }
}

/* Checks the state, and runs MuJoCo's stages up to the velocity-dependent ones; returns 0 with the
 * failure in the world. */
static int start_step(sap_mujoco_world *world) {
  if (!check_state(world)) {
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
  a->mj_fwdAcceleration(world->model, world->data);
  if (world->stepper->forest.nD > 0) {
    a->mjd_smooth_vel(world->model, world->data, 0);
  }
}

/* Runs all stages before contact. */
static void find_smooth_forces(void *context) {
  sap_mujoco_world *world = context;
  const sap_mujoco_options options = sap_mujoco_read_options(world->api, world->model);
  if (!world->options_known || !sap_mujoco_same_options(&options, &world->options)) {
    sap_mujoco_fail(world, SAP_STEP_OPTIONS, 0, -1);
  } else if (start_step(world)) {
    find_forces(world);
  }
}

/* Runs the contact part and the sensors of accelerations; returns 0 with the failure in the
 * world. */
static int find_accelerations(sap_mujoco_world *world) {
  if (!take_contact_part(world)) {
    return 0;
  }
  if (!world->lean) {
    /* sensors have to see the new forces, not those computed before */
    SAP_SET_DATA(world, flg_rnepost, 0);
    world->api->mj_sensorAcc(world->model, world->data);
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
  mark_memory(world);
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
  const sap_mujoco *a = world->api;
  const struct stack stack = stack_of(world);
  world->end.failure = SAP_STEP_TAKEN;
  if (sap_mujoco_call(a, body, world, world->end.message) < 0) {
    sap_mujoco_fail(world, SAP_STEP_MUJOCO, 0, -1);
    restore_stack(world, &stack);
  }
}

/* ---- parts of a step ------------------------------------------------------------------------ */

static void take_first_half(void *context) { start_step(context); }

sap_step_failure sap_mujoco_start(sap_mujoco_world *world) {
  guarded(world, take_first_half);
  return world->end.failure;
}

static void take_second_half(void *context) {
  find_forces(context);
  end_step(context);
}

sap_step_failure sap_mujoco_finish(sap_mujoco_world *world) {
  guarded(world, take_second_half);
  return world->end.failure;
}

static void call_find_forces(void *context) { find_forces(context); }

sap_step_failure sap_mujoco_find_forces(sap_mujoco_world *world) {
  guarded(world, call_find_forces);
  return world->end.failure;
}

static void evaluate(void *context) {
  sap_mujoco_world *world = context;
  const struct shortage before = shortage_of(world);
  find_positions(world);
  world->api->mj_fwdVelocity(world->model, world->data);
  find_forces(world);
  if (is_short(world, &before)) {
    sap_mujoco_fail(world, SAP_STEP_MEMORY, 0, -1);
  }
}

sap_step_failure sap_mujoco_evaluate(sap_mujoco_world *world) {
  guarded(world, evaluate);
  return world->end.failure;
}

static void evaluate_positions(void *context) {
  sap_mujoco_world *world = context;
  const struct shortage before = shortage_of(world);
  if (check_state(world)) {
    find_positions(world);
    find_position_values(world);
    if (is_short(world, &before)) {
      sap_mujoco_fail(world, SAP_STEP_MEMORY, 0, -1);
    }
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
  static void (*const bodies[])(void *) = {evaluate_positions, take_first_half,
                                           evaluate_accelerations};
  sap_friction_memory *memory = world->memory;
  world->lean = 0;
  world->memory = NULL;
  guarded(world, bodies[stage]);
  world->memory = memory;
  return world->end.failure;
}

static void explain_gather(sap_mujoco_world *world) {
  world->end.failure = SAP_STEP_TAKEN;
  if (world->end.status != SAP_OK || world->stepper->gather.fault != SAP_FAULT_NONE) {
    explain(world);
  }
}

typedef sap_status stepper_call(sap_stepper *stepper, const sap_step_arrays *arrays,
                                sap_error *error);

static sap_step_failure call_stepper(sap_mujoco_world *world, const double *qvel,
                                     stepper_call *call) {
  sap_step_arrays arrays = sap_mujoco_arrays(world);
  arrays.state.qvel = qvel ? qvel : arrays.state.qvel;
  enter(world);
  world->end.error = (sap_error){0};
  world->end.status = call(world->stepper, &arrays, &world->end.error);
  explain_gather(world);
  leave(world);
  return world->end.failure;
}

sap_step_failure sap_mujoco_solve(sap_mujoco_world *world) {
  return call_stepper(world, NULL, sap_stepper_solve);
}

sap_step_failure sap_mujoco_gather(sap_mujoco_world *world, const double *qvel) {
  return call_stepper(world, qvel, sap_stepper_gather);
}

int sap_mujoco_write(sap_mujoco_world *world, const struct sap_found *found) {
  const sap_step_arrays arrays = sap_mujoco_arrays(world);
  enter(world);
  world->end.status = SAP_OK;
  const int fits = sap_stepper_write(world->stepper, &arrays, found);
  explain_gather(world);
  leave(world);
  return fits;
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* The possible actions after an attempt at a step. */
enum next {
  DONE,
  TAKE_FULL_STEP, /* a lean step failed: take it in full, or fail with the results of a full one */
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
  guarded(world, take_step);
  const enum next next = find_next(world);
  if (next != DONE) {
    set_shortage(world, &before);
    world->lean = 0;
  }
  if (next == TAKE_FULL_STEP) {
    world->fallbacks = SAP_FALLBACK_FULL_STEP;
    guarded(world, take_step);
  } else if (next == LEAVE_FORCES) {
    guarded(world, find_smooth_forces);
    sap_mujoco_fail(world, SAP_STEP_ARGUMENT, 0, -1);
  }
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
