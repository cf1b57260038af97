/* Derivatives of the steps of one MjData by numbers of its model. */
#include "python/arrays.h"
#include "python/stepper/methods.h"
#include <string.h>

#include "sapwood/linearization.h"
#include "mujoco/stages/step_tangents.h"
#include "python/errors.h"
#include "python/mujoco/py_linearize.h"
#include "python/mujoco/py_world.h"

const char sapwood_stepper_tangents_doc[] =
    "tangents($self, api, model, data, aside, changed, numbers, x, steps, ctrl, sensors, soften, "
    "/)\n--\n\n"
    "Take steps of `data`, with their derivatives. aside: data of the same model, for changed\n"
    "states; changed: tuple of (stepper, model, places, values, width) or None for each of\n"
    "the tangents x (n, 2 nv + na): the numbers at some addresses in the model are exchanged with\n"
    "the values while its steps are taken; numbers: kind, element and axis (n, 3) of the numbers,\n"
    "as in number_slopes.h; ctrl: controls (steps, nu) or None. Returns None, or why a step "
    "cannot\n"
    "be taken, as `run` does, the number of steps taken, then for each step positions, "
    "velocities,\n"
    "tangents, and with `sensors` sensors and their tangents or None, whether it was near a kink,\n"
    "whether a rebound was limited by its energy, and whether bias forces were held.";

enum { QPOS, QVEL, X, NEAR, REBOUND, ROTATION, SENSORS, DY, N_OUTPUTS };

/* The arrays and worlds of a call. */
typedef struct call {
  sapwood_stepper *self;
  PyObject *api;
  PyArrayObject *x, *ctrl, *numbers;
  PyArrayObject *out[N_OUTPUTS];
  Py_ssize_t n;
  sap_mujoco_world *centre, *aside, **changed;
  sapwood_watch *watches;        /* (n + 2) */
  struct sap_model_patch *patch; /* (n) */
  double *width, *work;
  int32_t *dof;                /* (nv) */
  struct sap_tangent_way *way; /* (n) */
  int64_t steps;
  int sensors;
  double soften;
} call;

static void end(call *c) {
  Py_CLEAR(c->x);
  Py_CLEAR(c->ctrl);
  Py_CLEAR(c->numbers);
  sapwood_release(c->out, N_OUTPUTS);
  for (Py_ssize_t k = 0; c->changed && k < c->n; ++k) {
    sap_mujoco_close(c->changed[k]);
  }
  sap_mujoco_close(c->aside);
  sap_mujoco_close(c->centre);
  PyMem_Free(c->changed);
  PyMem_Free(c->patch);
  PyMem_Free(c->watches);
  PyMem_Free(c->width);
  PyMem_Free(c->work);
  PyMem_Free(c->dof);
  PyMem_Free(c->way);
}

/* Opens a world. Returns 0, or -1 with an exception. */
static int open_world(const call *c, sapwood_stepper *stepper, PyObject *model, PyObject *data,
                      sap_mujoco_world **world, sapwood_watch *watch) {
  PyObject *const objects[3] = {c->api, model, data};
  return sapwood_world_of(world, watch, stepper, objects, Py_None, 0);
}

/* Reads the patch of a changed model, whose arrays the caller keeps. Returns 0, or -1 with an
 * exception. */
static int read_patch(struct sap_model_patch *patch, PyObject *places, PyObject *values) {
  npy_intp n = PyArray_Check(places) ? PyArray_SIZE((PyArrayObject *)places) : 0;
  PyArrayObject *place =
      sapwood_in_place(places, "places", NPY_UINTP, SAPWOOD_SHAPE(n), NPY_ARRAY_C_CONTIGUOUS);
  PyArrayObject *value = sapwood_in_place(values, "values", NPY_DOUBLE, 1, &n,
                                          NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE);
  if (place != NULL && value != NULL) {
    *patch = (struct sap_model_patch){(int64_t)n, PyArray_DATA(place), sapwood_doubles(value)};
  }
  Py_XDECREF(place);
  Py_XDECREF(value);
  return PyErr_Occurred() ? -1 : 0;
}

/* Opens the worlds of the changed models. Returns 0, or -1 with an exception. */
static int open_changed(call *c, PyObject *aside, PyObject *changed) {
  for (Py_ssize_t k = 0; k < c->n; ++k) {
    PyObject *item = PyTuple_GET_ITEM(changed, k), *stepper, *model, *places, *values;
    c->width[k] = 1.0;
    if (item == Py_None) {
      continue;
    }
    if (!PyArg_ParseTuple(item, "O!OOOd:changed", Py_TYPE((PyObject *)c->self), &stepper, &model,
                          &places, &values, &c->width[k]) ||
        read_patch(&c->patch[k], places, values) < 0 ||
        open_world(c, (sapwood_stepper *)stepper, model, aside, &c->changed[k],
                   &c->watches[2 + k]) < 0) {
      return -1;
    }
  }
  return 0;
}

/* Makes the arrays of the results. Returns 0, or -1 with MemoryError. */
static int make_results(call *c, const struct sap_linear_sizes *size) {
  const npy_intp steps = (npy_intp)c->steps, n_sensors = (npy_intp)size->n_sensors;
  const sapwood_layout layouts[N_OUTPUTS] = {
      [QPOS] = {NPY_DOUBLE, 2, {steps, (npy_intp)size->nq}},
      [QVEL] = {NPY_DOUBLE, 2, {steps, (npy_intp)size->nv}},
      [X] = {NPY_DOUBLE, 3, {steps, c->n, (npy_intp)size->n}},
      [NEAR] = {NPY_BOOL, 1, {steps}},
      [REBOUND] = {NPY_BOOL, 1, {steps}},
      [ROTATION] = {NPY_BOOL, 1, {steps}},
      [SENSORS] = {NPY_DOUBLE, c->sensors ? 2 : 0, {steps, n_sensors}},
      [DY] = {NPY_DOUBLE, c->sensors ? 3 : 0, {steps, c->n, n_sensors}}};
  if (sapwood_new_all(c->out, layouts, N_OUTPUTS) < 0) {
    return -1;
  }
  for (int i = 0; i < N_OUTPUTS; i++) {
    if (c->out[i] != NULL) { /* steps that were not taken leave zeros */
      memset(PyArray_DATA(c->out[i]), 0, (size_t)PyArray_NBYTES(c->out[i]));
    }
  }
  return 0;
}

/* Reads the arrays, and makes room for results and work. Returns 0, or -1 with an exception. */
static int allocate(call *c, PyObject *numbers, PyObject *x, PyObject *ctrl) {
  const struct sap_linear_sizes size = sap_mujoco_linear_sizes(c->centre);
  const int flags = NPY_ARRAY_C_CONTIGUOUS;
  c->x = sapwood_in_place(x, "x", NPY_DOUBLE, SAPWOOD_SHAPE(c->n, (npy_intp)size.n), flags);
  c->numbers = sapwood_in_place(numbers, "numbers", NPY_INT32, SAPWOOD_SHAPE(c->n, 3), flags);
  if (c->x == NULL || c->numbers == NULL) {
    return -1;
  }
  if (ctrl != Py_None) {
    const npy_intp steps = (npy_intp)c->steps;
    c->ctrl =
        sapwood_in_place(ctrl, "ctrl", NPY_DOUBLE, SAPWOOD_SHAPE(steps, (npy_intp)size.nu), flags);
    if (c->ctrl == NULL) {
      return -1;
    }
  }
  if (make_results(c, &size) < 0) {
    return -1;
  }
  c->work = PyMem_Malloc(sizeof(double) * (size_t)sap_tangents_work(c->centre, c->n) + 1);
  c->dof = PyMem_Malloc(sizeof *c->dof * (size_t)size.nv + 1);
  c->way = PyMem_Malloc(sizeof *c->way * (size_t)c->n + 1);
  if (c->work == NULL || c->dof == NULL || c->way == NULL) {
    return sapwood_no_memory();
  }
  return 0;
}

/* Takes the steps. Returns the results, or NULL with an exception. */
static PyObject *run(call *c) {
  struct sap_step_tangents tangents = {.centre = c->centre,
                                       .linear = c->self->linear,
                                       .aside = c->aside,
                                       .n = (int32_t)c->n,
                                       .changed = c->changed,
                                       .patch = c->patch,
                                       .width = c->width,
                                       .number = PyArray_DATA(c->numbers),
                                       .dof = c->dof,
                                       .way = c->way,
                                       .soften = c->soften,
                                       .work = c->work};
  const struct sap_tangents_record record = {
      .ctrl = sapwood_optional_doubles(c->ctrl),
      .qpos = sapwood_doubles(c->out[QPOS]),
      .qvel = sapwood_doubles(c->out[QVEL]),
      .x = sapwood_doubles(c->out[X]),
      .sensors = c->sensors ? sapwood_doubles(c->out[SENSORS]) : NULL,
      .dy = c->sensors ? sapwood_doubles(c->out[DY]) : NULL,
      .near_kink = PyArray_DATA(c->out[NEAR]),
      .rebound = PyArray_DATA(c->out[REBOUND]),
      .rotation = PyArray_DATA(c->out[ROTATION])};
  const double *x = sapwood_doubles(c->x);
  int64_t taken;
  Py_BEGIN_ALLOW_THREADS
  taken = sap_tangents_run(&tangents, c->steps, x, &record);
  Py_END_ALLOW_THREADS
  PyObject *failure = sapwood_world_failure(tangents.failed ? tangents.failed : c->centre);
  PyObject *sensors = c->sensors ? (PyObject *)c->out[SENSORS] : Py_None;
  PyObject *slopes = c->sensors ? (PyObject *)c->out[DY] : Py_None;
  return failure == NULL ? NULL
                         : Py_BuildValue("NLOOOOOOOO", failure, (long long)taken, c->out[QPOS],
                                         c->out[QVEL], c->out[X], sensors, slopes, c->out[NEAR],
                                         c->out[REBOUND], c->out[ROTATION]);
}

PyObject *sapwood_stepper_tangents(PyObject *object, PyObject *args) {
  PyObject *model, *data, *aside, *changed, *numbers, *x, *ctrl, *answer = NULL;
  call c = {.self = (sapwood_stepper *)object};
  Py_ssize_t steps;
  if (!PyArg_ParseTuple(args, "OOOOO!OOnOpd:tangents", &c.api, &model, &data, &aside, &PyTuple_Type,
                        &changed, &numbers, &x, &steps, &ctrl, &c.sensors, &c.soften)) {
    return NULL;
  }
  c.n = PyTuple_GET_SIZE(changed);
  c.steps = steps;
  c.changed = PyMem_Calloc((size_t)c.n + 1, sizeof(sap_mujoco_world *));
  c.watches = PyMem_Calloc((size_t)c.n + 2, sizeof(sapwood_watch));
  c.width = PyMem_Calloc((size_t)c.n + 1, sizeof(double));
  c.patch = PyMem_Calloc((size_t)c.n + 1, sizeof *c.patch);
  if (c.changed == NULL || c.patch == NULL || c.watches == NULL || c.width == NULL) {
    PyErr_NoMemory();
  } else if (open_world(&c, c.self, model, data, &c.centre, &c.watches[0]) == 0 &&
             open_world(&c, c.self, model, aside, &c.aside, &c.watches[1]) == 0 &&
             open_changed(&c, aside, changed) == 0 && sapwood_stepper_make_linear(c.self) == 0 &&
             allocate(&c, numbers, x, ctrl) == 0) {
    answer = run(&c);
  }
  end(&c);
  return answer;
}
