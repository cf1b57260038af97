/* _core.bound_torques: limits of motors at a state. */
#include "python/parts.h"
#include "invdyn/tasks/motors.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/state.h"

enum { QPOS, QVEL, PLACE, DOF, BIAS, BY_CONTROL, BY_FORCE, N_ARGUMENTS };
enum { FREE, LOWER, UPPER, N_RESULTS };

static int read_arguments(PyObject *const *args, PyArrayObject **in) {
  if ((in[QPOS] = sapwood_as_vector(args[QPOS], "qpos", -1, SAPWOOD_ANY)) == NULL ||
      (in[QVEL] = sapwood_as_vector(args[QVEL], "qvel", -1, SAPWOOD_ANY)) == NULL ||
      (in[PLACE] = sapwood_as_int32(args[PLACE], "place", -1)) == NULL) {
    return -1;
  }
  const npy_intp n = PyArray_DIM(in[PLACE], 0), bias[2] = {3, n}, ends[2] = {2, n};
  in[DOF] = sapwood_as_int32(args[DOF], "dof", n);
  in[BIAS] = sapwood_as_float64(args[BIAS], "bias", 2, bias, SAPWOOD_ANY);
  in[BY_CONTROL] = sapwood_as_float64(args[BY_CONTROL], "by_control", 2, ends, SAPWOOD_ANY);
  in[BY_FORCE] = sapwood_as_float64(args[BY_FORCE], "by_force", 2, ends, SAPWOOD_ANY);
  if (!in[DOF] || !in[BIAS] || !in[BY_CONTROL] || !in[BY_FORCE]) {
    return -1;
  }
  return sapwood_check_range(in[PLACE], "place", 0, PyArray_DIM(in[QPOS], 0)) < 0
             ? -1
             : sapwood_check_range(in[DOF], "dof", 0, PyArray_DIM(in[QVEL], 0));
}

PyDoc_STRVAR(bound_doc,
             "bound_torques(qpos, qvel, place, dof, bias, by_control, by_force, /)\n--\n\n"
             "Torques (n) of motors: those without a control, the least, and the largest ones.\n"
             "bias (3, n): constant, by position, by velocity. by_control, by_force (2, n): least\n"
             "and largest torques by controls, less the bias, and by ranges of forces.");

static PyObject *bound_torques(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
  (void)module;
  if (n_args != N_ARGUMENTS) {
    return PyErr_Format(PyExc_TypeError, "bound_torques takes %d arguments", N_ARGUMENTS);
  }
  PyArrayObject *in[N_ARGUMENTS] = {NULL}, *out[N_RESULTS] = {NULL};
  PyObject *result = NULL;
  int failed = read_arguments(args, in);
  for (int i = 0; i < N_RESULTS && !failed; i++) {
    out[i] = (PyArrayObject *)PyArray_SimpleNew(1, PyArray_DIMS(in[PLACE]), NPY_DOUBLE);
    failed = out[i] == NULL;
  }
  if (!failed) {
    const struct tasks_motors motors = {.n = (int32_t)PyArray_DIM(in[PLACE], 0),
                                        .place = sapwood_int32s(in[PLACE]),
                                        .dof = sapwood_int32s(in[DOF]),
                                        .bias = sapwood_doubles(in[BIAS]),
                                        .by_control = sapwood_doubles(in[BY_CONTROL]),
                                        .by_force = sapwood_doubles(in[BY_FORCE])};
    tasks_bound_torques(&motors, sapwood_doubles(in[QPOS]), sapwood_doubles(in[QVEL]),
                        sapwood_doubles(out[FREE]), sapwood_doubles(out[LOWER]),
                        sapwood_doubles(out[UPPER]));
    result = PyTuple_Pack(N_RESULTS, out[FREE], out[LOWER], out[UPPER]);
  }
  sapwood_release(in, N_ARGUMENTS);
  sapwood_release(out, N_RESULTS);
  return result;
}

int sapwood_add_motors(PyObject *module) {
  static PyMethodDef functions[] = {
      {"bound_torques", SAPWOOD_FAST(bound_torques), METH_FASTCALL, bound_doc},
      {NULL, NULL, 0, NULL}};
  return PyModule_AddFunctions(module, functions);
}
