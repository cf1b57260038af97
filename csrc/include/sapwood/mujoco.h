/* This module steps MuJoCo models in C, by MuJoCo's stages around the stepper of sapwood/stepper.h:
 *
 *     check state, stages of mj_step1, mj_fwdActuation, mj_fwdAcceleration, [mjd_smooth_vel,]
 *     gather, solve, write back,
 *     mj_sensorAcc, mj_Euler
 *
 * mjd_smooth_vel finds the derivative of the smooth forces if the forest has its pattern, as for
 * the integrators implicit and implicitfast. mj_Euler integrates qacc as they do.
 *
 * The stages of mj_step1 are called one by one, mj_makeConstraint only if there may be rows. All
 * steps of a run except the last one are lean: they skip sensors and energies, and MuJoCo makes
 * only the rows that the step reads, from a copy of struct mjModel with more features disabled.
 * With a speculative stepper mj_collision finds the contacts that may close within the step. It
 * uses a copy of struct mjModel with other margins, in the stack of mjData. A contact filter, which
 * would see that copy, receives the model itself, and margins stay unchanged; so they do if mjData
 * has no room for all contacts found.
 *
 * sapwood/mujoco_engine.h has the table of MuJoCo's functions and fields that a step uses. A
 * program that includes <mujoco/mujoco.h> (MuJoCo 4.0 or later) ahead of this header gets
 * sap_mujoco_fill(), which fills it. It also gets functions that read a forest from a model, at the
 * end of this header. examples/c/step.c is a whole program. */
#ifndef SAPWOOD_MUJOCO_H
#define SAPWOOD_MUJOCO_H

#include "sapwood/mujoco_engine.h"
#include "sapwood/stepper.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a world -------------------------------------------------------------------------------- */

/* Reason why a step failed. */
typedef enum sap_step_failure {
  SAP_STEP_TAKEN = 0,
  SAP_STEP_STATE,  /* entry `index` of array `code` of the state (qpos, qvel, act, ctrl, mocap_pos,
                        mocap_quat) is not finite or too large */
  SAP_STEP_MEMORY, /* MuJoCo has no room for all contacts or constraints */
  SAP_STEP_MUJOCO, /* MuJoCo reports an error, `message` */
  SAP_STEP_FAULT,  /* sap_fault `code` at `index` */
  SAP_STEP_ARGUMENT,   /* `status`, and `error` if it has one: zeros elsewhere */
  SAP_STEP_OUTCOME,    /* sap_outcome `code` without a velocity, `index` the tree or -1 */
  SAP_STEP_OPTIONS,    /* the options of the model differ from the accepted ones */
  SAP_STEP_REMEMBERED, /* the friction memory in a row of a batch: it has no room for `index`
                          contacts if `code` is 0; it has an impossible number if `code` is 1 */
  SAP_STEP_FAILURES
} sap_step_failure;

SAP_API const char *sap_step_failure_name(sap_step_failure failure); /* for example "memory" */

/* Callbacks during a run. Each function may be NULL. */
typedef struct sap_step_hooks {
  void *context;
  /* called around the contact part, for threads or engine callbacks that share a stepper */
  void (*lock)(void *context);
  void (*unlock)(void *context);
  /* called between steps, with `now` of a steady clock in s: any value except 0 ends the run, after
   * one more step if the last one was lean. It must not read the data */
  int (*stop)(void *context, double now);
} sap_step_hooks;

/* One mjData with its stepper. */
typedef struct sap_mujoco_world sap_mujoco_world;

/* Prepares steps of an mjData by a stepper that was made for its mjModel: sizes must agree, time
 * step and cone too. The integrator must be implicit or implicitfast if the forest has a pattern of
 * D, else Euler, with the flags mjDSBL_EULERDAMP and mjDSBL_ISLAND. The options must not change,
 * and all arguments must outlive the world. SAP_INVALID_ARGUMENT names the fault. *world is NULL on
 * a status other than SAP_OK. */
SAP_API sap_status sap_mujoco_open(sap_mujoco_world **world, const sap_mujoco *api,
                                   sap_stepper *stepper, const void *model, void *data,
                                   sap_error *error);
SAP_API void sap_mujoco_close(sap_mujoco_world *world); /* NULL is allowed */

/* Copies the hooks. */
SAP_API void sap_mujoco_set_hooks(sap_mujoco_world *world, const sap_step_hooks *hooks);

/* Sets the memory of sap_step_arrays, NULL by default. Remembered forces hold while time, qpos,
 * qvel and act are those that the last step left. No state of MuJoCo contains them: mj_setState(),
 * mj_resetData() and copies forget them. */
SAP_API void sap_mujoco_set_memory(sap_mujoco_world *world, sap_friction_memory *memory);

/* Takes a step. A failed step restores the state at its beginning. */
SAP_API sap_step_failure sap_mujoco_step(sap_mujoco_world *world);

/* Takes steps until one fails or the hook `stop` ends the run, and returns their number. The state
 * after each step and all results of the last one have the same bits as with calls of
 * sap_mujoco_step(). All steps except the last leave no rows of constraints, values of sensors, or
 * energies, unless a callback of the engine may read them. records (steps) and notable, the number
 * of steps that sap_step_is_notable() selects, may be NULL. */
SAP_API int64_t sap_mujoco_run(sap_mujoco_world *world, int64_t steps, sap_step_record *records,
                               int64_t *notable);

/* Steps in parts. A part of length h is taken as a whole and in two halves, of which the latter are
 * kept. Their differences dq and dv estimate the error of the halves, which must be within the
 * tolerance: |dq| and, in the time step dt, dt |dv|, over the scale. Where the motion is smooth, h
 * |dv| <= |dq|, the halves are moved on by both differences (Richardson's extrapolation), which
 * makes them of second order; elsewhere a velocity may jump, and no difference is linear in h. A
 * contact that closes in the second half has its force in the next step only, which the whole and
 * the halves lack alike. Then a third half tells what they lack, as v_3 - 2 v_2 + v_1.
 *
 * Parts are the time step over powers of two and begin at multiples of their length, so that a time
 * step ends exactly. A part that fails or misses the tolerance is halved; after one with a fifth of
 * the tolerance or less the next one is twice as long. Parts of the least length are kept without
 * extrapolation even if they miss it. */
typedef struct sap_accuracy {
  double tolerance;    /* largest error of a part over the scale, > 0 */
  int halvings;        /* 1 to 30: the smallest step is the time step over 2^halvings */
  int level;           /* 0 to halvings - 1: halvings of the first part; 0 to start with */
  int state_spec;      /* mjSTATE_INTEGRATION */
  const double *scale; /* (nv) unit of the error of each velocity's position, > 0, m or rad */
} sap_accuracy;

/* Record of a step that was taken in parts. */
typedef struct sap_parts_record {
  double smallest_step; /* s */
  double error;         /* largest estimated error of a part that was taken */
  int32_t substeps;     /* number of halves that were taken */
  int32_t refused;      /* number of parts that were taken again in halves */
  int32_t unmet;        /* number of parts of least length that missed the tolerance */
  int32_t level;        /* halvings of the part that would follow */
} sap_parts_record;

/* Takes steps in parts, as sap_mujoco_run() takes them whole. It changes the time step of the model
 * and of the stepper, which nothing else may use meanwhile, and sets it back. Dissipation times
 * that follow the time step are SAP_TIME_STEP. A step that fails or that the hook `stop` interrupts
 * restores the state at its beginning. records (steps) tell of the taken halves: iterations are
 * summed, errors are the largest, contacts are those of the last one; times are of all attempts.
 * parts (steps) may be NULL. It allocates once for each call. */
SAP_API int64_t sap_mujoco_run_in_parts(sap_mujoco_world *world, const sap_accuracy *accuracy,
                                        int64_t steps, sap_step_record *records,
                                        sap_parts_record *parts, int64_t *notable);

enum { SAP_MUJOCO_MESSAGE = 1024 };

/* End of a step; sap_step_failure tells which fields are set. */
typedef struct sap_step_end {
  sap_step_failure failure;
  int code;
  int64_t index;
  sap_status status;
  sap_error error;
  char message[SAP_MUJOCO_MESSAGE];
} sap_step_end;

/* Return the end of the last step, valid until the next one, and the record of the last one
 * taken. */
SAP_API const sap_step_end *sap_mujoco_end(const sap_mujoco_world *world);
SAP_API const sap_step_record *sap_mujoco_record(const sap_mujoco_world *world);

#ifdef __cplusplus
}
#endif

#endif /* SAPWOOD_MUJOCO_H */

/* ---- for programs that know MuJoCo ---------------------------------------------------------- */

#if defined(MUJOCO_MUJOCO_H_) && !defined(SAPWOOD_MUJOCO_FOREST)
#define SAPWOOD_MUJOCO_FOREST

/* Sets the flags that sap_mujoco_open() requires: mj_Euler then uses qacc unchanged, and MuJoCo
 * looks for no islands. */
static inline void sap_mujoco_prepare(mjModel *model) {
  model->opt.disableflags |= mjDSBL_EULERDAMP | mjDSBL_ISLAND;
}

/* Returns a forest in the arrays of the model. Values that no single array holds are NULL and must
 * be set: damping, and stiffness, dissipation_time and friction of the geoms; the functions below
 * write damping, inverse masses and quaternions. mu of all contacts follows from the geoms; a
 * friction_given of zeros selects MuJoCo's mu, for explicit pairs too.
 * The forest has the pattern of D if the integrator is implicit. */
static inline sap_forest sap_mujoco_forest(const mjModel *model) {
  sap_forest forest;
  memset(&forest, 0, sizeof forest);
  forest.n_trees = (int32_t)model->ntree;
  forest.nv = (int32_t)model->nv;
  forest.n_bodies = (int32_t)model->nbody;
  forest.n_geoms = (int32_t)model->ngeom;
  forest.nM = (int32_t)model->nC;
  forest.tree_dofadr = model->tree_dofadr;
  forest.tree_dofnum = model->tree_dofnum;
  forest.dof_parentid = model->dof_parentid;
  forest.M_rownnz = model->M_rownnz;
  forest.M_rowadr = model->M_rowadr;
  forest.M_colind = model->M_colind;
  forest.body_weldid = model->body_weldid;
  forest.body_rootid = model->body_rootid;
  forest.body_dofadr = model->body_dofadr;
  forest.body_dofnum = model->body_dofnum;
  forest.body_treeid = model->body_treeid;
  forest.geom_bodyid = model->geom_bodyid;
  if (model->opt.integrator == mjINT_IMPLICIT || model->opt.integrator == mjINT_IMPLICITFAST) {
    forest.nD = (int32_t)model->nD;
    forest.D_rownnz = model->D_rownnz;
    forest.D_rowadr = model->D_rowadr;
    forest.D_colind = model->D_colind;
  }
  return forest;
}

/* Writes the inverse mass of each geom's body (ngeom), and the places of the quaternions (nv) of
 * free bodies and of single bodies on ball joints, as sap_forest has them. */
static inline void sap_mujoco_bodies(const mjModel *model, double *geom_inverse_mass,
                                     int32_t *dof_quaternion) {
  for (int geom = 0; geom < (int)model->ngeom; ++geom) {
    geom_inverse_mass[geom] = model->body_invweight0[2 * model->geom_bodyid[geom]];
  }
  for (int i = 0; i < (int)model->nv; ++i) {
    dof_quaternion[i] = -1;
  }
  for (int tree = 0; tree < (int)model->ntree; ++tree) {
    const int first = model->tree_dofadr[tree], n = model->tree_dofnum[tree];
    const int joint = model->dof_jntid[first], place = model->jnt_qposadr[joint];
    if (model->jnt_type[joint] == mjJNT_FREE && n == 6) {
      dof_quaternion[first] = place + 3;
    } else if (model->jnt_type[joint] == mjJNT_BALL && n == 3) {
      dof_quaternion[first] = place;
    }
  }
}

/* Returns sap_step_settings_default() with the model's time step, and with speeds of its scale: for
 * gravity g and the mean size s of the bodies, contacts are released with 0.1 sqrt(g s) m/s and
 * 0.01 sqrt(g/s) rad/s (s/(1 s) and 0.1 rad/s without gravity). Slip speeds are a tenth of these,
 * and the stiction speed is a hundredth of the first. Contacts are looked for ahead. */
static inline sap_step_settings sap_mujoco_step_settings(const mjModel *model) {
  sap_step_settings settings = sap_step_settings_default(model->opt.timestep);
  const double *g = model->opt.gravity, extent = model->stat.extent;
  const double size = model->stat.meansize > 0.0 ? model->stat.meansize
                      : extent > 0.0             ? extent
                                                 : 1.0;
  const int falls = !(model->opt.disableflags & mjDSBL_GRAVITY);
  const double gravity = falls ? sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) : 0.0;
  const double speed = gravity > 0.0 ? 0.1 * sqrt(gravity * size) : size, rate = 0.1 * speed / size;
  settings.release_speed = speed;
  settings.release_rate = rate;
  settings.slip_speed = 0.1 * speed;
  settings.slip_rate = 0.1 * rate;
  settings.stiction_speed = 0.01 * speed;
  settings.speculative = 1;
  return settings;
}

/* Writes the coefficients (nv, SAP_DAMPING_TERMS) of the damping forces of the dofs, including
 * actuators that damp their joint. */
static inline void sap_mujoco_damping(const mjModel *model, double *damping) {
  memset(damping, 0, sizeof(double) * SAP_DAMPING_TERMS * (size_t)model->nv);
  if (model->opt.disableflags & mjDSBL_DAMPER) {
    return;
  }
  for (int i = 0; i < (int)model->nv; ++i) {
    damping[3 * i] = model->dof_damping[i];
    damping[3 * i + 1] = model->dof_dampingpoly[mjNPOLY * i];
    damping[3 * i + 2] = model->dof_dampingpoly[mjNPOLY * i + 1];
  }
  /* the gear acts on both sides */
  for (int joint = 0; joint < (int)model->njnt; ++joint) {
    const int actuator = model->jnt_actuatorid[joint];
    if (actuator >= 0) {
      const double gear = model->actuator_gear[6 * actuator], square = gear * gear;
      double *c = damping + 3 * model->jnt_dofadr[joint];
      c[0] += square * model->actuator_damping[actuator];
      c[1] += square * model->actuator_dampingpoly[mjNPOLY * actuator];
      c[2] += square * model->actuator_dampingpoly[mjNPOLY * actuator + 1];
    }
  }
}

#endif
