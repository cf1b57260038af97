/* The functions of the MuJoCo library that Python has loaded, and the places of the fields of its
 * structs.
 *
 * Python finds both at run time (sapwood/mujoco_engine.py): addresses in the loaded library,
 * offsets from MuJoCo's own description of its structs, checked against a live model. Nothing is
 * linked and no header of MuJoCo is read, so one build serves every version whose fields have these
 * names and types.
 *
 * MuJoCo reports an error by a call of its log handler that must not return: sapwood_mujoco_call
 * runs MuJoCo's functions under a handler that jumps back to it. What an error leaves of the data
 * is for the caller to restore. Warnings go where they would go without us.
 *
 * Ownership: the table lives in a capsule, which keeps the types of the model and the data alive;
 * it never changes. */
#ifndef SAPWOOD_PYTHON_MUJOCO_API_H
#define SAPWOOD_PYTHON_MUJOCO_API_H

#include "python/stepper/stepper.h"

#include <string.h>

enum {
  SAPWOOD_MUJOCO_MESSAGE = 1024,        /* bytes of an error text, as MuJoCo has it */
  SAPWOOD_MUJOCO_NO_ACTUATION = 1 << 11 /* mjDSBL_ACTUATION */
};

typedef void sapwood_mujoco_stage(const void *model, void *data);
typedef void sapwood_mujoco_log(const void *message);

typedef struct sapwood_mujoco {
  /* functions */
  sapwood_mujoco_stage *mj_step1, *mj_fwdActuation, *mj_fwdAcceleration, *mj_sensorAcc, *mj_Euler;
  int (*mj_isSparse)(const void *model);
  int (*mj_stateSize)(const void *model, int spec);
  void (*mj_getState)(const void *model, const void *data, double *state, int spec);
  void (*mj_setState)(const void *model, void *data, const double *state, int spec);
  void (*mju_error)(const char *format, ...);
  sapwood_mujoco_log *(*_mjPRIVATE_setTlsLogHandler)(sapwood_mujoco_log *handler);
  sapwood_mujoco_log *(*_mjPRIVATE_getGlobalLogHandler)(void);

  /* offsets in bytes */
  struct {
    ptrdiff_t nq, nv, nu, na, nbody, ngeom, ntree, nC, nmocap, nsensordata; /* int64 */
    ptrdiff_t neq, ntendon, nout;                                           /* int64 */
    ptrdiff_t timestep;                                                     /* double */
    ptrdiff_t integrator, cone, disableflags, enableflags;                  /* int */
    ptrdiff_t disableactuator;                                              /* int */
  } model;
  struct {
    ptrdiff_t time;                                         /* double */
    ptrdiff_t pstack, pbase;                                /* size_t */
    ptrdiff_t ncon, nefc, contacts_full, rows_full;         /* int */
    ptrdiff_t flg_rnepost;                                  /* one byte */
    ptrdiff_t qpos, qvel, act, ctrl, mocap_pos, mocap_quat; /* double *, and below */
    ptrdiff_t M, cdof, subtree_com, qfrc_smooth, qacc_smooth;
    ptrdiff_t qacc, qfrc_constraint, efc_force, sensordata;
    ptrdiff_t contact;                          /* pointer to the first contact */
    ptrdiff_t elements[SAPWOOD_ELEMENT_ARRAYS]; /* pointers, as in stepper_elements.h */
  } data;
  struct {
    ptrdiff_t size;                            /* of the struct */
    ptrdiff_t dist, pos, frame, friction;      /* double */
    ptrdiff_t surfacevel, adhesion;            /* double; -1 where there are none */
    ptrdiff_t dim, geom, exclude, efc_address; /* int */
  } contact;

  PyTypeObject *model_type, *data_type; /* references */
} sapwood_mujoco;

extern const char sapwood_mujoco_api_doc[];

/* mujoco_api(functions, layout, model_type, data_type): the capsule */
PyObject *sapwood_mujoco_api(PyObject *module, PyObject *args);

/* The table in the capsule `object`, or NULL with TypeError. */
const sapwood_mujoco *sapwood_mujoco_of(PyObject *object);

/* Address of the struct behind a MjModel or MjData, which must be of `type`; NULL with an exception
 * that calls it `name`. */
void *sapwood_mujoco_address(PyObject *object, PyTypeObject *type, const char *name);

/* Calls body(context), which may call MuJoCo, and returns 0; or -1 when MuJoCo reported an error,
 * with its text in `message` (SAPWOOD_MUJOCO_MESSAGE). Calls may be nested. Without the GIL. */
int sapwood_mujoco_call(const sapwood_mujoco *api, void (*body)(void *), void *context,
                        char *message);

/* fields by offset */
static inline int64_t sapwood_int64_at(const void *base, ptrdiff_t offset) {
  int64_t value;
  memcpy(&value, (const char *)base + offset, sizeof value);
  return value;
}
static inline int sapwood_int_at(const void *base, ptrdiff_t offset) {
  int value;
  memcpy(&value, (const char *)base + offset, sizeof value);
  return value;
}
static inline double sapwood_double_at(const void *base, ptrdiff_t offset) {
  double value;
  memcpy(&value, (const char *)base + offset, sizeof value);
  return value;
}
static inline void *sapwood_pointer_at(const void *base, ptrdiff_t offset) {
  void *value;
  memcpy(&value, (const char *)base + offset, sizeof value);
  return value;
}

#endif /* SAPWOOD_PYTHON_MUJOCO_API_H */
