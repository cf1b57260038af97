/* Derivatives of steps along given changes: of the state at the start, and of numbers of the model.
 *
 * A tangent is (dq, v, act), as in sapwood/linearization.h, per unit of what it is a derivative by.
 * A step takes it from x to A x + P, where P is the derivative of the step by a number. Both come
 * from differences of the residual of linear_step.h,
 *
 *     -H dv' = [F(state + h x) - F]/h + [F(model with the number w larger) - F]/w
 *
 * so that a step of a tangent costs the stages of two steps, and no solve. h is wide, since
 * round-off of gaps moves the velocity by as much over the time step. The contact law would bend
 * over it, so it has a derivative of its own, along the changes of its numbers (law_numbers.h).
 * Where linear_number.h has the derivative by a number, one step less is needed. Differences have
 * one side: all but the law is nearly linear in them, and a number at the end of its range, such as
 * a damping of 0, can only grow. Sensors follow from forces of the law itself: with them, the state
 * has a difference with two sides, within the region of the law. Numbers move no gap, so that their
 * differences are narrow, and take the law itself.
 *
 * Where contacts may jump, a tangent takes differences to both sides of the state besides.
 *
 * Ownership: worlds and arrays are the caller's. */
#ifndef SAPWOOD_MUJOCO_STAGES_STEP_TANGENTS_H
#define SAPWOOD_MUJOCO_STAGES_STEP_TANGENTS_H

#include "mujoco/engine/number_slopes.h"
#include "step/derivatives/linear_step.h"
#include "sapwood/mujoco.h"

/* Numbers of a model that are exchanged while it is changed. One model with patches stays in the
 * caches, where as many models would not. */
struct sap_model_patch {
  int64_t n;
  double *const *place; /* (n) in the model */
  double *value;        /* (n) of the changed model; those of the model while it is changed */
};

/* The way in which a step of a tangent is found. */
struct sap_tangent_way {
  double width;  /* width of the difference along the state; INFINITY: the tangent is 0 */
  int is_linear; /* 1: the number has its derivative by linear_number.h */
};

struct sap_step_tangents {
  sap_mujoco_world *centre;       /* the state, and its step */
  struct sap_linear_step *linear; /* belongs to the stepper of the centre */
  sap_mujoco_world *aside;        /* the same model and stepper, with data for changed states */
  int32_t n;
  sap_mujoco_world *const *changed; /* (n) worlds of the changed models, each with its stepper, and
                                          the data of `aside`; NULL: not of a number */
  const struct sap_model_patch *patch;   /* (n) from the model of these worlds to the changed one */
  const double *width;                   /* (n) changes of the numbers */
  const struct sap_model_number *number; /* (n) */
  double soften;                         /* as in sap_linear_step */
  double *work;                          /* sap_tangents_work() numbers */
  int32_t *dof;                          /* (nv) workspace */
  struct sap_tangent_way *way;           /* (n) workspace */

  int lean;                 /* 1 if steps without sensors may be lean, as in lean_step.h */
  sap_mujoco_world *failed; /* output: the world that failed, or NULL */
  int is_near_kink;         /* output: 1 if the last step was near a boundary of the law, a
                               difference had other constraints, or a contact jumps along it */
  int loses_rebound;        /* output: as in sap_mujoco_linear, of the last step */
  int holds_rotation;       /* output: as there, of the last step */
};

/* The arrays that a run reads and writes, step by step. */
struct sap_tangents_record {
  const double *ctrl;     /* (steps, nu), or NULL: the controls stay */
  double *qpos, *qvel;    /* (steps, nq) and (steps, nv), after each step */
  double *x;              /* (steps, n, 2 nv + na) tangents after each step */
  double *sensors, *dy;   /* (steps, n_sensors), (steps, n, n_sensors); NULL: not found */
  signed char *near_kink; /* (steps) is_near_kink */
  signed char *rebound;   /* (steps) loses_rebound */
  signed char *rotation;  /* (steps) holds_rotation */
};

/* Returns the length of `work` for n tangents. */
int64_t sap_tangents_work(const sap_mujoco_world *world, int64_t n);

/* Takes steps of the data of the centre, with tangents that are x_0 (n, 2 nv + na) at the start.
 * Returns the number of steps before the first failure. */
int64_t sap_tangents_run(struct sap_step_tangents *t, int64_t steps, const double *x_0,
                         const struct sap_tangents_record *record);

#endif
