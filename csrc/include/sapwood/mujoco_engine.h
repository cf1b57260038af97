/* This module declares MuJoCo as sapwood calls it from C: a table of its functions and of the
 * offsets of its fields.
 *
 * The library links no MuJoCo and reads no header of it, so that one build serves every version
 * whose fields have the names and types of mujoco_fields.h. A program that includes
 * <mujoco/mujoco.h> (MuJoCo 4.0 or later) ahead of this header gets sap_mujoco_fill(), which fills
 * the table as its compiler sees MuJoCo.
 *
 * MuJoCo reports an error by a call of its log handler that must not return. The steps call its
 * functions under a handler of this thread that jumps back; warnings reach their usual handler. */
#ifndef SAPWOOD_MUJOCO_ENGINE_H
#define SAPWOOD_MUJOCO_ENGINE_H

#include <stddef.h>

#include "sapwood/mujoco_fields.h"
#include "sapwood/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SAP_MUJOCO_FUNCTIONS(X)  \
  X(mj_fwdKinematics)            \
  X(mj_kinematics)               \
  X(mj_comPos)                   \
  X(mj_tendon)                   \
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
  X(mj_comVel)                   \
  X(mj_rne)                      \
  X(mj_solveM)                   \
  X(mj_mulM)                     \
  X(mj_isSparse)                 \
  X(mj_markStack)                \
  X(mj_freeStack)                \
  X(mj_stackAllocByte)           \
  X(mj_stateSize)                \
  X(mj_getState)                 \
  X(mj_setState)                 \
  X(mj_resetDataKeyframe)        \
  X(mjd_smooth_vel)              \
  X(mj_integratePos)             \
  X(mj_differentiatePos)         \
  X(mju_error)                   \
  X(_mjPRIVATE_setTlsLogHandler) \
  X(_mjPRIVATE_getGlobalLogHandler)

/* global variables: callbacks, NULL if none is registered */
#define SAP_MUJOCO_CALLBACKS(X) \
  X(mjcb_passive)               \
  X(mjcb_control)               \
  X(mjcb_contactfilter)         \
  X(mjcb_sensor)                \
  X(mjcb_act_dyn)               \
  X(mjcb_act_gain)              \
  X(mjcb_act_bias)

typedef void sap_mujoco_stage(const void *model, void *data);
typedef void sap_mujoco_log(const void *message);

/* Functions of the engine and offsets of its fields in bytes. */
typedef struct sap_mujoco {
  sap_mujoco_stage *mj_fwdActuation, *mj_fwdAcceleration, *mj_sensorAcc, *mj_Euler;
  /* these are the stages of mj_step1 */
  sap_mujoco_stage *mj_fwdKinematics, *mj_kinematics, *mj_comPos, *mj_tendon;
  sap_mujoco_stage *mj_makeM, *mj_factorM, *mj_collision, *mj_makeConstraint;
  sap_mujoco_stage *mj_transmission, *mj_sensorPos, *mj_energyPos;
  sap_mujoco_stage *mj_fwdVelocity, *mj_sensorVel, *mj_energyVel;
  sap_mujoco_stage *mj_comVel;
  sap_mujoco_stage *const *mjcb_control, *const *mjcb_contactfilter;
  sap_mujoco_stage *const *mjcb_passive, *const *mjcb_sensor; /* never called, like the next ones */
  sap_mujoco_stage *const *mjcb_act_dyn, *const *mjcb_act_gain, *const *mjcb_act_bias;
  int (*mj_isSparse)(const void *model);
  void (*mj_markStack)(void *data);
  void (*mj_freeStack)(void *data);
  void *(*mj_stackAllocByte)(void *data, size_t bytes, size_t alignment);
  int (*mj_stateSize)(const void *model, int spec);
  void (*mj_getState)(const void *model, const void *data, double *state, int spec);
  void (*mj_setState)(const void *model, void *data, const double *state, int spec);
  void (*mj_resetDataKeyframe)(const void *model, void *data, int key);
  void (*mjd_smooth_vel)(const void *model, void *data, int with_bias);
  void (*mj_integratePos)(const void *model, double *qpos, const double *qvel, double dt);
  void (*mj_differentiatePos)(const void *model, double *qvel, double dt, const double *qpos1,
                              const double *qpos2);
  void (*mj_rne)(const void *model, void *data, int with_acceleration, double *bias);
  void (*mj_solveM)(const void *model, void *data, double *x, const double *y, int n);
  void (*mj_mulM)(const void *model, const void *data, double *y, const double *x);
  void (*mju_error)(const char *format, ...);
  sap_mujoco_log *(*_mjPRIVATE_setTlsLogHandler)(sap_mujoco_log *handler);
  sap_mujoco_log *(*_mjPRIVATE_getGlobalLogHandler)(void);
#define SAP_MUJOCO_OFFSET(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(ptrdiff_t name;)
#define SAP_MUJOCO_WARNING(name, warning) ptrdiff_t name;
  struct {
    ptrdiff_t size;           /* size of an mjModel */
    ptrdiff_t contact_sensor; /* value of mjSENS_CONTACT */
    SAP_MUJOCO_MODEL(SAP_MUJOCO_OFFSET)
    SAP_MUJOCO_OPTION(SAP_MUJOCO_OFFSET)
  } model;
  struct {
    SAP_MUJOCO_DATA(SAP_MUJOCO_OFFSET)
    SAP_MUJOCO_WARNINGS(SAP_MUJOCO_WARNING)
  } data;
  struct {
    ptrdiff_t size; /* size of an mjContact */
    SAP_MUJOCO_CONTACT(SAP_MUJOCO_OFFSET)
  } contact;
#undef SAP_MUJOCO_OFFSET
#undef SAP_MUJOCO_WARNING
} sap_mujoco;

/* Returns 1 if an error of this engine returns to the caller with its text; provokes one. */
SAP_API int sap_mujoco_catches_errors(const sap_mujoco *api);

/* Versions of MuJoCo, as mj_version() has them, with which all tests of sapwood ran. */
#define SAP_MUJOCO_TESTED(X) \
  X(3012000)                 \
  X(3017000)                 \
  X(4000001)

/* Returns 1 if the version has the first two numbers of a tested one. With other versions an offset
 * may be right and a stage may still differ. */
SAP_API int sap_mujoco_is_tested(int version);

#ifdef __cplusplus
}
#endif

#endif /* SAPWOOD_MUJOCO_ENGINE_H */

/* ---- for programs that know MuJoCo ---------------------------------------------------------- */

#if defined(MUJOCO_MUJOCO_H_) && !defined(SAPWOOD_MUJOCO_FILL)
#define SAPWOOD_MUJOCO_FILL

#if mjVERSION_HEADER < 4000000 || defined(mjUSESINGLE)
#error "sapwood needs MuJoCo 4.0 or later, in double precision"
#endif

#include <math.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
/* MuJoCo exports these, though none of its headers declares them */
MJAPI void mjd_smooth_vel(const mjModel *m, mjData *d, int flg_bias);
MJAPI mjfLogHandler _mjPRIVATE_setTlsLogHandler(mjfLogHandler handler);
MJAPI mjfLogHandler _mjPRIVATE_getGlobalLogHandler(void);
#ifdef __cplusplus
}
#endif

/* Fills the table of the MuJoCo that this program is compiled and linked with. */
static inline void sap_mujoco_fill(sap_mujoco *api) {
  /* pointers to functions have one representation for all arguments */
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
#define SAP_MUJOCO_OFFSET(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(api->model.name = (ptrdiff_t)offsetof(mjModel, name);)
  SAP_MUJOCO_MODEL(SAP_MUJOCO_OFFSET)
#undef SAP_MUJOCO_OFFSET
#define SAP_MUJOCO_OFFSET(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(api->model.name = (ptrdiff_t)offsetof(mjModel, opt.name);)
  SAP_MUJOCO_OPTION(SAP_MUJOCO_OFFSET)
#undef SAP_MUJOCO_OFFSET
#define SAP_MUJOCO_OFFSET(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(api->data.name = (ptrdiff_t)offsetof(mjData, name);)
  SAP_MUJOCO_DATA(SAP_MUJOCO_OFFSET)
#undef SAP_MUJOCO_OFFSET
#define SAP_MUJOCO_OFFSET(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(api->contact.name = (ptrdiff_t)offsetof(mjContact, name);)
  SAP_MUJOCO_CONTACT(SAP_MUJOCO_OFFSET)
#undef SAP_MUJOCO_OFFSET
#define SAP_MUJOCO_OFFSET(name, kind)                                                     \
  api->data.name = (ptrdiff_t)(offsetof(mjData, warning) + kind * sizeof(mjWarningStat) + \
                               offsetof(mjWarningStat, number));
  SAP_MUJOCO_WARNINGS(SAP_MUJOCO_OFFSET)
#undef SAP_MUJOCO_OFFSET
  api->model.size = (ptrdiff_t)sizeof(mjModel);
  api->model.contact_sensor = mjSENS_CONTACT;
  api->contact.size = (ptrdiff_t)sizeof(mjContact);
#if mjVERSION_HEADER >= 4001000
  api->model.pair_dim = -1; /* explicit pairs may have arrays that sapwood does not know */
#endif
}

#endif
