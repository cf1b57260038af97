/* The struct behind _core.ModelStepper: a sap_stepper, private copies of the arrays it reads, and a
 * lock.
 *
 * What lies in `core` changes with every step, under the lock, which is waited for and held without
 * the GIL; the rest never after construction, but where it says so. */
#ifndef SAPWOOD_PYTHON_STEPPER_OBJECT_H
#define SAPWOOD_PYTHON_STEPPER_OBJECT_H

#include "step/stepper_object.h"
#include "python/convert.h"
#include "python/lock.h"
#include "python/state.h"
#include "sapwood/mujoco.h"

enum { SAPWOOD_CONSTANTS = 59 }; /* arrays of the forest and of the elements */

/* what pressure fields are read from; all NULL and 0 without */
typedef struct sapwood_fields {
  PyArrayObject *pair_geom, *pair_dim, *pair_friction;
  PyObject *shapes;        /* tuple of capsules */
  const geo_shape **shape; /* (n_geoms) in them */
  sap_fields core;
} sapwood_fields;

typedef struct sapwood_stepper {
  PyObject_HEAD
  sap_stepper *core;
  PyArrayObject *arrays[SAPWOOD_CONSTANTS]; /* private copies behind its forest and elements */
  sapwood_fields fields;
  sap_settings settings; /* of its solver */
  sapwood_lock lock;
  sapwood_state *state;

  /* under the GIL */
  sap_mujoco_options options; /* of the model, as they were last found to be in order */
  int options_known;
} sapwood_stepper;

#endif
