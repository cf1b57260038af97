/* _core.ByteWatch: whether bytes are what they were. A stepper looks at some 30 kB of a model
 * before each step, for what its user may have changed: as fast as they come from the second cache.
 * What seldom changes, or is long, is looked at by turns. */
#ifndef SAPWOOD_PYTHON_STEPPER_BYTE_WATCH_H
#define SAPWOOD_PYTHON_STEPPER_BYTE_WATCH_H

#include "python/convert.h"

/* Has anything of a ByteWatch changed, among what is always looked at and the next part of the
 * rest? Needs the GIL. */
int sapwood_byte_watch_glance(PyObject *watch);

/* Adds the type to the module. 0, or -1 with an exception. */
int sapwood_add_byte_watch(PyObject *module);

#endif
