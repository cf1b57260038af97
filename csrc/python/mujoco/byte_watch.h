/* _core.ByteWatch: whether bytes are what they were. A stepper compares some 40 kB of a model
 * before each step, for what its user may have changed, as fast as they come from the second
 * cache. */
#ifndef SAPWOOD_PYTHON_MUJOCO_BYTE_WATCH_H
#define SAPWOOD_PYTHON_MUJOCO_BYTE_WATCH_H

#include "python/convert.h"

/* Has any byte of a ByteWatch changed? Needs the GIL. */
int sapwood_byte_watch_has_changed(PyObject *watch);

/* Adds the type to the module. 0, or -1 with an exception. */
int sapwood_add_byte_watch(PyObject *module);

#endif
