/* A sap_mujoco_world for Python: opened from a MjModel and a MjData, its failures told. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PY_WORLD_H
#define SAPWOOD_PYTHON_MUJOCO_PY_WORLD_H

#include "python/mujoco/engine.h"
#include "python/stepper/object.h"

/* what steps are taken of, and by what; the objects are the caller's */
typedef struct sapwood_place {
  sapwood_stepper *stepper;
  const sapwood_engine *engine;
  const void *model;
  void *data;
} sapwood_place;

/* what the hooks of a world know */
typedef struct sapwood_watch {
  sapwood_lock *lock;
  sapwood_state *state;
  double looked; /* for signals, by a steady clock, s */
} sapwood_watch;

/* Where a MjModel and a MjData are. 0, or -1 with an exception that names the argument. */
int sapwood_place_find(sapwood_place *place, sapwood_stepper *stepper, PyObject *api,
                       PyObject *model, PyObject *data);

/* Prepares steps there; the data must fit the model. They take the lock of the stepper; `memory` is
 * a FrictionMemory of that stepper or None; `signals` are let in between steps, which only the main
 * thread can. `watch` must outlive the world, which the caller closes. 0, or -1 with an
 * exception. Needs the GIL. */
int sapwood_world_open(sap_mujoco_world **world, sapwood_watch *watch, const sapwood_place *place,
                       PyObject *memory, int signals);

/* The failure as a tuple (name, array, index, message), or the exception that is set, of a
 * callback, or a MemoryError; None without either. NULL with an exception when memory ran out.
 * Needs the GIL. */
PyObject *sapwood_world_failure(const sap_mujoco_world *world);

/* How many steps were taken, how many of them are to be told of, and the failure, as a tuple; NULL
 * with an exception when memory ran out. Needs the GIL. */
PyObject *sapwood_world_ended(const sap_mujoco_world *world, int64_t taken, int64_t notable);

/* Room for n records in an array of dtype STEP_RECORD, or NULL with an exception. The array owns
 * it. */
sap_step_record *sapwood_take_records(PyObject *object, npy_intp n);

/* Adds the dtype STEP_RECORD to the module. 0, or -1 with an exception. */
int sapwood_add_step_record(PyObject *module);

#endif
