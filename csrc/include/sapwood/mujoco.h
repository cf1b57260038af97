/* Steps of MuJoCo models in C: MuJoCo's stages around the stepper of sapwood/stepper.h.
 *
 *     check state, stages of mj_step1, mj_fwdActuation, mj_fwdAcceleration, [mjd_smooth_vel,]
 *     gather, solve, write back,
 *     mj_sensorAcc, mj_Euler
 *
 * mjd_smooth_vel finds the derivative of the smooth forces where the forest has its pattern, which
 * it has for the integrators implicit and implicitfast. mj_Euler integrates qacc as they do.
 *
 * The stages of mj_step1 are called one by one, mj_makeConstraint only where there may be rows. In
 * the steps of a run but for the last one, sensors and energies are passed over, and of the rows
 * those are made that the step reads: it is handed a copy of struct mjModel with more disabled.
 * Where the stepper is speculative mj_collision finds what may close within the step: it is handed
 * a copy of struct mjModel, in the stack of mjData, with other margins. A filter of contacts, which
 * would see that copy, is handed the model, and margins stay as they are; so they do where the
 * contacts found are more than mjData has room for.
 *
 * The library links no MuJoCo and reads no header of it: it calls the functions and reads the
 * fields that a table names, so that one build serves every version whose fields have these names
 * and types. A program that includes <mujoco/mujoco.h> before this header (MuJoCo 4.0 or later)
 * gets sap_mujoco_fill(), which fills the table as its compiler sees MuJoCo, and what else can be
 * taken from a model: see the end of this header. examples/c/step.c is a whole program.
 *
 * MuJoCo reports an error by a call of its log handler that must not return. Its functions are
 * called under a handler, of this thread alone, that jumps back; warnings go where they would go
 * without us. */
#ifndef SAPWOOD_MUJOCO_H
#define SAPWOOD_MUJOCO_H

#include "sapwood/stepper.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the engine ----------------------------------------------------------------------------- */

#define SAP_MUJOCO_FUNCTIONS(X)  \
  X(mj_fwdKinematics)            \
  X(mj_makeM)                    \
  X(mj_factorM)                  \
  X(mj_collision)                \
  X(mj_makeConstraint)           \
  X(mj_transmission)             \
  X(mj_sensorPos)                \
  X(mj_energyPos)                \
  X(mj_fwdVelocity)              \
  X(mj_sensorVel)                \
  X(mj_energyVel)                \
  X(mj_fwdActuation)             \
  X(mj_fwdAcceleration)          \
  X(mj_sensorAcc)                \
  X(mj_Euler)                    \
  X(mj_isSparse)                 \
  X(mj_markStack)                \
  X(mj_freeStack)                \
  X(mj_stackAllocByte)           \
  X(mj_stateSize)                \
  X(mj_getState)                 \
  X(mj_setState)                 \
  X(mjd_smooth_vel)              \
  X(mj_geomDistance)             \
  X(mju_error)                   \
  X(_mjPRIVATE_setTlsLogHandler) \
  X(_mjPRIVATE_getGlobalLogHandler)

/* global variables: callbacks, NULL where none is registered */
#define SAP_MUJOCO_CALLBACKS(X) \
  X(mjcb_passive)               \
  X(mjcb_control)               \
  X(mjcb_contactfilter)         \
  X(mjcb_sensor)                \
  X(mjcb_act_dyn)               \
  X(mjcb_act_gain)              \
  X(mjcb_act_bias)

/* int64 fields of mjModel */
#define SAP_MUJOCO_SIZES(X) \
  X(nq)                     \
  X(nv)                     \
  X(nu)                     \
  X(na)                     \
  X(nbody)                  \
  X(ngeom)                  \
  X(ntree)                  \
  X(njnt)                   \
  X(nC)                     \
  X(nD)                     \
  X(nmocap)                 \
  X(nsensordata)            \
  X(neq)                    \
  X(ntendon)                \
  X(npair)                  \
  X(nexclude)               \
  X(nflex)                  \
  X(nactuator)              \
  X(nout)                   \
  X(nplugin)                \
  X(nhistory)

/* Pointers in mjModel to arrays of double, of int, of bytes, and of float (mesh_vert). -1:
 * geom_adhesion and pair_adhesion, which MuJoCo has since 4.0, where there is none, and pair_dim
 * where there are arrays of explicit pairs that are not among these. */
#define SAP_MUJOCO_CONSTANTS(X) \
  X(body_margin)                \
  X(jnt_range)                  \
  X(jnt_margin)                 \
  X(dof_frictionloss)           \
  X(tendon_frictionloss)        \
  X(geom_rbound)                \
  X(geom_margin)                \
  X(geom_gap)                   \
  X(geom_solmix)                \
  X(geom_solref)                \
  X(geom_solimp)                \
  X(geom_friction)              \
  X(geom_adhesion)              \
  X(geom_size)                  \
  X(geom_aabb)                  \
  X(bvh_aabb)                   \
  X(pair_margin)                \
  X(pair_gap)                   \
  X(pair_solref)                \
  X(pair_solreffriction)        \
  X(pair_solimp)                \
  X(pair_friction)              \
  X(pair_adhesion)              \
  X(jnt_type)                   \
  X(actuator_trntype)           \
  X(jnt_qposadr)                \
  X(body_bvhadr)                \
  X(body_parentid)              \
  X(body_contype)               \
  X(body_conaffinity)           \
  X(geom_type)                  \
  X(geom_dataid)                \
  X(geom_contype)               \
  X(geom_conaffinity)           \
  X(geom_condim)                \
  X(geom_priority)              \
  X(pair_geom1)                 \
  X(pair_geom2)                 \
  X(pair_dim)                   \
  X(exclude_signature)          \
  X(mesh_vertadr)               \
  X(mesh_vertnum)               \
  X(mesh_vert)                  \
  X(jnt_limited)

/* fields of mjModel.opt: double timestep and gravity (3), then int */
#define SAP_MUJOCO_OPTIONS(X) \
  X(timestep)                 \
  X(gravity)                  \
  X(integrator)               \
  X(cone)                     \
  X(disableflags)             \
  X(enableflags)              \
  X(disableactuator)

/* fields of mjData: double time and energy (2), int64 narena, size_t pstack, pbase and parena, int,
 * and bytes */
#define SAP_MUJOCO_NUMBERS(X) \
  X(time)                     \
  X(energy)                   \
  X(narena)                   \
  X(pstack)                   \
  X(pbase)                    \
  X(parena)                   \
  X(ncon)                     \
  X(nefc)                     \
  X(ne)                       \
  X(nf)                       \
  X(nl)                       \
  X(flg_energypos)            \
  X(flg_energyvel)            \
  X(flg_rnepost)

/* int fields of mjData: how often the warnings mjWARN_CONTACTFULL and mjWARN_CNSTRFULL came */
#define SAP_MUJOCO_WARNINGS(X) \
  X(contacts_full)             \
  X(rows_full)

/* pointers in mjData to arrays of double, and of int where sap_element_state has int32_t; contact
 * points at the first mjContact */
#define SAP_MUJOCO_ARRAYS(X) \
  X(qpos)                    \
  X(qvel)                    \
  X(act)                     \
  X(ctrl)                    \
  X(mocap_pos)               \
  X(mocap_quat)              \
  X(M)                       \
  X(cdof)                    \
  X(subtree_com)             \
  X(xipos)                   \
  X(ximat)                   \
  X(geom_xpos)               \
  X(geom_xmat)               \
  X(qfrc_smooth)             \
  X(qacc_smooth)             \
  X(qDeriv)                  \
  X(qacc)                    \
  X(qfrc_constraint)         \
  X(sensordata)              \
  X(contact)                 \
  X(efc_force)               \
  X(efc_KBIP)                \
  X(efc_type)                \
  X(efc_id)                  \
  X(efc_pos)                 \
  X(efc_frictionloss)        \
  X(efc_D)                   \
  X(efc_J)                   \
  X(efc_J_rownnz)            \
  X(efc_J_rowadr)            \
  X(efc_J_colind)            \
  X(ten_length)              \
  X(ten_J)                   \
  X(actuator_length)         \
  X(actuator_velocity)       \
  X(moment_rownnz)           \
  X(moment_rowadr)           \
  X(moment_colind)           \
  X(actuator_moment)         \
  X(actuator_force)          \
  X(qfrc_actuator)

/* fields of mjContact: double up to surfacevel, which is -1 where there is none, then int */
#define SAP_MUJOCO_CONTACT(X) \
  X(dist)                     \
  X(pos)                      \
  X(frame)                    \
  X(friction)                 \
  X(surfacevel)               \
  X(dim)                      \
  X(geom)                     \
  X(exclude)                  \
  X(efc_address)

typedef void sap_mujoco_stage(const void *model, void *data);
typedef void sap_mujoco_log(const void *message);

/* Functions of the engine and offsets of its fields in bytes. */
typedef struct sap_mujoco {
  sap_mujoco_stage *mj_fwdActuation, *mj_fwdAcceleration, *mj_sensorAcc, *mj_Euler;
  /* of mj_step1, and those below */
  sap_mujoco_stage *mj_fwdKinematics, *mj_makeM, *mj_factorM, *mj_collision, *mj_makeConstraint;
  sap_mujoco_stage *mj_transmission, *mj_sensorPos, *mj_energyPos;
  sap_mujoco_stage *mj_fwdVelocity, *mj_sensorVel, *mj_energyVel;
  sap_mujoco_stage *const *mjcb_control, *const *mjcb_contactfilter;
  sap_mujoco_stage *const *mjcb_passive, *const *mjcb_sensor; /* never called, here and below */
  sap_mujoco_stage *const *mjcb_act_dyn, *const *mjcb_act_gain, *const *mjcb_act_bias;
  int (*mj_isSparse)(const void *model);
  void (*mj_markStack)(void *data);
  void (*mj_freeStack)(void *data);
  void *(*mj_stackAllocByte)(void *data, size_t bytes, size_t alignment);
  int (*mj_stateSize)(const void *model, int spec);
  void (*mj_getState)(const void *model, const void *data, double *state, int spec);
  void (*mj_setState)(const void *model, void *data, const double *state, int spec);
  void (*mjd_smooth_vel)(const void *model, void *data, int with_bias);
  double (*mj_geomDistance)(const void *model, void *data, int geom1, int geom2, double most,
                            double *ends);
  void (*mju_error)(const char *format, ...);
  sap_mujoco_log *(*_mjPRIVATE_setTlsLogHandler)(sap_mujoco_log *handler);
  sap_mujoco_log *(*_mjPRIVATE_getGlobalLogHandler)(void);
#define SAP_MUJOCO_OFFSET(name) ptrdiff_t name;
  struct {
    ptrdiff_t size; /* of an mjModel */
    SAP_MUJOCO_SIZES(SAP_MUJOCO_OFFSET)
    SAP_MUJOCO_CONSTANTS(SAP_MUJOCO_OFFSET)
    SAP_MUJOCO_OPTIONS(SAP_MUJOCO_OFFSET)
  } model;
  struct {
    SAP_MUJOCO_NUMBERS(SAP_MUJOCO_OFFSET)
    SAP_MUJOCO_WARNINGS(SAP_MUJOCO_OFFSET)
    SAP_MUJOCO_ARRAYS(SAP_MUJOCO_OFFSET)
  } data;
  struct {
    ptrdiff_t size; /* of an mjContact */
    SAP_MUJOCO_CONTACT(SAP_MUJOCO_OFFSET)
  } contact;
#undef SAP_MUJOCO_OFFSET
} sap_mujoco;

/* 1 where an error of this engine comes back to its caller, with its text: tries one */
SAP_API int sap_mujoco_catches_errors(const sap_mujoco *api);

/* ---- a world -------------------------------------------------------------------------------- */

/* why a step could not be taken */
typedef enum sap_step_failure {
  SAP_STEP_TAKEN = 0,
  SAP_STEP_STATE,  /* entry `index` of array `code` of the state (qpos, qvel, act, ctrl, mocap_pos,
                        mocap_quat) is not finite or too large */
  SAP_STEP_MEMORY, /* MuJoCo had no room for all contacts or constraints */
  SAP_STEP_MUJOCO, /* an error of MuJoCo, `message` */
  SAP_STEP_FAULT,  /* sap_fault `code` at `index` */
  SAP_STEP_ARGUMENT, /* `status`, and `error` where it has one: zeros elsewhere */
  SAP_STEP_OUTCOME,  /* sap_outcome `code` without a velocity, `index` the tree or -1 */
  SAP_STEP_OPTIONS,  /* options of the model are not those that were accepted */
  SAP_STEP_FAILURES
} sap_step_failure;

SAP_API const char *sap_step_failure_name(sap_step_failure failure); /* for example "memory" */

/* options of a model that its stepper stands on */
typedef struct sap_mujoco_options {
  double timestep;
  int integrator, cone, disableflags, enableflags;
} sap_mujoco_options;

/* What a caller may want to do during a run. Each function may be NULL. */
typedef struct sap_step_hooks {
  void *context;
  /* around the contact part, where threads, or callbacks of the engine, share a stepper */
  void (*lock)(void *context);
  void (*unlock)(void *context);
  /* Between steps, `now` by a steady clock in s: anything but 0 ends the run, by one more step
   * where the last one did not leave all. Not to look at the data. */
  int (*stop)(void *context, double now);
} sap_step_hooks;

enum { SAP_STATE_ARRAYS = 6, SAP_MUJOCO_MESSAGE = 1024 };

/* One mjData and what steps it. What it points at must outlive it. To be read: what the last step
 * left. */
typedef struct sap_mujoco_world {
  const sap_mujoco *api;
  sap_stepper *stepper;
  const void *model;
  void *data;
  sap_step_hooks hooks; /* to be set, if at all, after sap_mujoco_open() */
  /* The same; NULL: as in sap_step_arrays. What is remembered holds while time, qpos, qvel and act
   * are what the step before left: none of MuJoCo's states carries it, so that mj_setState(),
   * mj_resetData() and copies forget it. */
  sap_friction_memory *memory;
  int64_t state_length[SAP_STATE_ARRAYS];
  int64_t nsensordata;
  sap_mujoco_options options; /* that were accepted */
  int options_known;
  struct sap_recording *recording; /* of a run, see csrc/mujoco/stages/recording.h; NULL: of none */
  int quiet;         /* of a run: what nobody reads, csrc/mujoco/stages/lean_step.h, is not */
  int rows_left_out; /* computed in this step; as in sap_contact_list */
  int reads_rows;    /* the step before read what is left out */
  double started;    /* end of the step before, by a steady clock, s */

  int32_t fallbacks; /* of the step at hand: bits of sap_step_fallback */

  /* of the last step */
  sap_step_record record;
  sap_step_failure failure;
  int code;
  int64_t index;
  sap_status status;
  sap_error error;
  char message[SAP_MUJOCO_MESSAGE];
} sap_mujoco_world;

/* Prepares steps of an mjData by a stepper that was made for its mjModel: sizes must agree, time
 * step and cone too, the integrator must be implicit or implicitfast where the forest has a pattern
 * of D and Euler where it has none, with the flags mjDSBL_EULERDAMP and mjDSBL_ISLAND. The options
 * must stay as they are. SAP_INVALID_ARGUMENT names what is wrong. */
SAP_API sap_status sap_mujoco_open(sap_mujoco_world *world, const sap_mujoco *api,
                                   sap_stepper *stepper, const void *model, void *data,
                                   sap_error *error);

/* Takes a step and returns world->failure. A step that cannot be taken leaves the state before
 * it. */
SAP_API sap_step_failure sap_mujoco_step(sap_mujoco_world *world);

/* Takes steps until one fails or the hook `stop` says so, and returns how many; the same bits as
 * that many calls of sap_mujoco_step(), in the state after each and in what the last one leaves.
 * The steps before it leave no rows of constraints, values of sensors, or energies, unless a
 * callback of the engine may look at them. records (steps) and notable, how many of them
 * sap_step_is_notable(), may be NULL. */
SAP_API int64_t sap_mujoco_run(sap_mujoco_world *world, int64_t steps, sap_step_record *records,
                               int64_t *notable);

#ifdef __cplusplus
}
#endif

#endif /* SAPWOOD_MUJOCO_H */

/* ---- for programs that know MuJoCo ---------------------------------------------------------- */

#if defined(MUJOCO_MUJOCO_H_) && !defined(SAPWOOD_MUJOCO_FILL)
#define SAPWOOD_MUJOCO_FILL

#if mjVERSION_HEADER < 4000000 || defined(mjUSESINGLE)
#error "sapwood/mujoco.h needs MuJoCo 4.0 or later, in double precision"
#endif

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
/* exported by MuJoCo, but in none of its headers */
MJAPI void mjd_smooth_vel(const mjModel *m, mjData *d, int flg_bias);
MJAPI mjfLogHandler _mjPRIVATE_setTlsLogHandler(mjfLogHandler handler);
MJAPI mjfLogHandler _mjPRIVATE_getGlobalLogHandler(void);
#ifdef __cplusplus
}
#endif

/* The table of the MuJoCo that this program is compiled and linked with. */
static inline void sap_mujoco_fill(sap_mujoco *api) {
  /* a pointer to a function has one representation, whatever its arguments */
#define SAP_MUJOCO_ADDRESS(name)                                  \
  {                                                               \
    void (*address)(void) = (void (*)(void))name;                 \
    memcpy((void *)&api->name, (void *)&address, sizeof address); \
  }
  SAP_MUJOCO_FUNCTIONS(SAP_MUJOCO_ADDRESS)
#undef SAP_MUJOCO_ADDRESS
#define SAP_MUJOCO_ADDRESS(name)                          \
  {                                                       \
    const void *address = (const void *)&name;            \
    memcpy((void *)&api->name, &address, sizeof address); \
  }
  SAP_MUJOCO_CALLBACKS(SAP_MUJOCO_ADDRESS)
#undef SAP_MUJOCO_ADDRESS
#define SAP_MUJOCO_OFFSET(name) api->model.name = (ptrdiff_t)offsetof(mjModel, name);
  SAP_MUJOCO_SIZES(SAP_MUJOCO_OFFSET)
  SAP_MUJOCO_CONSTANTS(SAP_MUJOCO_OFFSET)
#if mjVERSION_HEADER >= 4001000
  api->model.pair_dim = -1; /* arrays of explicit pairs may be more than was known of */
#endif
#undef SAP_MUJOCO_OFFSET
#define SAP_MUJOCO_OFFSET(name) api->model.name = (ptrdiff_t)offsetof(mjModel, opt.name);
  SAP_MUJOCO_OPTIONS(SAP_MUJOCO_OFFSET)
#undef SAP_MUJOCO_OFFSET
#define SAP_MUJOCO_OFFSET(name) api->data.name = (ptrdiff_t)offsetof(mjData, name);
  SAP_MUJOCO_NUMBERS(SAP_MUJOCO_OFFSET)
  SAP_MUJOCO_ARRAYS(SAP_MUJOCO_OFFSET)
#undef SAP_MUJOCO_OFFSET
#define SAP_MUJOCO_OFFSET(name) api->contact.name = (ptrdiff_t)offsetof(mjContact, name);
  SAP_MUJOCO_CONTACT(SAP_MUJOCO_OFFSET)
#undef SAP_MUJOCO_OFFSET
  const ptrdiff_t warning =
      (ptrdiff_t)(offsetof(mjData, warning) + offsetof(mjWarningStat, number));
  const ptrdiff_t size = (ptrdiff_t)sizeof(mjWarningStat);
  api->data.contacts_full = warning + mjWARN_CONTACTFULL * size;
  api->data.rows_full = warning + mjWARN_CNSTRFULL * size;
  api->model.size = (ptrdiff_t)sizeof(mjModel);
  api->contact.size = (ptrdiff_t)sizeof(mjContact);
}

/* Sets the flags that sap_mujoco_open() asks for: mj_Euler then takes qacc as it is, and MuJoCo
 * looks for no islands. */
static inline void sap_mujoco_prepare(mjModel *model) {
  model->opt.disableflags |= mjDSBL_EULERDAMP | mjDSBL_ISLAND;
}

/* A forest in the arrays of the model, without what follows from no single array of it: damping,
 * and stiffness, dissipation_time and friction of the geoms, are NULL and yet to be set. mu of all
 * contacts follows from that of the geoms; with a friction_given of zeros it is MuJoCo's, of
 * explicit pairs too. With the pattern of D where the integrator is implicit. */
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

/* Coefficients (nv, SAP_DAMPING_TERMS) of the damping forces of the dofs, those of actuators that
 * damp their joint included. */
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
  /* through the gear on both sides */
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
