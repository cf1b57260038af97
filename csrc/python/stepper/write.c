/* ModelStepper.write: turns a solution that was found elsewhere, of the problem gathered last, into
 * the arrays that a step leaves. Steps by other schemes than the stepper's own end with it. */
#include "python/stepper/write.h"

#include "python/stepper/arrays.h"
#include "python/stepper/ready.h"

enum { V, GAMMA, GROUP_GAMMA, SPIN_GAMMA, SOLUTION_ARRAYS };

const char sapwood_stepper_write_doc[] =
    "write($self, state, contacts, outputs, elements, v, gamma, group_gamma, spin_gamma, /)\n--\n\n"
    "Write back as `solve` does, for a solution of the problem gathered last: minus a fault code,\n"
    "with the outputs untouched, or 0.";

PyObject *sapwood_stepper_write(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
  static const char *const names[SOLUTION_ARRAYS] = {
      [V] = "v", [GAMMA] = "gamma", [GROUP_GAMMA] = "group_gamma", [SPIN_GAMMA] = "spin_gamma"};
  sapwood_stepper *self = (sapwood_stepper *)object;
  PyArrayObject *solution[SOLUTION_ARRAYS] = {NULL};
  PyObject *answer = NULL;
  sapwood_step_arrays arrays = {0};
  if (n_args != 4 + SOLUTION_ARRAYS) {
    PyErr_Format(PyExc_TypeError, "write takes 8 arguments, not %zd", n_args);
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
  const struct sap_found found = {.v = sapwood_doubles(solution[V]),
                                  .gamma = sapwood_doubles(solution[GAMMA]),
                                  .group_gamma = sapwood_doubles(solution[GROUP_GAMMA]),
                                  .spin_gamma = sapwood_doubles(solution[SPIN_GAMMA]),
                                  .n_v = PyArray_SIZE(solution[V]),
                                  .n_gamma = PyArray_SIZE(solution[GAMMA]),
                                  .n_group_gamma = PyArray_SIZE(solution[GROUP_GAMMA]),
                                  .n_spin_gamma = PyArray_SIZE(solution[SPIN_GAMMA])};
  int fits;
  long code;
  Py_BEGIN_ALLOW_THREADS
  sapwood_lock_take(&self->lock);
  fits = sap_stepper_write(self->core, &arrays.into, &found);
  code = -(long)self->core->gather.fault;
  sapwood_lock_leave(&self->lock);
  Py_END_ALLOW_THREADS
  if (fits) {
    answer = PyLong_FromLong(code);
  } else {
    PyErr_SetString(PyExc_ValueError,
                    "v, gamma, group_gamma, spin_gamma or efc_force have another length than the "
                    "problem has");
  }
done:
  for (int i = 0; i < SOLUTION_ARRAYS; i++) {
    Py_XDECREF(solution[i]);
  }
  sapwood_step_arrays_release(&arrays);
  return answer;
}
