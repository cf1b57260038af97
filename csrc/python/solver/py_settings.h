/* Conversion from sapwood.SapSettings to sap_settings. */
#ifndef SAPWOOD_PYTHON_SOLVER_PY_SETTINGS_H
#define SAPWOOD_PYTHON_SOLVER_PY_SETTINGS_H

#include "python/state.h"

/* Fills `settings` from a sapwood.SapSettings (any object with its attributes), or with the
 * defaults from None, and checks them. Returns 0, or -1 with TypeError or ValueError naming the
 * field. */
int sapwood_read_settings(PyObject *object, sap_settings *settings);

/* Does the same for a SapSettings, which never changes and so is read once. If `*object` (borrowed)
 * is None, it becomes the default one. */
int sapwood_load_settings(sapwood_state *state, PyObject **object, sap_settings *settings);

/* Reads `threads`, an argument apart from SapSettings, because it does not change the solution.
 * Returns 0 or -1 as above. */
int sapwood_read_threads(PyObject *value, sap_settings *settings);

#endif
