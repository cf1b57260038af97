#include "python/mujoco/py_linearize.h"

#include "mujoco/stages/linearize_step.h"
#include "python/errors.h"
#include "python/mujoco/py_world.h"

const char sapwood_stepper_linearize_doc[] =
    "linearize($self, api, model, data, ctrllimited, ctrlrange, step, soften, sensors, /)\n--\n\n"
    "Derivative of the step of `data`, scratch data whose state stays as it is. ctrllimited (nu) "
    "and\n"
    "ctrlrange (nu, 2) are those of the model. Returns None, or why the step cannot be taken, as\n"
    "`run` does, then A, B, C and D of `sensors` or None, the velocity after the step, the least\n"
    "distance of acting contacts to another region, their number, and whether the step is near a\n"
    "kink and whether a rebound is limited by its energy.";

/* The arrays of a call. */
typedef struct outputs {
  PyArrayObject *A, *B, *C, *D, *v, *limited, *range;
  double *work;
} outputs;

static void clear(outputs *out) {
  Py_CLEAR(out->A);
  Py_CLEAR(out->B);
  Py_CLEAR(out->C);
  Py_CLEAR(out->D);
  Py_CLEAR(out->v);
  Py_CLEAR(out->limited);
  Py_CLEAR(out->range);
  PyMem_Free(out->work);
}

/* Makes the arrays of sensors. */
static void allocate_sensors(outputs *out, const struct sap_linear_sizes *size) {
  npy_intp states[2] = {(npy_intp)size->n_sensors, (npy_intp)size->n};
  npy_intp controls[2] = {(npy_intp)size->n_sensors, (npy_intp)size->nu};
  out->C = (PyArrayObject *)PyArray_SimpleNew(2, states, NPY_DOUBLE);
  out->D = (PyArrayObject *)PyArray_SimpleNew(2, controls, NPY_DOUBLE);
}

/* Reads the limits of the controls, and makes the arrays. Returns 0, or -1 with an exception. */
static int allocate(outputs *out, const sap_mujoco_world *world, PyObject *limited, PyObject *range,
                    int sensors) {
  const struct sap_linear_sizes size = sap_mujoco_linear_sizes(world);
  npy_intp inputs = (npy_intp)size.nu, velocities = (npy_intp)size.nv, n = (npy_intp)size.n;
  npy_intp states[2] = {n, n}, controls[2] = {n, inputs};
  npy_intp ends[2] = {inputs, 2};
  out->limited = sapwood_in_place(limited, "ctrllimited", NPY_BOOL, 1, &inputs, 0);
  out->range = out->limited == NULL ? NULL
                                    : sapwood_in_place(range, "ctrlrange", NPY_DOUBLE, 2, ends,
                                                       NPY_ARRAY_C_CONTIGUOUS);
  if (out->range == NULL) {
    return -1;
  }
  out->A = (PyArrayObject *)PyArray_SimpleNew(2, states, NPY_DOUBLE);
  out->B = (PyArrayObject *)PyArray_SimpleNew(2, controls, NPY_DOUBLE);
  out->v = (PyArrayObject *)PyArray_SimpleNew(1, &velocities, NPY_DOUBLE);
  out->work = PyMem_Malloc(sizeof(double) * (size_t)sap_mujoco_linear_work(world) + 1);
  if (out->work == NULL && out->v != NULL) {
    PyErr_NoMemory();
  }
  if (sensors) {
    allocate_sensors(out, &size);
  }
  return PyErr_Occurred() ? -1 : 0;
}

int sapwood_stepper_make_linear(sapwood_stepper *self) {
  sap_error error = {0};
  return self->linear != NULL ? 0
                              : sapwood_raise(sap_linear_step_create(&self->linear, self->core,
                                                                     &self->settings, &error),
                                              &error);
}

PyObject *sapwood_stepper_linearize(PyObject *object, PyObject *args) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  PyObject *api, *model, *data, *limited, *range, *answer = NULL;
  struct sap_mujoco_linear linear = {0};
  sapwood_place place;
  sap_mujoco_world *world;
  sapwood_watch watch;
  outputs out = {0};
  int sensors;
  if (!PyArg_ParseTuple(args, "OOOOOddp:linearize", &api, &model, &data, &limited, &range,
                        &linear.step, &linear.soften, &sensors) ||
      sapwood_place_find(&place, self, api, model, data) < 0 ||
      sapwood_world_open(&world, &watch, &place, Py_None, 0) < 0) {
    return NULL;
  }
  if (sapwood_stepper_make_linear(self) == 0 &&
      allocate(&out, world, limited, range, sensors) == 0) {
    linear.ctrllimited = PyArray_DATA(out.limited);
    linear.ctrlrange = sapwood_doubles(out.range);
    linear.work = out.work;
    linear.A = sapwood_doubles(out.A);
    linear.B = sapwood_doubles(out.B);
    linear.C = sensors ? sapwood_doubles(out.C) : NULL;
    linear.D = sensors ? sapwood_doubles(out.D) : NULL;
    linear.v = sapwood_doubles(out.v);
    Py_BEGIN_ALLOW_THREADS
    sap_mujoco_linearize(world, self->linear, &linear);
    Py_END_ALLOW_THREADS
    PyObject *failure = sapwood_world_failure(world);
    if (failure != NULL) {
      PyObject *C = sensors ? (PyObject *)out.C : Py_None,
               *D = sensors ? (PyObject *)out.D : Py_None;
      answer = Py_BuildValue("NOOOOOdiii", failure, out.A, out.B, C, D, out.v, linear.distance,
                             (int)linear.n_acting, linear.is_near_kink, linear.loses_rebound);
    }
  }
  clear(&out);
  sap_mujoco_close(world);
  return answer;
}
