/* The stepper behind sapwood/stepper.h: gather, regularize and solve, scatter.
 *
 * Ownership: a stepper owns its solver and its workspace; the arrays of the model are the
 * caller's. */
#ifndef SAPWOOD_STEP_STEPPER_OBJECT_H
#define SAPWOOD_STEP_STEPPER_OBJECT_H

#include "step/gather.h"
#include "step/contacts/separation_bounds.h"

struct sap_stepper {
  sap_forest forest;
  sap_elements elements; /* where `constrained` */
  int constrained;       /* by more than contacts */
  int lags;              /* friction is bounded by what a memory has of the step before */
  int is_convex;         /* its law of friction is the convex one */
  int keeps_history;     /* of every solve */
  int may_be_inactive;   /* open contacts may stay outside of the problem, see inactive.h */
  sap_step_settings settings;
  sap_allocator memory;
  sap_solver *solver;
  struct sap_gather gather;
  struct sap_separation_bounds *gaps; /* NULL where nothing is looked for ahead */
  sap_solution solution;              /* points into `gather` */
  double solve_seconds;
  double overlap;                     /* as in sap_step_record */
  int solved;                         /* the last step got as far as a solution, */
  int took;                           /* and wrote its outputs */
  int32_t fallbacks;                  /* as in sap_step_record, but for the last solve's */
  int64_t counts[SAP_NON_FINITE + 1]; /* steps that were taken, by sap_outcome */
};

/* 1 where the solver left a velocity to go on with */
static inline int sap_has_velocity(sap_outcome outcome) {
  return outcome != SAP_BREAKDOWN && outcome != SAP_NON_FINITE;
}

/* Sets the release_speed and release_rate of the settings, both > 0. */
void sap_stepper_set_release(sap_stepper *stepper, double speed, double rate);

/* ---- for callers that leave the struct alone ------------------------------------------------ */

const sap_forest *sap_stepper_forest(const sap_stepper *stepper);
const sap_elements *sap_stepper_elements(const sap_stepper *stepper); /* NULL: contacts alone */

/* the largest overlap of the last step, as in sap_step_record; 0 where it was not taken */
double sap_stepper_overlap(const sap_stepper *stepper);

/* the time of the last solve, s */
double sap_stepper_solve_seconds(const sap_stepper *stepper);

/* records (n) of the last solve; n = 0 without a solution, or where the solver keeps none */
const sap_iteration *sap_stepper_history(const sap_stepper *stepper, int32_t *n);

/* 1 where contacts of the last problem have rigid cores */
int sap_stepper_has_rigid_cores(const sap_stepper *stepper);

/* the number of steps that were taken, by sap_outcome */
const int64_t *sap_stepper_counts(const sap_stepper *stepper);

/* Makes a stepper like another one, with its counts and without its pressure fields. The memory of
 * the other one stays as it is: another process may have left its locks taken. */
sap_status sap_stepper_renew(sap_stepper **fresh, const sap_stepper *old,
                             const sap_settings *settings);

/* ---- steps ---------------------------------------------------------------------------------- */

/* what there is to tell of a step that was taken, but for its times */
sap_step_record sap_stepper_record(const sap_stepper *stepper);

/* sums of the forces of all contacts on each body (n_bodies, 3), N, in the world */
void sap_stepper_body_forces(const sap_stepper *stepper, double *force);

/* a solution that was found elsewhere: v (nv), gamma (n_contacts, 3), group_gamma (n_rows) and
 * spin_gamma (n_spins, 3) */
struct sap_found {
  const double *v, *gamma, *group_gamma, *spin_gamma;
  int64_t n_v, n_gamma, n_group_gamma, n_spin_gamma; /* their lengths */
};

/* The end of a step whose problem was gathered last: writes, as sap_stepper_solve() does, unless
 * there is a fault. 0 where `found` or efc_force are not as long as that problem has it. */
int sap_stepper_write(sap_stepper *stepper, const sap_step_arrays *arrays,
                      const struct sap_found *found);

#endif
