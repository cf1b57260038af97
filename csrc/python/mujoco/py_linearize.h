/* The derivative of a step of one MjData. */
#ifndef SAPWOOD_PYTHON_MUJOCO_PY_LINEARIZE_H
#define SAPWOOD_PYTHON_MUJOCO_PY_LINEARIZE_H

#include "python/stepper/object.h"

/* Makes the struct of linearizations that the stepper keeps. Returns 0, or -1 with an exception. */
int sapwood_stepper_make_linear(sapwood_stepper *self);

#endif
