/* The stepper behind sapwood/stepper.h: its construction, and what its last step left. solve_step.c
 * takes the steps.
 *
 * Ownership: a stepper owns its solver and its workspace; the arrays of the model are the
 * caller's. */
#ifndef SAPWOOD_STEP_STEPPER_OBJECT_H
#define SAPWOOD_STEP_STEPPER_OBJECT_H

#include "step/gather.h"
#include "step/rebounds.h"
#include "step/contacts/separation_bounds.h"

struct sap_stepper {
  sap_forest forest;
  sap_elements elements; /* elements of the model, if `constrained` */
  int constrained;       /* 1 if the model has constraints other than contacts */
  int lags;              /* 1 if a memory of the step before bounds the friction */
  int is_convex;         /* 1 if the friction law is the convex one */
  int keeps_history;     /* 1 if the solver records every solve */
  int may_be_inactive;   /* 1 if open contacts may be inactive, see inactive.h */
  sap_step_settings settings;
  sap_allocator memory;
  sap_solver *solver;
  struct sap_gather gather;
  struct sap_rebounds rebounds;
  struct sap_separation_bounds *gaps; /* NULL if the stepper has no speculative contacts */
  sap_solution solution;              /* points into `gather` */
  double solve_seconds;
  double overlap;    /* largest overlap, as in sap_step_record */
  double end_time;   /* time of the data after the last solved step of an engine, s */
  int solved;        /* 1 if the last step found a solution */
  int took;          /* 1 if the last step wrote its outputs */
  int is_corrected;  /* 1 if forces of the last step were changed at the velocity found */
  int32_t fallbacks; /* bits as in sap_step_record, without those of the last solve */
  int64_t counts[SAP_PROXIMAL_LIMIT + 1]; /* number of taken steps, by sap_outcome */
};

/* Returns 1 if the gather has the whole problem of the step that was solved last, as it was at the
 * start, with R, v_hat and bounds. */
static inline int sap_has_problem_of_start(const sap_stepper *stepper) {
  const sap_problem *problem = &stepper->gather.problem;
  return stepper->solved && !stepper->is_corrected &&
         !(stepper->fallbacks & SAP_FALLBACK_REBOUND) && stepper->gather.inactive.n == 0 &&
         problem->n_contacts + problem->n_groups > 0;
}

/* Returns 1 if the solver found a velocity to go on with. */
static inline int sap_has_velocity(sap_outcome outcome) {
  return outcome != SAP_BREAKDOWN && outcome != SAP_NON_FINITE;
}

/* Returns the fallbacks of all islands of a solution, bits as in sap_step_record. */
static inline int32_t sap_fallbacks_of(const sap_solution *solution) {
  int32_t fallbacks = 0;
  for (int32_t i = 0; i < solution->n_islands; ++i) {
    fallbacks |= solution->islands[i].fallbacks;
  }
  return fallbacks;
}

/* Sets release_speed and release_rate of the settings, both > 0, and slip_speed and slip_rate, both
 * finite and >= 0, in this order. */
void sap_stepper_set_speeds(sap_stepper *stepper, const double speeds[SAP_STEP_SPEEDS]);

/* Takes steps of length dt > 0, s, from now on. */
void sap_stepper_set_time_step(sap_stepper *stepper, double dt);

/* ---- access without the struct -------------------------------------------------------------- */

const sap_forest *sap_stepper_forest(const sap_stepper *stepper);

/* Returns the time of the last solve, s. */
double sap_stepper_solve_seconds(const sap_stepper *stepper);

/* Returns the records (n) of the last solve. n = 0 without a solution, or if the solver keeps no
 * history. */
const sap_iteration *sap_stepper_history(const sap_stepper *stepper, int32_t *n);

/* Returns 1 if contacts of the last problem have rigid cores. */
int sap_stepper_has_rigid_cores(const sap_stepper *stepper);

/* Returns the number of taken steps, by sap_outcome. */
const int64_t *sap_stepper_counts(const sap_stepper *stepper);

/* Makes a stepper like another one, with its counts and without its pressure fields. The memory of
 * the other one stays as it is: another process may have left its locks taken. */
sap_status sap_stepper_renew(sap_stepper **fresh, const sap_stepper *old,
                             const sap_settings *settings);

/* ---- steps ---------------------------------------------------------------------------------- */

/* Returns the record of the last taken step, without its times. */
sap_step_record sap_stepper_record(const sap_stepper *stepper);

/* Sums the forces of all contacts on each body (n_bodies, 3), N, in the world. */
void sap_stepper_body_forces(const sap_stepper *stepper, double *force);

/* The two parts of sap_stepper_gather(). The first gathers the problem. Only sides of limits that
 * act (open_limits.h) have rows; NULL gives rows to all. The second finds R, v_hat and bounds of a
 * problem that was gathered without a fault. */
sap_status sap_stepper_gather_numbers(sap_stepper *stepper, const sap_step_arrays *arrays,
                                      const uint8_t *acting);
sap_status sap_stepper_regularize(sap_stepper *stepper, sap_error *error);

/* A solution from elsewhere: v (nv), gamma (n_contacts, 3), group_gamma (n_rows) and spin_gamma
 * (n_spins, 3). efc_force (n_rows of the engine) has the forces of contacts that the problem does
 * not have, and 0 elsewhere. */
struct sap_found {
  const double *v, *gamma, *group_gamma, *spin_gamma, *efc_force;
  /* lengths of these arrays */
  int64_t n_v, n_gamma, n_group_gamma, n_spin_gamma, n_efc_force;
};

/* Ends the step whose problem was gathered last: writes as sap_stepper_solve() does, unless there
 * is a fault. Returns 0 if the lengths of `found` or efc_force differ from those of the problem. */
int sap_stepper_write(sap_stepper *stepper, const sap_step_arrays *arrays,
                      const struct sap_found *found);

/* Ends the step whose problem was gathered and regularized last, at the velocity v (nv) and with
 * the impulses of the law at v. A fault is left in the stepper. */
sap_status sap_stepper_write_at(sap_stepper *stepper, const sap_step_arrays *arrays,
                                const double *v, sap_error *error);

#endif
