#include "python/arrays.h"
#include "python/mujoco/py_linearize.h"
#include "python/stepper/methods.h"

#include <string.h>

#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"
#include "sapwood/linearization.h"
#include "python/errors.h"
#include "python/mujoco/py_world.h"

const char sapwood_stepper_linearize_doc[] =
    "linearize($self, api, model, data, ctrllimited, ctrlrange, states, step, soften, sensors, /)\n"
    "--\n\n"
    "Derivatives of the steps of states, a tuple of qpos (n, nq), qvel (n, nv), act (n, na) and\n"
    "ctrl (n, nu). All else is that of `data`, scratch data whose state becomes the last of them.\n"
    "ctrllimited (nu) and ctrlrange (nu, 2) are those of the model. Returns None, or why a step\n"
    "cannot be taken, as `run` does, the number of steps taken, then for each of them A and B, C\n"
    "and D of `sensors` or None, positions, velocities and activations after it, the least\n"
    "distance of acting contacts to another region, their number, whether it is near a kink,\n"
    "whether a rebound is limited by its energy, and whether bias forces are held.";

enum { N_STATES = 4 };
enum { A, B, C, D, Q, V, ACT, DISTANCE, CONTACTS, NEAR, REBOUND, ROTATION, N_OUTPUTS };

/* The arrays of a call. */
typedef struct call {
  npy_intp n;
  PyArrayObject *states[N_STATES], *limited, *range;
  PyArrayObject *out[N_OUTPUTS];
  double *work;
} call;

static void end(call *c) {
  sapwood_release(c->states, N_STATES);
  sapwood_release(c->out, N_OUTPUTS);
  Py_CLEAR(c->limited);
  Py_CLEAR(c->range);
  PyMem_Free(c->work);
}

/* Reads the states and the limits of the controls. Returns 0, or -1 with an exception. */
static int read_inputs(call *c, const sap_mujoco_world *world, PyObject *const states[N_STATES],
                       PyObject *limited, PyObject *range) {
  static const char *const names[N_STATES] = {"qpos", "qvel", "act", "ctrl"};
  c->n = PyArray_Check(states[0]) && PyArray_NDIM((PyArrayObject *)states[0]) > 0
             ? PyArray_DIM((PyArrayObject *)states[0], 0)
             : 0;
  for (int i = 0; i < N_STATES; ++i) {
    c->states[i] = sapwood_in_place(states[i], names[i], NPY_DOUBLE,
                                    SAPWOOD_SHAPE(c->n, (npy_intp)world->state_length[i]),
                                    NPY_ARRAY_C_CONTIGUOUS);
    if (c->states[i] == NULL) {
      return -1;
    }
  }
  const npy_intp ends[2] = {(npy_intp)world->state_length[3], 2};
  c->limited = sapwood_in_place(limited, "ctrllimited", NPY_BOOL, 1, ends, 0);
  if (c->limited != NULL) {
    c->range = sapwood_in_place(range, "ctrlrange", NPY_DOUBLE, 2, ends, NPY_ARRAY_C_CONTIGUOUS);
  }
  return c->range == NULL ? -1 : 0;
}

/* Makes the arrays of the results. Returns 0, or -1 with an exception. */
static int allocate(call *c, const sap_mujoco_world *world, int sensors) {
  const struct sap_linear_sizes size = sap_mujoco_linear_sizes(world);
  const npy_intp n = (npy_intp)size.n, nu = (npy_intp)size.nu, ns = (npy_intp)size.n_sensors;
  const npy_intp nq = (npy_intp)size.nq, nv = (npy_intp)size.nv;
  const int of_sensors = sensors ? 3 : 0;
  const sapwood_layout layouts[N_OUTPUTS] = {
      [A] = {NPY_DOUBLE, 3, {c->n, n, n}},
      [B] = {NPY_DOUBLE, 3, {c->n, n, nu}},
      [C] = {NPY_DOUBLE, of_sensors, {c->n, ns, n}},
      [D] = {NPY_DOUBLE, of_sensors, {c->n, ns, nu}},
      [Q] = {NPY_DOUBLE, 2, {c->n, nq}},
      [V] = {NPY_DOUBLE, 2, {c->n, nv}},
      [ACT] = {NPY_DOUBLE, 2, {c->n, (npy_intp)world->state_length[2]}},
      [DISTANCE] = {NPY_DOUBLE, 1, {c->n}},
      [CONTACTS] = {NPY_INT32, 1, {c->n}},
      [NEAR] = {NPY_BOOL, 1, {c->n}},
      [REBOUND] = {NPY_BOOL, 1, {c->n}},
      [ROTATION] = {NPY_BOOL, 1, {c->n}},
  };
  if (sapwood_new_all(c->out, layouts, N_OUTPUTS) < 0) {
    return -1;
  }
  c->work = PyMem_Malloc(sizeof(double) * (size_t)sap_mujoco_linear_work(world) + 1);
  if (c->work == NULL) {
    return sapwood_no_memory();
  }
  return 0;
}

/* Copies n numbers of a state to the data, which may be its own memory. */
static void set(double *to, const PyArrayObject *from, npy_intp i, int64_t n) {
  if (n > 0) {
    memmove(to, sapwood_doubles((PyArrayObject *)from) + i * n, sizeof *to * (size_t)n);
  }
}

static void set_state(sap_mujoco_world *world, const call *c, npy_intp i) {
  set(SAP_DATA(world, qpos), c->states[0], i, world->state_length[0]);
  set(SAP_DATA(world, qvel), c->states[1], i, world->state_length[1]);
  set(SAP_DATA(world, act), c->states[2], i, world->state_length[2]);
  set(SAP_DATA(world, ctrl), c->states[3], i, world->state_length[3]);
}

/* Returns the place of state i in an array of results, or NULL without the array. */
static double *at(const call *c, int output, npy_intp i) {
  PyArrayObject *array = c->out[output];
  return array == NULL ? NULL
                       : (double *)((char *)PyArray_DATA(array) + i * PyArray_STRIDE(array, 0));
}

/* Linearizes the steps of the states. Returns the number of steps taken. */
static npy_intp run(sapwood_stepper *self, sap_mujoco_world *world, const call *c,
                    struct sap_mujoco_linear *linear) {
  for (npy_intp i = 0; i < c->n; ++i) {
    set_state(world, c, i);
    linear->A = at(c, A, i);
    linear->B = at(c, B, i);
    linear->C = at(c, C, i);
    linear->D = at(c, D, i);
    linear->q = at(c, Q, i);
    linear->v = at(c, V, i);
    linear->act = at(c, ACT, i);
    if (sap_mujoco_linearize(world, self->linear, linear) != SAP_STEP_TAKEN) {
      return i;
    }
    *at(c, DISTANCE, i) = linear->distance;
    ((int32_t *)PyArray_DATA(c->out[CONTACTS]))[i] = linear->n_acting;
    ((npy_bool *)PyArray_DATA(c->out[NEAR]))[i] = linear->is_near_kink != 0;
    ((npy_bool *)PyArray_DATA(c->out[REBOUND]))[i] = linear->loses_rebound != 0;
    ((npy_bool *)PyArray_DATA(c->out[ROTATION]))[i] = linear->holds_rotation != 0;
  }
  return c->n;
}

static PyObject *answer(const call *c, PyObject *failure, npy_intp taken) {
  PyObject *const result = PyTuple_New(N_OUTPUTS + 2);
  PyObject *const number = PyLong_FromSsize_t(taken);
  if (result == NULL || number == NULL) {
    Py_XDECREF(result);
    Py_XDECREF(number);
    Py_DECREF(failure);
    return NULL;
  }
  PyTuple_SET_ITEM(result, 0, failure);
  PyTuple_SET_ITEM(result, 1, number);
  for (int i = 0; i < N_OUTPUTS; ++i) {
    PyTuple_SET_ITEM(result, i + 2, Py_NewRef(c->out[i] ? (PyObject *)c->out[i] : Py_None));
  }
  return result;
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
  PyObject *objects[3], *limited, *range, *states[N_STATES], *found = NULL;
  struct sap_mujoco_linear linear = {0};
  sap_mujoco_world *world;
  sapwood_watch watch;
  call c = {0};
  int sensors;
  if (!PyArg_ParseTuple(args, "OOOOO(OOOO)ddp:linearize", &objects[0], &objects[1], &objects[2],
                        &limited, &range, &states[0], &states[1], &states[2], &states[3],
                        &linear.step, &linear.soften, &sensors) ||
      sapwood_world_of(&world, &watch, self, objects, Py_None, 0) < 0) {
    return NULL;
  }
  if (sapwood_stepper_make_linear(self) == 0 &&
      read_inputs(&c, world, states, limited, range) == 0 && allocate(&c, world, sensors) == 0) {
    npy_intp taken;
    linear.ctrllimited = PyArray_DATA(c.limited);
    linear.ctrlrange = sapwood_doubles(c.range);
    linear.work = c.work;
    Py_BEGIN_ALLOW_THREADS
    taken = run(self, world, &c, &linear);
    Py_END_ALLOW_THREADS
    PyObject *failure = sapwood_world_failure(world);
    found = failure == NULL ? NULL : answer(&c, failure, taken);
  }
  end(&c);
  sap_mujoco_close(world);
  return found;
}
