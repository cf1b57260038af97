/* sapwood.SapSettings and sap_settings. */
#ifndef SAPWOOD_PYTHON_SOLVER_PY_SETTINGS_H
#define SAPWOOD_PYTHON_SOLVER_PY_SETTINGS_H

#include "python/state.h"

/* Fills `settings` from a sapwood.SapSettings (any object with its attributes), or with the
 * defaults from None, and checks them. 0, or -1 with TypeError or ValueError naming the field. */
int sapwood_read_settings(PyObject *object, sap_settings *settings);

/* The same for a SapSettings, which does not change any more and so is read once; `*object`
 * (borrowed) is the default one where it was None. */
int sapwood_load_settings(sapwood_state *state, PyObject **object, sap_settings *settings);

/* The same for `threads`, which says how a solver works and not what it finds, and so is an
 * argument of its own. */
int sapwood_read_threads(PyObject *value, sap_settings *settings);

/* Adds the functions on settings to the module. 0, or -1 with an exception. */
int sapwood_add_settings(PyObject *module);

#endif
