/* _core.ModelStepper, shared by stepper.c (construction and the contact part of steps),
 * stepper_run.c and stepper_rollout.c (whole steps), stepper_write.c (the end of a step that was
 * solved elsewhere) and stepper_results.c (what the last step left).
 *
 * Fields under the lock change with every step; the others never after construction. The lock is
 * waited for and held without the GIL. */
#ifndef SAPWOOD_PYTHON_STEPPER_H
#define SAPWOOD_PYTHON_STEPPER_H

#include "python/module.h"

#include "model/gather.h"

enum {
  SAPWOOD_CONSTANTS = 48,     /* arrays of the forest and of the elements */
  SAPWOOD_ELEMENT_ARRAYS = 20 /* that elements are gathered from in a step */
};

/* options of a MuJoCo model that its stepper stands on */
typedef struct sapwood_options {
  double timestep;
  int integrator, cone, disableflags, enableflags;
} sapwood_options;

typedef struct sapwood_stepper {
  PyObject_HEAD
  struct sap_forest forest;
  struct sap_elements elements;             /* where `constrained` */
  int constrained;                          /* by more than contacts */
  PyArrayObject *arrays[SAPWOOD_CONSTANTS]; /* private copies behind both */
  sap_step_parameters parameters;
  double acceleration_limit; /* of the engine, m/s^2 and rad/s^2 */
  enum sap_cone cone;
  int record_history;
  sapwood_lock lock;
  sapwood_state *state;

  /* under the GIL */
  sapwood_options options; /* of the model, as they were last found to be in order */
  int options_known;

  /* under the lock */
  sap_solver *solver;
  struct sap_gather gather;
  sap_solution solution; /* points into `gather` */
  double solve_seconds;
  int solved;                         /* the last step got as far as a solution */
  int64_t counts[SAP_NON_FINITE + 1]; /* contact parts that left a velocity, by sap_outcome */
} sapwood_stepper;

/* what the contact part of a step reads, and where it writes */
typedef struct sapwood_step_fields {
  struct sap_model_state state;
  struct sap_contact_list list;
  struct sap_element_state elements; /* of a constrained stepper */
  double *qacc, *qfrc_constraint;    /* (nv) */
  double *efc_force;                 /* (list.n_rows) */
} sapwood_step_fields;

/* 1 where the solver left a velocity to go on with */
static inline int sapwood_has_velocity(sap_outcome outcome) {
  return outcome != SAP_BREAKDOWN && outcome != SAP_NON_FINITE;
}

/* Fills forest, elements (None for none) and arrays from two mappings. 0, or -1 with an
 * exception. */
int sapwood_stepper_read_constants(sapwood_stepper *self, PyObject *forest, PyObject *elements);

/* In a process made while a thread that it does not have was at work on the stepper: as if it was
 * made anew, but for the counts. 0, or -1 with MemoryError. Needs the GIL, before the lock is
 * taken. */
int sapwood_stepper_be_ready(sapwood_stepper *self);

/* Gathers; solves and writes back unless `gather_only`. SAP_OK with gather.fault or without a
 * velocity means that nothing was written. Without the GIL, under the lock. */
sap_status sapwood_stepper_solve(sapwood_stepper *self, const sapwood_step_fields *fields,
                                 int gather_only, sap_error *error);

extern const char sapwood_stepper_problem_doc[];
extern const char sapwood_stepper_contacts_doc[];
extern const char sapwood_stepper_groups_doc[];
extern const char sapwood_stepper_result_doc[];
PyObject *sapwood_stepper_problem(PyObject *self, PyObject *unused);
PyObject *sapwood_stepper_contacts(PyObject *self, PyObject *unused);
PyObject *sapwood_stepper_groups(PyObject *self, PyObject *unused);
PyObject *sapwood_stepper_result(PyObject *self, PyObject *unused);

extern const char sapwood_stepper_write_doc[];
PyObject *sapwood_stepper_write(PyObject *self, PyObject *const *args, Py_ssize_t n_args);

extern const char sapwood_stepper_accept_options_doc[];
PyObject *sapwood_stepper_accept_options(PyObject *self, PyObject *args);
extern const char sapwood_stepper_run_doc[];
PyObject *sapwood_stepper_run(PyObject *self, PyObject *const *args, Py_ssize_t n_args);
extern const char sapwood_stepper_rollout_doc[];
PyObject *sapwood_stepper_rollout(PyObject *self, PyObject *args, PyObject *keywords);

#endif /* SAPWOOD_PYTHON_STEPPER_H */
