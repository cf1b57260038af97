/* NumPy's table of functions, shared by all files of the module. */
#ifndef SAPWOOD_PYTHON_NUMPY_API_H
#define SAPWOOD_PYTHON_NUMPY_API_H

/* Fills the table; returns -1 with an exception set if NumPy cannot be imported. */
int sapwood_import_numpy(void);

#endif
