#include "step/stepper_object.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "problem/regularization/regularization.h"

/* ---- settings ------------------------------------------------------------------------------- */

sap_step_settings sap_step_settings_default(double dt) {
  return (sap_step_settings){.dt = dt,
                             .sigma = 1e-3,
                             .beta = 1.0,
                             .delassus = SAP_DELASSUS_BLOCK,
                             .cone = SAP_CONE_ELLIPTIC,
                             .acceleration_limit = 1e10,
                             .release_speed = 0.1,
                             .release_rate = 0.1,
                             .slip_speed = 0.01,
                             .slip_rate = 0.01,
                             .stiction_speed = 0.001};
}

sap_status sap_step_settings_check(const sap_step_settings *s, sap_error *error) {
  const struct sap_scalar_rule rules[] = {
      {"cone", s->cone, s->cone == SAP_CONE_ELLIPTIC || s->cone == SAP_CONE_PYRAMIDAL,
       "must be a sap_cone"},
      {"acceleration_limit", s->acceleration_limit, s->acceleration_limit > 0.0, "must be > 0"},
      {"release_speed", s->release_speed, s->release_speed > 0.0, "must be > 0"},
      {"release_rate", s->release_rate, s->release_rate > 0.0, "must be > 0"},
      {"slip_speed", s->slip_speed, s->slip_speed >= 0.0 && isfinite(s->slip_speed),
       "must be finite and >= 0"},
      {"slip_rate", s->slip_rate, s->slip_rate >= 0.0 && isfinite(s->slip_rate),
       "must be finite and >= 0"},
      {"stiction_speed", s->stiction_speed, s->stiction_speed > 0.0 && isfinite(s->stiction_speed),
       "must be finite and > 0"},
  };
  const sap_status status = sap_check_scalars(s->dt, s->sigma, s->beta, s->delassus, error);
  return status != SAP_OK ? status : sap_check_rules(rules, sizeof rules / sizeof *rules, error);
}

/* ---- construction --------------------------------------------------------------------------- */

static sap_status check(const sap_forest *forest, const sap_elements *elements,
                        const sap_step_settings *step, sap_error *error) {
  sap_status status = sap_step_settings_check(step, error);
  if (status == SAP_OK) {
    status = sap_forest_check(forest, error);
  }
  if (status == SAP_OK && elements) {
    status = sap_elements_check(elements, forest, error);
  }
  return status;
}

void sap_stepper_set_speeds(sap_stepper *stepper, const double speeds[SAP_STEP_SPEEDS]) {
  sap_step_settings *settings = &stepper->settings;
  struct sap_gather *gather = &stepper->gather;
  settings->release_speed = gather->release_speed = speeds[0];
  settings->release_rate = gather->release_rate = speeds[1];
  settings->slip_speed = gather->slip_speed = speeds[2];
  settings->slip_rate = gather->elements.slip_rate = speeds[3];
  gather->elements.slip_speed = speeds[2];
  settings->stiction_speed = gather->stiction_speed = speeds[4];
}

void sap_stepper_set_time_step(sap_stepper *stepper, double dt) {
  stepper->settings.dt = dt;
  if (stepper->settings.speculative) {
    stepper->gather.open_tau_d = SAP_OPEN_TIME * dt;
  }
}

sap_status sap_stepper_create(sap_stepper **stepper, const sap_forest *forest,
                              const sap_elements *elements, const sap_step_settings *step,
                              const sap_settings *settings, const sap_allocator *allocator,
                              sap_error *error) {
  *stepper = NULL;
  sap_status status = check(forest, elements, step, error);
  if (status != SAP_OK) {
    return status;
  }
  const sap_allocator memory = sap_allocator_or_default(allocator);
  sap_stepper *made = memory.allocate(sizeof *made, memory.context);
  if (!made) {
    return SAP_OUT_OF_MEMORY;
  }
  *made = (sap_stepper){.forest = *forest, .settings = *step, .memory = memory};
  made->lags = settings && settings->friction == SAP_FRICTION_LAGGED;
  made->is_convex = !settings || settings->friction == SAP_FRICTION_CONVEX;
  made->keeps_history = settings && settings->record_history;
  made->may_be_inactive =
      step->speculative && settings && settings->friction != SAP_FRICTION_CONVEX;
  if (elements) {
    made->elements = *elements;
    made->constrained = 1;
  }
  status = sap_gather_create(&made->gather, &made->forest, elements ? &made->elements : NULL,
                             &made->memory);
  const double speeds[SAP_STEP_SPEEDS] = {step->release_speed, step->release_rate, step->slip_speed,
                                          step->slip_rate, step->stiction_speed};
  sap_stepper_set_speeds(made, speeds);
  sap_stepper_set_time_step(made, step->dt);
  if (step->speculative) {
    made->gaps = sap_separation_bounds_create(forest->n_geoms, &made->memory);
    status = status == SAP_OK && !made->gaps ? SAP_OUT_OF_MEMORY : status;
  }
  if (status == SAP_OK) {
    status = sap_solver_create(&made->solver, settings, &made->memory, error);
  }
  if (status != SAP_OK) {
    sap_stepper_destroy(made);
    return status;
  }
  *stepper = made;
  return SAP_OK;
}

sap_status sap_stepper_renew(sap_stepper **fresh, const sap_stepper *old,
                             const sap_settings *settings) {
  const sap_elements *elements = old->constrained ? &old->elements : NULL;
  const sap_status status = sap_stepper_create(fresh, &old->forest, elements, &old->settings,
                                               settings, &old->memory, NULL);
  if (status == SAP_OK) {
    memcpy((*fresh)->counts, old->counts, sizeof old->counts);
  }
  return status;
}

sap_status sap_stepper_set_fields(sap_stepper *stepper, const sap_fields *fields,
                                  sap_error *error) {
  return sap_patches_set(&stepper->gather.patches, fields, &stepper->forest, &stepper->memory,
                         error);
}

void sap_stepper_destroy(sap_stepper *stepper) {
  if (stepper) {
    const sap_allocator memory = stepper->memory;
    sap_solver_destroy(stepper->solver);
    sap_gather_release(&stepper->gather);
    sap_rebounds_release(&stepper->rebounds, &memory);
    sap_separation_bounds_destroy(stepper->gaps, &memory);
    memory.release(stepper, memory.context);
  }
}

void sap_stepper_set_interrupt(sap_stepper *stepper, const sap_interrupt *interrupt) {
  sap_solver_set_interrupt(stepper->solver, interrupt);
}

/* ---- the last step -------------------------------------------------------------------------- */

const sap_forest *sap_stepper_forest(const sap_stepper *stepper) { return &stepper->forest; }

double sap_stepper_solve_seconds(const sap_stepper *stepper) { return stepper->solve_seconds; }

const sap_iteration *sap_stepper_history(const sap_stepper *stepper, int32_t *n) {
  *n = 0;
  return stepper->solved && stepper->keeps_history ? sap_solver_history(stepper->solver, n) : NULL;
}

int sap_stepper_has_rigid_cores(const sap_stepper *stepper) { return stepper->gather.has_barriers; }

const int64_t *sap_stepper_counts(const sap_stepper *stepper) { return stepper->counts; }

int sap_stepper_took(const sap_stepper *stepper) { return stepper->took; }

sap_fault sap_stepper_fault(const sap_stepper *stepper, int64_t *index) {
  if (index) {
    *index = stepper->gather.fault_index;
  }
  return stepper->gather.fault;
}

const sap_problem *sap_stepper_problem(const sap_stepper *stepper) {
  return &stepper->gather.problem;
}

const sap_solution *sap_stepper_solution(const sap_stepper *stepper) {
  return stepper->solved ? &stepper->solution : NULL;
}

sap_step_record sap_stepper_record(const sap_stepper *stepper) {
  const sap_solution *s = &stepper->solution;
  int32_t n_dense = 0;
  for (int32_t i = 0; i < s->n_islands; ++i) {
    n_dense += s->islands[i].storage == SAP_STORAGE_DENSE;
  }
  return (sap_step_record){.momentum_error = s->momentum_error,
                           .velocity_error_bound = s->velocity_error_bound,
                           .coulomb_error = s->coulomb_error,
                           .overlap = stepper->overlap,
                           .solver_seconds = stepper->solve_seconds,
                           .contacts = stepper->gather.problem.n_contacts,
                           .iterations = s->iterations,
                           .total_iterations = s->total_iterations,
                           .line_search_trials = s->line_search_trials,
                           .status = (int32_t)s->outcome,
                           .islands = s->n_islands,
                           .deep_contacts = s->n_deep,
                           .dense_islands = n_dense,
                           .fallbacks = stepper->fallbacks | sap_fallbacks_of(s)};
}

int sap_step_is_notable(const sap_step_record *record) {
  return record->status != SAP_CONVERGED || record->overlap > SAP_DEEP_OVERLAP;
}

const char *sap_fault_name(sap_fault fault) {
  static const char *const names[] = {"none",  "overflow", "dimension", "geom",         "rows",
                                      "force", "mass",     "contact",   "acceleration", "patch"};
  _Static_assert(sizeof names / sizeof *names == SAP_FAULTS, "one name per fault");
  return (unsigned)fault < SAP_FAULTS ? names[fault] : "unknown";
}
