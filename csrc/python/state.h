/* The state of the extension module sapwood._core.
 *
 * The module uses multi-phase initialisation: every heap type and NumPy dtype it makes lives in its
 * state, and the wrappers find the state through the module or the defining class.
 *
 * Rules every wrapper follows:
 *   - arrays enter through convert.h and leave as NumPy arrays allocated by NumPy and written in
 *     place;
 *   - the GIL is dropped around calls into the core; an object with a workspace owns a lock
 *     (lock.h), which is taken with the GIL dropped and never held while Python code can run,
 *     except for handlers of signals (signals.h);
 *   - a sap_status that is an error becomes a Python exception by sapwood_raise (errors.h). */
#ifndef SAPWOOD_PYTHON_STATE_H
#define SAPWOOD_PYTHON_STATE_H

#include "python/convert.h"
#include "python/mutex.h"
#include "python/solver/solver_cache.h"
#include "sapwood.h"

typedef struct sapwood_state {
  PyTypeObject *problem_type;               /* _core.Problem, py_problem.c */
  PyTypeObject *solver_type;                /* _core.Solver, py_solver.c */
  PyTypeObject *sensitivity_type;           /* _core.Sensitivity, py_sensitivity.c */
  PyTypeObject *model_stepper_type;         /* _core.ModelStepper, py_stepper.c */
  PyTypeObject *memory_type;                /* _core.FrictionMemory, py_memory.c */
  PyTypeObject *contact_log_type;           /* _core.ContactLog, py_recording.c */
  PyTypeObject *byte_watch_type;            /* _core.ByteWatch, byte_watch.c */
  PyTypeObject *prepared_step_type;         /* _core.PreparedStep, prepared_step.c */
  PyTypeObject *world_batch_type;           /* _core.WorldBatch, py_worlds.c */
  PyArray_Descr *iteration_dtype;           /* layout of sap_iteration */
  PyArray_Descr *contact_dtype;             /* layout of sap_contact_record */
  PyTypeObject *values_type;                /* _core.SolutionValues, solution.c */
  PyTypeObject *solution_type, *group_type; /* sapwood.Solution and ConstraintSolution */
  PyObject *statuses;                       /* tuple of sapwood.Status, by sap_outcome */
  PyObject *island_algorithms;              /* callable: reports of islands -> Solution.algorithm */
  PyObject *default_settings;               /* SapSettings in place of None */
  sapwood_mutex shared;                     /* guards the next fields, up to the workspace */
  PyObject *settings_object;                /* last SapSettings read; its values follow */
  sap_settings settings;
  sapwood_solver_cache solver_cache;
  struct sap_threads *pool_threads; /* threads of the last batch; NULL while a batch uses them */
  int n_pool_threads;
  geo_workspace *surfaces_workspace; /* workspace of the last call for surfaces, or NULL in one */
  fem_face_search *face_search; /* search of the last call for contacts of faces, or NULL in one */
  int forks;                 /* number of forks between the import and this process, see lock.h */
  unsigned long main_thread; /* thread that receives signals */
} sapwood_state;

/* Returns the state of the module object (borrowed, never NULL). */
sapwood_state *sapwood_state_of_module(PyObject *module);

/* Returns the state of the module that made `type` or one of its bases; NULL with an exception
 * otherwise. */
sapwood_state *sapwood_state_of_type(PyTypeObject *type);

/* The methods' cast for METH_FASTCALL. */
#define SAPWOOD_FAST(function) (PyCFunction)(void (*)(void))(function)

/* The spec of the type _core.NAME, whose objects are `structure` and whose slots are `slots`. */
#define SAPWOOD_SPEC(type_name, structure, more_flags) \
  {.name = "sapwood._core." type_name,                 \
   .basicsize = sizeof(structure),                     \
   .flags = Py_TPFLAGS_DEFAULT | (more_flags),         \
   .slots = slots}

/* Frees an object whose references were dropped, and the reference to its type. */
void sapwood_free_object(PyObject *object);

/* Makes a type and adds it to the module. Unless `type` is NULL, it gets a reference. Returns 0, or
 * -1 with an exception. */
int sapwood_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type);

/* Adds an object to the module under a name, and releases it; NULL stands for an exception. Returns
 * 0, or -1 with the exception. */
int sapwood_add_object(PyObject *module, const char *name, PyObject *object);

/* Returns a new tuple of n names, or NULL with an exception. */
PyObject *sapwood_make_names(Py_ssize_t n, const char *(*name_of)(Py_ssize_t i));

/* The definition of the module, without its slots. It says how the state is made and released, and
 * types find their module by it. */
extern struct PyModuleDef sapwood_definition;

#endif
