/* This file takes a step by sapwood/stepper.h: gather, attempts to solve, scatter. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "step/contacts/friction_memory.h"
#include "step/scatter.h"
#include "step/stepper_object.h"

/* ---- a step --------------------------------------------------------------------------------- */

/* Empties the problem: an unfinished one must not be read. */
static void forget_contacts(struct sap_gather *gather) {
  gather->problem.n_contacts = gather->problem.n_groups = 0;
  gather->problem.spin = NULL;
  gather->spins.spin.n = 0;
  gather->nJ = gather->spins.nJ = 0;
}

static int remembers(const sap_stepper *stepper, const sap_step_arrays *arrays) {
  return stepper->lags && arrays->memory;
}

typedef sap_status gather_function(struct sap_gather *, const struct sap_model_state *,
                                   const struct sap_contact_list *,
                                   const struct sap_element_state *, enum sap_cone,
                                   const sap_step_parameters *);

/* Gathers; returns 1 if there is a problem to solve. */
static int gather_problem(sap_stepper *stepper, const sap_step_arrays *arrays,
                          gather_function *gather_step, sap_status *status) {
  const sap_step_settings *s = &stepper->settings;
  const sap_step_parameters parameters = {
      .dt = s->dt, .sigma = s->sigma, .beta = s->beta, .delassus = s->delassus};
  memset(&stepper->solution, 0, sizeof stepper->solution);
  stepper->overlap = 0.0;
  stepper->solved = stepper->took = 0;
  *status = gather_step(&stepper->gather, &arrays->state, &arrays->contacts,
                        stepper->constrained ? &arrays->elements : NULL, s->cone, &parameters);
  const int fault = stepper->gather.fault != SAP_FAULT_NONE;
  if (*status == SAP_OK && !fault && remembers(stepper, arrays)) {
    *status = sap_friction_memory_recall(arrays->memory, &stepper->gather);
  }
  if (*status != SAP_OK) {
    forget_contacts(&stepper->gather);
  }
  return *status == SAP_OK && !fault && stepper->forest.n_trees > 0;
}

/* Writes velocity and impulses of the gather to the outputs, unless there is a fault. */
static void scatter(sap_stepper *stepper, const sap_step_arrays *arrays) {
  struct sap_gather *gather = &stepper->gather;
  sap_scatter(gather, stepper->settings.cone, stepper->settings.acceleration_limit, arrays->qacc,
              arrays->qfrc_constraint, arrays->efc_force);
  if (stepper->constrained && gather->fault == SAP_FAULT_NONE) {
    sap_scatter_elements(&gather->elements, &arrays->elements, gather->dt, arrays->qfrc_constraint,
                         arrays->efc_force);
  }
}

/* Returns a solution whose arrays are in the gather. */
static sap_solution solution_in(struct sap_gather *gather) {
  return (sap_solution){.v = gather->v,
                        .gamma = gather->gamma,
                        .v_c = gather->v_c,
                        .regions = gather->regions,
                        .islands = gather->islands,
                        .group_gamma = gather->elements.gamma,
                        .group_v_c = gather->elements.v_c,
                        .spin_gamma = gather->spins.gamma,
                        .spin_v_c = gather->spins.v_c,
                        .barrier_scale = gather->has_barriers ? gather->barrier_scale : NULL};
}

/* Sets the solution of a problem without constraints. */
static void move_freely(sap_stepper *stepper) {
  struct sap_gather *gather = &stepper->gather;
  memcpy(gather->v, gather->free_motion.v_star, (size_t)stepper->forest.nv * sizeof *gather->v);
  stepper->solution.tree = -1;
  stepper->solution.outcome = SAP_CONVERGED;
  stepper->solution.coulomb_error = stepper->is_convex ? NAN : 0.0;
  stepper->solved = 1;
}

static sap_status solve_problem(sap_stepper *stepper, const double *guess, sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  stepper->solution = solution_in(gather);
  gather->begin = guess;
  if (gather->problem.n_contacts + gather->problem.n_groups == 0 && !stepper->keeps_history) {
    move_freely(stepper);
    return SAP_OK;
  }
  const double start = sap_seconds();
  const sap_status status =
      sap_solver_solve_physical(stepper->solver, &gather->problem, &gather->parameters, gather->R_t,
                                gather->R_n, gather->v_hat_n, guess, &stepper->solution, error);
  stepper->solve_seconds += sap_seconds() - start;
  stepper->solved = status == SAP_OK;
  return status;
}

/* Adds the work of an earlier solve of the same step to that of the last one. */
static void add_work(sap_stepper *stepper, const sap_solution *before) {
  stepper->solution.iterations += before->iterations;
  stepper->solution.total_iterations += before->total_iterations;
  stepper->solution.line_search_trials += before->line_search_trials;
}

/* Solves, and limits the rebounds of impacts by their energy. Returns 1 with a velocity. */
static int solve_impacts(sap_stepper *stepper, const double *guess, double gravity,
                         sap_status *status, sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  int gains = 0;
  *status = solve_problem(stepper, guess, error);
  if (!stepper->solved || !sap_has_velocity(stepper->solution.outcome)) {
    return 0;
  }
  if (gather->n_rebounds > 0 && !sap_rebounds_keep(&stepper->rebounds, gather, &stepper->solution,
                                                   gravity * gather->dt, &gains)) {
    *status = SAP_OUT_OF_MEMORY;
    stepper->solved = 0;
    return 0;
  }
  if (!gains) {
    return 1;
  }
  const sap_solution before = stepper->solution;
  stepper->fallbacks |= SAP_FALLBACK_REBOUND | sap_fallbacks_of(&before);
  gather->parameters.rebound = NULL;
  *status = solve_problem(stepper, guess, error);
  if (!stepper->solved || !sap_has_velocity(stepper->solution.outcome)) {
    return 0;
  }
  add_work(stepper, &before);
  sap_rebounds_combine(&stepper->rebounds, gather);
  return 1;
}

/* Returns 1 if a constraint of the inactive set has to act at the velocity found. */
static int misses_constraints(sap_stepper *stepper) {
  struct sap_gather *gather = &stepper->gather;
  const int contacts = sap_inactive_check(&gather->inactive, gather->forest, gather->v);
  return contacts + sap_open_limits_check(&gather->elements.open, gather->v) > 0;
}

/* Finds the largest overlap. A given stiffness may yield without limit, and faces of patches always
 * do. */
static double find_overlap(const struct sap_gather *gather) {
  const double *width = gather->forest->geom_width;
  double largest = 0.0;
  for (int32_t c = 0; c < gather->problem.n_contacts && width; ++c) {
    const double depth = -(gather->phi0[c] + gather->dt * gather->v_c[3 * (int64_t)c + 2]);
    if (depth > 0.0 && isinf(gather->k[c])) {
      const int32_t *geom = gather->contacts[c].geom;
      largest = fmax(largest, depth / fmin(width[geom[0]], width[geom[1]]));
    }
  }
  return largest;
}

/* ---- attempts at a step --------------------------------------------------------------------- */

/* The ends of an attempt to solve a step. */
enum attempt {
  NO_PROBLEM,         /* no problem: a fault, no memory, or nothing can move */
  NO_VELOCITY,        /* no velocity: the solve failed */
  MISSES_CONSTRAINTS, /* an inactive constraint has to act at the velocity found */
  COMPLETE            /* the velocity is that of all constraints */
};

static enum attempt attempt(sap_stepper *stepper, const sap_step_arrays *arrays,
                            gather_function *gather_step, const double *guess, sap_status *status,
                            sap_error *error) {
  if (!gather_problem(stepper, arrays, gather_step, status)) {
    return NO_PROBLEM;
  }
  if (!solve_impacts(stepper, guess, arrays->state.gravity, status, error)) {
    return NO_VELOCITY;
  }
  return misses_constraints(stepper) ? MISSES_CONSTRAINTS : COMPLETE;
}

/* Makes another attempt from the velocity found. The work of both counts. */
static enum attempt attempt_again(sap_stepper *stepper, const sap_step_arrays *arrays,
                                  sap_status *status, sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  const sap_solution before = stepper->solution;
  memcpy(gather->guess, gather->v, (size_t)stepper->forest.nv * sizeof *gather->guess);
  stepper->fallbacks |= sap_fallbacks_of(&before);
  const enum attempt made =
      attempt(stepper, arrays, sap_gather_again, gather->guess, status, error);
  if (made != NO_PROBLEM) {
    add_work(stepper, &before);
  }
  return made;
}

/* Makes attempts until no constraint that is left out has to act. */
static enum attempt complete(sap_stepper *stepper, const sap_step_arrays *arrays, enum attempt made,
                             sap_status *status, sap_error *error) {
  while (made == MISSES_CONSTRAINTS) {
    stepper->fallbacks |= SAP_FALLBACK_INACTIVE_SET;
    made = attempt_again(stepper, arrays, status, error);
  }
  return made;
}

/* Writes the outputs of a solved step, and the memory of the next one. */
static void finish(sap_stepper *stepper, const sap_step_arrays *arrays) {
  struct sap_gather *gather = &stepper->gather;
  scatter(stepper, arrays);
  stepper->took = gather->fault == SAP_FAULT_NONE;
  stepper->counts[stepper->solution.outcome] += stepper->took;
  stepper->overlap = find_overlap(gather);
  if (stepper->took && remembers(stepper, arrays)) {
    sap_friction_memory_keep(arrays->memory, gather);
  }
}

sap_status sap_stepper_solve(sap_stepper *stepper, const sap_step_arrays *arrays,
                             sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  sap_status status;
  stepper->solve_seconds = 0.0;
  stepper->fallbacks = 0;
  stepper->is_corrected = arrays->correct != NULL;
  sap_solver_leave_bounds_out(stepper->solver, arrays->leaves_bounds_out);
  gather->may_be_inactive = stepper->may_be_inactive;
  gather->elements.open.may_be_inactive = 1;
  enum attempt made =
      attempt(stepper, arrays, sap_gather_run, gather->free_motion.v_0, &status, error);
  made = complete(stepper, arrays, made, &status, error);
  if (made == COMPLETE && arrays->correct) {
    arrays->correct(arrays->context, gather->v);
    made = attempt_again(stepper, arrays, &status, error);
    made = complete(stepper, arrays, made, &status, error);
  }
  if (made == COMPLETE) {
    finish(stepper, arrays);
  } else if (made == NO_PROBLEM && status == SAP_OK && gather->fault == SAP_FAULT_NONE) {
    /* nothing can move: nothing to write */
    stepper->took = 1;
    ++stepper->counts[SAP_CONVERGED];
  } else if (!stepper->solved) {
    forget_contacts(gather);
  }
  return status;
}

sap_status sap_stepper_gather_numbers(sap_stepper *stepper, const sap_step_arrays *arrays,
                                      const uint8_t *acting) {
  struct sap_gather *gather = &stepper->gather;
  sap_status status;
  gather->may_be_inactive = 0;
  gather->elements.open.may_be_inactive = acting != NULL;
  gather->begin = gather->free_motion.v_0;
  gather->elements.open.acting = acting;
  gather_problem(stepper, arrays, sap_gather_run, &status);
  gather->elements.open.acting = NULL;
  return status;
}

sap_status sap_stepper_regularize(sap_stepper *stepper, sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  const sap_status status =
      sap_solver_regularize(stepper->solver, &gather->problem, &gather->parameters, gather->R_t,
                            gather->R_n, gather->v_hat_n, error);
  if (status != SAP_OK) {
    forget_contacts(gather);
  }
  return status;
}

sap_status sap_stepper_gather(sap_stepper *stepper, const sap_step_arrays *arrays,
                              sap_error *error) {
  const sap_status status = sap_stepper_gather_numbers(stepper, arrays, NULL);
  const int solvable =
      status == SAP_OK && stepper->gather.fault == SAP_FAULT_NONE && stepper->forest.n_trees > 0;
  return solvable ? sap_stepper_regularize(stepper, error) : status;
}

/* ---- a step solved elsewhere ---------------------------------------------------------------- */

static void copy(double *to, const double *from, int64_t n) {
  if (n > 0) {
    memcpy(to, from, (size_t)n * sizeof *to);
  }
}

int sap_stepper_write(sap_stepper *stepper, const sap_step_arrays *arrays,
                      const struct sap_found *found) {
  struct sap_gather *gather = &stepper->gather;
  /* the rows of contacts and constraints were checked against the list of that call */
  if (arrays->contacts.n_rows != gather->n_rows || found->n_v != stepper->forest.nv ||
      found->n_gamma != 3 * (int64_t)gather->problem.n_contacts ||
      found->n_group_gamma != gather->elements.n_rows ||
      found->n_spin_gamma != 3 * (int64_t)gather->spins.spin.n ||
      (found->n_efc_force > 0 && found->n_efc_force != gather->n_rows)) {
    return 0;
  }
  if (gather->fault != SAP_FAULT_NONE || stepper->forest.n_trees == 0) {
    return 1;
  }
  copy(gather->v, found->v, found->n_v);
  copy(gather->gamma, found->gamma, found->n_gamma);
  copy(gather->elements.gamma, found->group_gamma, found->n_group_gamma);
  copy(gather->spins.gamma, found->spin_gamma, found->n_spin_gamma);
  /* every tree has a new velocity, whether or not anything touches it */
  memset(gather->touched, 1, (size_t)stepper->forest.n_trees);
  scatter(stepper, arrays);
  for (int64_t i = 0; i < found->n_efc_force; ++i) {
    arrays->efc_force[i] += found->efc_force[i];
  }
  return 1;
}

sap_status sap_stepper_write_at(sap_stepper *stepper, const sap_step_arrays *arrays,
                                const double *v, sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  const sap_solution solution = solution_in(gather);
  const sap_status status =
      sap_solver_impulses(stepper->solver, &gather->problem, v, &solution, error);
  if (status == SAP_OK) {
    memset(gather->touched, 1, (size_t)stepper->forest.n_trees);
    scatter(stepper, arrays);
  }
  return status;
}
