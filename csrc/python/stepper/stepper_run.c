/* ModelStepper.run: the loop over steps of one MjData, without the GIL.
 *
 * Between steps the GIL is taken now and then to let signals in: Ctrl-C ends the loop after the
 * step it is in. */
#include "python/stepper/mujoco_step.h"

/* longest time between two looks for signals, s, unless a step takes longer */
static const double signal_interval = 0.05;

sapwood_step_record *sapwood_take_records(PyObject *object, npy_intp n) {
  PyArrayObject *array = PyArray_Check(object) ? (PyArrayObject *)object : NULL;
  if (array == NULL || PyArray_TYPE(array) != NPY_VOID ||
      PyArray_ITEMSIZE(array) != sizeof(sapwood_step_record) || !PyArray_ISCARRAY(array)) {
    PyErr_SetString(PyExc_TypeError, "records must be a contiguous array of dtype STEP_RECORD");
    return NULL;
  }
  if (PyArray_SIZE(array) < n) {
    PyErr_Format(PyExc_ValueError, "records has %zd entries, expected %zd or more",
                 PyArray_SIZE(array), n);
    return NULL;
  }
  return (sapwood_step_record *)PyArray_DATA(array);
}

int sapwood_look_for_signals(double now, double *looked) {
  if (now - *looked < signal_interval) {
    return 0;
  }
  *looked = now;
  const PyGILState_STATE gil = PyGILState_Ensure();
  const int interrupted = PyErr_CheckSignals() < 0;
  PyGILState_Release(gil);
  return interrupted ? -1 : 0;
}

const char sapwood_stepper_run_doc[] =
    "run($self, api, model, data, steps, records, signals, /)\n--\n\n"
    "Take steps of `data`. Returns the number of steps taken, how many of them did not converge,\n"
    "and why the next one could not be taken: None, an exception, or a tuple (kind, array,\n"
    "index, message). records: array of STEP_RECORD with room for all steps, or None; signals:\n"
    "whether to let signals in between steps, which only the main thread can.";

PyObject *sapwood_stepper_run(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
  if (n_args != 6) {
    PyErr_SetString(PyExc_TypeError, "takes api, model, data, steps, records and signals");
    return NULL;
  }
  const Py_ssize_t steps = PyLong_AsSsize_t(args[3]);
  const int signals = PyObject_IsTrue(args[5]);
  if (signals < 0) {
    return NULL;
  }
  if (steps < 0) {
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_ValueError, "steps = %zd: must be >= 0", steps);
    }
    return NULL;
  }
  sapwood_step_record *records = NULL;
  sapwood_world world;
  if ((args[4] != Py_None && (records = sapwood_take_records(args[4], steps)) == NULL) ||
      sapwood_world_open(&world, (sapwood_stepper *)self, args[0], args[1], args[2]) < 0) {
    return NULL;
  }
  Py_ssize_t taken = 0, unconverged = 0;
  int interrupted = 0;
  Py_BEGIN_ALLOW_THREADS
  double looked = world.started;
  while (taken < steps && !interrupted && sapwood_world_step(&world) == SAPWOOD_STEP_TAKEN) {
    unconverged += world.record.status != SAP_CONVERGED;
    if (records != NULL) {
      records[taken] = world.record;
    }
    taken++;
    interrupted = signals && taken < steps && sapwood_look_for_signals(world.started, &looked) < 0;
  }
  Py_END_ALLOW_THREADS
  PyObject *failure = interrupted || world.failure != SAPWOOD_STEP_TAKEN
                          ? sapwood_world_failure(&world)
                          : Py_NewRef(Py_None);
  return failure == NULL ? NULL : Py_BuildValue("(nnN)", taken, unconverged, failure);
}
