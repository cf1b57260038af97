/* A sap_mujoco_world for Python: it opens one from a MjModel and a MjData, and reports its
 * failures. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PY_WORLD_H
#define SAPWOOD_PYTHON_MUJOCO_PY_WORLD_H

#include "python/mujoco/engine.h"
#include "python/stepper/object.h"

/* The objects of a step; they belong to the caller. */
typedef struct sapwood_place {
  sapwood_stepper *stepper;
  const sapwood_engine *engine;
  const void *model;
  void *data;
} sapwood_place;

/* The context of the hooks of a world. */
typedef struct sapwood_watch {
  sapwood_lock *lock;
  sapwood_state *state;
  double looked; /* time of the last look for signals, by a steady clock, s */
} sapwood_watch;

/* Finds the structs of a MjModel and a MjData. Returns 0, or -1 with an exception that names the
 * argument. */
int sapwood_place_find(sapwood_place *place, sapwood_stepper *stepper, PyObject *api,
                       PyObject *model, PyObject *data);

/* Opens a world at that place; the data must fit the model. Its steps take the lock of the stepper.
 * `memory` is a FrictionMemory of that stepper or None. `signals` admits signals between steps,
 * which only the main thread can. `watch` must outlive the world; the caller closes the world.
 * Returns 0, or -1 with an exception. Needs the GIL. */
int sapwood_world_open(sap_mujoco_world **world, sapwood_watch *watch, const sapwood_place *place,
                       PyObject *memory, int signals);

/* Does both for the objects api, model and data. */
int sapwood_world_of(sap_mujoco_world **world, sapwood_watch *watch, sapwood_stepper *stepper,
                     PyObject *const objects[3], PyObject *memory, int signals);

/* Returns the failure as a tuple (name, code, index, message), or None without one. An exception
 * that a callback has set, or a MemoryError, takes the place of the tuple. NULL with an exception
 * if memory ran out. Needs the GIL. */
PyObject *sapwood_world_failure(const sap_mujoco_world *world);

/* Returns a tuple: the number of taken steps, the number of notable ones, and the failure. NULL
 * with an exception if memory ran out. Needs the GIL. */
PyObject *sapwood_world_ended(const sap_mujoco_world *world, int64_t taken, int64_t notable);

/* Returns the n records of an array of dtype STEP_RECORD, which owns them, or NULL with an
 * exception. */
sap_step_record *sapwood_take_records(PyObject *object, npy_intp n);

#endif
