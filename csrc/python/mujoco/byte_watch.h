/* _core.ByteWatch: tells whether bytes have changed. Before each step a stepper compares some 40 kB
 * of a model for changes by the user. It is as fast as the bytes come from the second cache. */
#ifndef SAPWOOD_PYTHON_MUJOCO_BYTE_WATCH_H
#define SAPWOOD_PYTHON_MUJOCO_BYTE_WATCH_H

#include "python/convert.h"

/* Returns 1 if any byte of a ByteWatch has changed. Needs the GIL. */
int sapwood_byte_watch_has_changed(PyObject *watch);

#endif
