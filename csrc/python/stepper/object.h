/* The struct behind _core.ModelStepper: a sap_stepper, private copies of the arrays it reads, and a
 * lock.
 *
 * `core` changes with every step, under the lock. A thread waits for the lock and holds it without
 * the GIL. All other fields stay the same after construction, except where noted. */
#ifndef SAPWOOD_PYTHON_STEPPER_OBJECT_H
#define SAPWOOD_PYTHON_STEPPER_OBJECT_H

#include "step/derivatives/linear_step.h"
#include "python/convert.h"
#include "python/lock.h"
#include "python/state.h"
#include "mujoco/engine/options.h"

enum { SAPWOOD_CONSTANTS = 65 }; /* number of arrays of the forest and of the elements */

/* The sources of pressure fields; all NULL and 0 without fields. */
typedef struct sapwood_fields {
  PyArrayObject *pair_geom, *pair_dim, *pair_friction;
  PyObject *shapes;        /* tuple of capsules */
  const geo_shape **shape; /* (n_geoms) shapes in the capsules */
  sap_fields core;
} sapwood_fields;

typedef struct sapwood_stepper {
  PyObject_HEAD
  sap_stepper *core;
  PyArrayObject *arrays[SAPWOOD_CONSTANTS]; /* private copies for its forest and elements */
  sapwood_fields fields;
  sap_settings settings;          /* settings of its solver */
  struct sap_linear_step *linear; /* NULL until a step is linearized; under the GIL */
  sapwood_lock lock;
  sapwood_state *state;

  /* these change under the GIL */
  sap_mujoco_options options; /* options of the model at the last successful check */
  int options_known;
} sapwood_stepper;

#endif
