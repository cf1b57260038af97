/* State and helpers shared by the files of the extension module sapwood._core.
 *
 * The module uses multi-phase initialisation: every heap type and NumPy dtype it makes lives in its
 * state, no Python object in a static variable, and the wrappers find the state through the module
 * or the defining class. What is static is constant, but for one pointer of each thread, to its
 * innermost call of MuJoCo, whose handler of errors is given nothing else.
 *
 * Rules every wrapper follows:
 *   - arrays enter through convert.h and leave as NumPy arrays allocated by NumPy and written in
 *     place;
 *   - the GIL is dropped around calls into the core; an object with a workspace owns a lock
 *     (lock.h), which is taken with the GIL dropped and never held while Python code can run, but
 *     for handlers of signals (signals.h);
 *   - a sap_status that is an error becomes a Python exception by sapwood_raise.
 */
#ifndef SAPWOOD_PYTHON_MODULE_H
#define SAPWOOD_PYTHON_MODULE_H

#include "python/convert.h"
#include "python/lock.h"
#include "python/solver/idle.h"
#include "sapwood.h"

/* ---- module state --------------------------------------------------------------------------- */

typedef struct sapwood_state {
  PyTypeObject *problem_type;               /* _core.Problem, problem.c */
  PyTypeObject *solver_type;                /* _core.Solver, solver.c */
  PyTypeObject *model_stepper_type;         /* _core.ModelStepper, stepper.c */
  PyArray_Descr *iteration_dtype;           /* the layout of sap_iteration */
  PyTypeObject *values_type;                /* _core.SolutionValues, solution.c */
  PyTypeObject *solution_type, *group_type; /* sapwood.Solution and ConstraintSolution */
  PyObject *statuses;                       /* tuple of sapwood.Status, by sap_outcome */
  PyObject *default_settings;               /* the SapSettings that None means */
  PyObject *settings_object;                /* a SapSettings that has been read, and what it says */
  sap_settings settings;
  sapwood_idle idle;
  struct sap_threads *idle_threads; /* of the last batch; NULL while one uses them */
  int n_idle_threads;
  int forks;                 /* that made this process since the module was imported, see lock.h */
  unsigned long main_thread; /* that signals are for */
} sapwood_state;

/* state of the module object (borrowed, never NULL) */
sapwood_state *sapwood_state_of_module(PyObject *module);

/* state of the module that made `type` or one of its bases; NULL with an exception otherwise */
sapwood_state *sapwood_state_of_type(PyTypeObject *type);

/* Each adds its types and functions to the module and keeps its types in the state; 0, or -1 with
 * an exception. */
int sapwood_add_settings(PyObject *module);
int sapwood_add_results(PyObject *module);
int sapwood_add_solution(PyObject *module);
int sapwood_add_problem(PyObject *module);
int sapwood_add_solver(PyObject *module);
int sapwood_add_batch(PyObject *module);
int sapwood_add_contact_law(PyObject *module);
int sapwood_add_row_law(PyObject *module);
int sapwood_add_stepper(PyObject *module);
int sapwood_add_work(PyObject *module);

/* ---- errors --------------------------------------------------------------------------------- */

/* Raises the exception for a status other than SAP_OK and returns -1: MemoryError for
 * SAP_OUT_OF_MEMORY, for SAP_INTERRUPTED the one that is set, else ValueError with a text like `mu[3] = -0.5: must be >= 0`. Returns 0 for
 * SAP_OK. `error` may be NULL. Needs the GIL. */
int sapwood_raise(sap_status status, const sap_error *error);

/* Writes `constraints[k].name`, as errors call an array of a group, and returns it. */
enum { SAPWOOD_NAME_LENGTH = 64 };
const char *sapwood_group_name(char text[SAPWOOD_NAME_LENGTH], int32_t k, const char *name);

/* ---- settings ------------------------------------------------------------------------------- */

/* Fills `settings` from a sapwood.SapSettings (any object with its attributes), or with the
 * defaults from None, and checks them. 0, or -1 with TypeError or ValueError naming the field. */
int sapwood_read_settings(PyObject *object, sap_settings *settings);

/* The same for a SapSettings, which does not change any more and so is read once; `*object`
 * (borrowed) is the default one where it was None. */
int sapwood_recall_settings(sapwood_state *state, PyObject **object, sap_settings *settings);

/* The same for `threads`, which says how a solver works and not what it finds, and so is an
 * argument of its own. */
int sapwood_read_threads(PyObject *value, sap_settings *settings);

/* New dict: field to default value. */
PyObject *sapwood_default_settings(void);

/* New tuple with the names of the factorizations of this build. */
PyObject *sapwood_available_factorizations(void);

/* ---- results -------------------------------------------------------------------------------- */

/* rows of a group */
int64_t sapwood_group_rows(const sap_constraints *group);

/* A sap_solution whose arrays are NumPy arrays. */
typedef struct sapwood_result {
  PyArrayObject *v;       /* (nv) */
  PyArrayObject *gamma;   /* (n_contacts, 3) */
  PyArrayObject *v_c;     /* (n_contacts, 3) */
  PyArrayObject *regions; /* (n_contacts) int8 */
  PyArrayObject *group_gamma,
      *group_v_c;            /* (n_rows) of all groups; NULL where there are no groups */
  PyArrayObject *core_scale; /* (n_contacts); NULL where no contact has a core */
  sap_solution solution;     /* points into the arrays above */
} sapwood_result;

/* Allocates the arrays, zeroes the scalars and points `solution` at the arrays. 0, or -1 with
 * MemoryError. */
int sapwood_result_allocate(sapwood_result *result, const sap_problem *problem,
                            const sap_sizes *sizes);

/* New sapwood.Solution. `seconds` is the wall time of the
 * call into the core; `history` is the array of sapwood_history or Py_None (borrowed). The arrays
 * are shared, not copied. */
PyObject *sapwood_solution(const sapwood_state *state, const sapwood_result *result,
                           const sap_problem *problem, double seconds, PyObject *history);

/* Drops the references to the arrays. */
void sapwood_result_clear(sapwood_result *result);

/* Copy of the records of the last solve: they belong to the solver and change with its next
 * call. */
typedef struct sapwood_records {
  sap_iteration *copy; /* from PyMem_RawMalloc */
  int32_t n;
} sapwood_records;

/* Makes it; needs no GIL. */
sap_status sapwood_copy_records(const sap_solver *solver, sapwood_records *records);

/* New structured array (n) holding a copy of the records. */
PyObject *sapwood_history(const sapwood_state *state, const sap_iteration *records, int32_t n);

#endif /* SAPWOOD_PYTHON_MODULE_H */
