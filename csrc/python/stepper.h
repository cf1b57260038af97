/* _core.ModelStepper, shared by stepper.c (construction and steps) and stepper_results.c (what the last
 * step left).
 *
 * Fields under the lock change with every step; the others never after construction. The lock is waited
 * for and held without the GIL. */
#ifndef SAPWOOD_PYTHON_STEPPER_H
#define SAPWOOD_PYTHON_STEPPER_H

#include "module.h"

#include "model/gather.h"

enum { SAPWOOD_FOREST_ARRAYS = 18 };

typedef struct sapwood_stepper {
  PyObject_HEAD
  struct sap_forest forest;
  PyArrayObject *arrays[SAPWOOD_FOREST_ARRAYS]; /* private copies behind `forest` */
  sap_step_parameters parameters;
  double acceleration_limit; /* of the engine, m/s^2 and rad/s^2 */
  enum sap_cone cone;
  int record_history;
  PyThread_type_lock lock;

  /* under the lock */
  sap_solver *solver;
  struct sap_gather gather;
  sap_solution solution; /* points into `gather` */
  double solve_seconds;
  int solved; /* the last step got as far as a solution */
} sapwood_stepper;

extern const char sapwood_stepper_problem_doc[];
extern const char sapwood_stepper_contacts_doc[];
extern const char sapwood_stepper_result_doc[];
PyObject *sapwood_stepper_problem(PyObject *self, PyObject *unused);
PyObject *sapwood_stepper_contacts(PyObject *self, PyObject *unused);
PyObject *sapwood_stepper_result(PyObject *self, PyObject *unused);

#endif /* SAPWOOD_PYTHON_STEPPER_H */
