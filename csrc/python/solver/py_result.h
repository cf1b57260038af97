/* The results of a solve, as NumPy arrays. */
#ifndef SAPWOOD_PYTHON_SOLVER_PY_RESULT_H
#define SAPWOOD_PYTHON_SOLVER_PY_RESULT_H

#include "python/state.h"

/* A sap_solution with NumPy arrays. */
typedef struct sapwood_result {
  PyArrayObject *v;           /* (nv) */
  PyArrayObject *gamma;       /* (n_contacts, 3) */
  PyArrayObject *v_c;         /* (n_contacts, 3) */
  PyArrayObject *regions;     /* (n_contacts) int8 */
  PyArrayObject *group_gamma; /* (n_rows) of all groups; NULL without groups, as group_v_c */
  PyArrayObject *group_v_c;   /* (n_rows) */
  PyArrayObject *core_scale;  /* (n_contacts); NULL if no contact has a core */
  PyArrayObject *spin_gamma;  /* (n_spins, 3); NULL without torsional friction, as spin_v_c */
  PyArrayObject *spin_v_c;    /* (n_spins, 3) */
  PyArrayObject *islands;     /* (n_trees, 8) uint8: a sap_island_report each */
  sap_solution solution;      /* points into the arrays above */
} sapwood_result;

/* Allocates the arrays, zeroes the scalars and points `solution` at the arrays. Returns 0, or -1
 * with MemoryError. */
int sapwood_result_allocate(sapwood_result *result, const sap_problem *problem,
                            const sap_sizes *sizes);

/* Drops the references to the arrays. */
void sapwood_result_clear(sapwood_result *result);

/* A copy of the records of the last solve, which belong to the solver and change with its next
 * call. */
typedef struct sapwood_records {
  sap_iteration *copy; /* from PyMem_RawMalloc */
  int32_t n;
} sapwood_records;

/* Makes the copy; needs no GIL. */
sap_status sapwood_copy_records(const sap_solver *solver, sapwood_records *records);

/* Returns a new structured array (n) with a copy of the records. */
PyObject *sapwood_history(const sapwood_state *state, const sap_iteration *records, int32_t n);

/* Adds dtypes and functions to the module. Returns 0, or -1 with an exception. */
int sapwood_add_results(PyObject *module);

#endif
