/* Counts the processes between this one and the import of the module, for lock.h. */
#ifndef SAPWOOD_PYTHON_FORKS_H
#define SAPWOOD_PYTHON_FORKS_H

#include "python/convert.h"

/* Registers the counter for child processes, if the system has them. Returns 0, or -1 with an
 * exception. */
int sapwood_watch_forks(PyObject *module);

#endif
