/* The results of a solve, as NumPy arrays. */
#ifndef SAPWOOD_PYTHON_SOLVER_PY_RESULT_H
#define SAPWOOD_PYTHON_SOLVER_PY_RESULT_H

#include "python/state.h"

/* The arrays of a sap_solution: v (nv), gamma and v_c (n_contacts, 3), regions (n_contacts) int8,
 * islands (n_trees, 8) uint8, a sap_island_report each. The others are NULL for a problem without
 * groups, rigid cores or torsional friction: group_gamma and group_v_c (n_rows), core_scale
 * (n_contacts), spin_gamma and spin_v_c (n_spins, 3). */
enum {
  SAPWOOD_V,
  SAPWOOD_GAMMA,
  SAPWOOD_V_C,
  SAPWOOD_REGIONS,
  SAPWOOD_ISLANDS,
  SAPWOOD_GROUP_GAMMA,
  SAPWOOD_GROUP_V_C,
  SAPWOOD_CORE_SCALE,
  SAPWOOD_SPIN_GAMMA,
  SAPWOOD_SPIN_V_C,
  SAPWOOD_RESULTS
};

typedef struct sapwood_result {
  PyArrayObject *array[SAPWOOD_RESULTS];
  sap_solution solution; /* points into the arrays */
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

/* Copy records->n records of a source, or all of a solver; they need no GIL. */
sap_status sapwood_copy_records(const sap_iteration *source, sapwood_records *records);
sap_status sapwood_copy_history(const sap_solver *solver, sapwood_records *records);

/* Returns a new structured array (n) with a copy of the records, None for NULL. */
PyObject *sapwood_history(const sapwood_state *state, const sapwood_records *records);

#endif
