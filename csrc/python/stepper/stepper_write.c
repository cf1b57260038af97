/* ModelStepper.write: turns a solution that was found elsewhere, of the problem gathered last, into
 * the arrays that a step leaves. Steps by other schemes than the stepper's own end with it. */
#include <string.h>

#include "model/scatter.h"
#include "python/stepper/stepper.h"
#include "python/stepper/stepper_arrays.h"

/* the solution: v (nv), gamma (n_contacts, 3) and group_gamma (n_rows) */
enum { SOLUTION_ARRAYS = 3 };

/* 0 where the solution is none of the problem gathered last */
static int write_locked(sapwood_stepper *self, const sapwood_step_fields *fields,
                        PyArrayObject *const *solution) {
  struct sap_gather *gather = &self->gather;
  double *const target[SOLUTION_ARRAYS] = {gather->v, gather->gamma, gather->elements.gamma};
  const npy_intp length[SOLUTION_ARRAYS] = {
      self->forest.nv, 3 * (npy_intp)gather->problem.n_contacts, gather->elements.n_rows};
  /* rows of contacts and constraints were found to be in the list of that call */
  if (fields->list.n_rows != gather->n_rows) {
    return 0;
  }
  for (int i = 0; i < SOLUTION_ARRAYS; i++) {
    if (PyArray_SIZE(solution[i]) != length[i]) {
      return 0;
    }
  }
  if (gather->fault != SAP_FAULT_NONE) {
    return 1;
  }
  for (int i = 0; i < SOLUTION_ARRAYS; i++) {
    if (length[i] > 0) {
      memcpy(target[i], PyArray_DATA(solution[i]), sizeof(double) * (size_t)length[i]);
    }
  }
  /* every tree has a new velocity, whether or not anything touches it */
  if (self->forest.n_trees > 0) {
    memset(gather->touched, 1, (size_t)self->forest.n_trees);
    sap_scatter(gather, self->cone, self->acceleration_limit, fields->qacc, fields->qfrc_constraint,
                fields->efc_force);
    if (self->constrained && gather->fault == SAP_FAULT_NONE) {
      sap_scatter_elements(&gather->elements, &fields->elements, gather->dt,
                           fields->qfrc_constraint, fields->efc_force);
    }
  }
  return 1;
}

const char sapwood_stepper_write_doc[] =
    "write($self, state, contacts, outputs, elements, v, gamma, group_gamma, /)\n--\n\n"
    "Write back as `solve` does, for a solution of the problem gathered last: minus a fault code,\n"
    "with the outputs untouched, or 0.";

PyObject *sapwood_stepper_write(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
  static const char *const names[SOLUTION_ARRAYS] = {"v", "gamma", "group_gamma"};
  sapwood_stepper *self = (sapwood_stepper *)object;
  PyArrayObject *solution[SOLUTION_ARRAYS] = {NULL};
  PyObject *answer = NULL;
  sapwood_step_arrays arrays = {0};
  if (n_args != 4 + SOLUTION_ARRAYS) {
    PyErr_Format(PyExc_TypeError, "write takes 7 arguments, not %zd", n_args);
    return NULL;
  }
  for (int i = 0; i < SOLUTION_ARRAYS; i++) {
    solution[i] = sapwood_as_float64(args[4 + i], names[i], -1, NULL, SAPWOOD_ANY);
    if (solution[i] == NULL) {
      goto done;
    }
  }
  if (sapwood_stepper_be_ready(self) < 0 || sapwood_step_arrays_take(&arrays, self, args, 4) < 0) {
    goto done;
  }
  int fits;
  long code;
  Py_BEGIN_ALLOW_THREADS
  sapwood_lock_take(&self->lock);
  fits = write_locked(self, &arrays.fields, solution);
  code = -(long)self->gather.fault;
  sapwood_lock_leave(&self->lock);
  Py_END_ALLOW_THREADS
  if (fits) {
    answer = PyLong_FromLong(code);
  } else {
    PyErr_SetString(PyExc_ValueError,
                    "v, gamma, group_gamma or efc_force have another length than the problem has");
  }
done:
  for (int i = 0; i < SOLUTION_ARRAYS; i++) {
    Py_XDECREF(solution[i]);
  }
  sapwood_step_arrays_release(&arrays);
  return answer;
}
