/* _core.ModelStepper: gathers the contact problem of a simulated model, solves it and writes
 * accelerations and forces back, in one call per step.
 *
 * The constant arrays of the model are copied at construction and checked once
 * (constants.c). A step reads and writes the arrays of an MjData in place, without the GIL and
 * under the lock of the stepper; results are copied out under the same lock.
 */
#include "python/parts.h"
#include "python/stepper/methods.h"

#include <math.h>
#include <string.h>

#include "constraints/kinds/slip_sigma.h"
#include "step/gather.h"
#include "python/errors.h"
#include "python/signals.h"
#include "python/solver/py_settings.h"
#include "python/state.h"
#include "python/stepper/constants.h"
#include "python/stepper/py_fields.h"
#include "python/stepper/ready.h"

/* ---- construction --------------------------------------------------------------------------- */

static const char *const cones[] = {"elliptic", "pyramidal", NULL};
static const char *const estimates[] = {"block", "diagonal", NULL};

/* The arguments of the constructor that are objects. */
enum { FOREST, DT, SIGMA, BETA, DELASSUS, CONE, LIMIT, SETTINGS, ELEMENTS, FIELDS, N_OBJECTS };

static int parse(PyObject *args, PyObject *keywords, PyObject *in[N_OBJECTS],
                 sap_step_settings *step) {
  static char *names[] = {"forest",
                          "dt",
                          "sigma",
                          "beta",
                          "delassus",
                          "cone",
                          "acceleration_limit",
                          "settings",
                          "elements",
                          "speculative",
                          "release_speed",
                          "release_rate",
                          "slip_speed",
                          "slip_rate",
                          "stiction_speed",
                          "fields",
                          NULL};
  *step = (sap_step_settings){
      .release_speed = INFINITY, .release_rate = INFINITY, .stiction_speed = 0.001};
  in[ELEMENTS] = in[FIELDS] = Py_None;
  return PyArg_ParseTupleAndKeywords(
             args, keywords, "OOOOOOOO|OpdddddO:ModelStepper", names, &in[FOREST], &in[DT],
             &in[SIGMA], &in[BETA], &in[DELASSUS], &in[CONE], &in[LIMIT], &in[SETTINGS],
             &in[ELEMENTS], &step->speculative, &step->release_speed, &step->release_rate,
             &step->slip_speed, &step->slip_rate, &step->stiction_speed, &in[FIELDS])
             ? 0
             : -1;
}

static int read_parameters(sap_step_settings *step, PyObject *const in[N_OBJECTS]) {
  const int estimate = sapwood_as_choice(in[DELASSUS], "delassus", estimates);
  const int cone = estimate < 0 ? -1 : sapwood_as_choice(in[CONE], "cone", cones);
  if (cone < 0 || sapwood_as_double(in[DT], "dt", SAPWOOD_POSITIVE, &step->dt) < 0 ||
      sapwood_as_double(in[SIGMA], "sigma", SAPWOOD_POSITIVE, &step->sigma) < 0 ||
      sapwood_as_double(in[BETA], "beta", SAPWOOD_NON_NEGATIVE, &step->beta) < 0 ||
      sapwood_as_double(in[LIMIT], "acceleration_limit", SAPWOOD_POSITIVE,
                        &step->acceleration_limit) < 0) {
    return -1;
  }
  step->delassus = (sap_delassus)estimate;
  step->cone = (sap_cone)cone;
  return 0;
}

/* Makes the core of a stepper. Returns 0, or -1 with an exception. */
static int create(sapwood_stepper *self, PyObject *const in[N_OBJECTS], sap_step_settings *step) {
  sap_forest forest = {0};
  sap_elements elements = {0};
  sap_error error = {0};
  if (read_parameters(step, in) < 0 ||
      sapwood_read_constants(self, in[FOREST], in[ELEMENTS], &forest, &elements) < 0 ||
      sapwood_raise(
          sap_stepper_create(&self->core, &forest, in[ELEMENTS] == Py_None ? NULL : &elements, step,
                             &self->settings, NULL, &error),
          &error) < 0 ||
      sapwood_take_fields(self, in[FIELDS]) < 0) {
    return -1;
  }
  const sap_interrupt interrupt = sapwood_interrupt_of(self->state);
  sap_stepper_set_interrupt(self->core, &interrupt);
  return 0;
}

static PyObject *stepper_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  PyObject *in[N_OBJECTS];
  sap_step_settings step;
  sap_settings settings;
  if (parse(args, keywords, in, &step) < 0 || sapwood_read_settings(in[SETTINGS], &settings) < 0) {
    return NULL;
  }
  sapwood_stepper *self = (sapwood_stepper *)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->settings = settings;
  self->state = sapwood_state_of_type(type);
  if (self->state == NULL || sapwood_lock_make(&self->lock, &self->state->forks) < 0 ||
      create(self, in, &step) < 0) {
    Py_CLEAR(self);
  }
  return (PyObject *)self;
}

static void stepper_dealloc(PyObject *object) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  if (!sapwood_lock_is_lost(&self->lock)) {
    sap_linear_step_destroy(self->linear);
    sap_stepper_destroy(self->core);
  }
  sapwood_release_fields(self);
  sapwood_release(self->arrays, SAPWOOD_CONSTANTS);
  sapwood_lock_free(&self->lock);
  sapwood_free_object(object);
}

/* ---- results of the last step --------------------------------------------------------------- */

const char sapwood_stepper_fault_doc[] =
    "fault($self)\n--\n\n"
    "Code and index of what kept the last step from being taken; code 0 is none.\n"
    "The codes are the positions in `FAULTS` of the module.";

PyObject *sapwood_stepper_fault(PyObject *object, PyObject *Py_UNUSED(unused)) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  int fault;
  long long index;
  if (sapwood_stepper_be_ready(self) < 0) {
    return NULL;
  }
  SAPWOOD_BEGIN_LOCKED(&self->lock)
  int64_t at;
  fault = (int)sap_stepper_fault(self->core, &at);
  index = (long long)at;
  SAPWOOD_END_LOCKED(&self->lock)
  return Py_BuildValue("iL", fault, index);
}

const char sapwood_stepper_counts_doc[] =
    "counts($self)\n--\n\n"
    "How many contact parts left a velocity: converged, stalled, at the iteration limit, at\n"
    "the limit of friction.";

PyObject *sapwood_stepper_counts(PyObject *object, PyObject *Py_UNUSED(unused)) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  int64_t counts[SAP_PROXIMAL_LIMIT + 1];
  if (sapwood_stepper_be_ready(self) < 0) {
    return NULL;
  }
  SAPWOOD_BEGIN_LOCKED(&self->lock)
  memcpy(counts, sap_stepper_counts(self->core), sizeof counts);
  SAPWOOD_END_LOCKED(&self->lock)
  return Py_BuildValue("LLLL", (long long)counts[SAP_CONVERGED], (long long)counts[SAP_STALLED],
                       (long long)counts[SAP_ITERATION_LIMIT],
                       (long long)counts[SAP_FRICTION_LIMIT]);
}

const char sapwood_stepper_set_speeds_doc[] =
    "set_speeds($self, release_speed, release_rate, slip_speed, slip_rate, stiction_speed, /)\n"
    "--\n\n"
    "Change the speeds of the constructor that follow the scale of the model.";

PyObject *sapwood_stepper_set_speeds(PyObject *object, PyObject *args) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  static const char *const names[] = {"release_speed", "release_rate", "slip_speed", "slip_rate",
                                      "stiction_speed"};
  PyObject *given[SAP_STEP_SPEEDS];
  double speeds[SAP_STEP_SPEEDS];
  if (!PyArg_ParseTuple(args, "OOOOO:set_speeds", &given[0], &given[1], &given[2], &given[3],
                        &given[4])) {
    return NULL;
  }
  for (int i = 0; i < SAP_STEP_SPEEDS; i++) {
    static const sapwood_rule rules[] = {SAPWOOD_POSITIVE_OR_INFINITE, SAPWOOD_POSITIVE_OR_INFINITE,
                                         SAPWOOD_NON_NEGATIVE, SAPWOOD_NON_NEGATIVE,
                                         SAPWOOD_POSITIVE};
    if (sapwood_as_double(given[i], names[i], rules[i], &speeds[i]) < 0) {
      return NULL;
    }
  }
  if (sapwood_stepper_be_ready(self) < 0) {
    return NULL;
  }
  SAPWOOD_BEGIN_LOCKED(&self->lock)
  sap_stepper_set_speeds(self->core, speeds);
  SAPWOOD_END_LOCKED(&self->lock)
  Py_RETURN_NONE;
}

const char sapwood_stepper_constants_doc[] =
    "constants($self)\n--\n\n"
    "The private arrays of doubles of `forest` and `elements`, by name, where the core reads\n"
    "them: whoever writes to them keeps their rules.";

PyObject *sapwood_stepper_constants(PyObject *object, PyObject *Py_UNUSED(unused)) {
  return sapwood_double_constants((sapwood_stepper *)object);
}

/* ---- type ----------------------------------------------------------------------------------- */

#define METHOD(name, flags) \
  {#name, SAPWOOD_FAST(sapwood_stepper_##name), flags, sapwood_stepper_##name##_doc},
static PyMethodDef methods[] = {SAPWOOD_STEPPER_METHODS(METHOD){NULL, NULL, 0, NULL}};

PyDoc_STRVAR(
    stepper_doc,
    "ModelStepper(forest, dt, sigma, beta, delassus, cone, acceleration_limit, settings,\n"
    "             elements=None, speculative=False, release_speed=inf,\n"
    "             release_rate=inf, slip_speed=0, slip_rate=0,\n"
    "             stiction_speed=0.001, fields=None)\n"
    "--\n\n"
    "Contact part of the time steps of one model. `forest` and `elements` map the names of\n"
    "constant arrays to arrays; `fields` is (pair_geom, pair_dim, shapes of all geoms). See "
    "sapwood.mujoco.Stepper.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)stepper_doc},
                              {Py_tp_new, (void *)stepper_new},
                              {Py_tp_dealloc, (void *)stepper_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = SAPWOOD_SPEC("ModelStepper", sapwood_stepper, Py_TPFLAGS_IMMUTABLETYPE);

static const char *fault_name(Py_ssize_t i) { return sap_fault_name((sap_fault)i); }

int sapwood_add_stepper(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  if (sapwood_add_type(module, &spec, &state->model_stepper_type) < 0 ||
      sapwood_add_object(module, "LEAST_SIGMA", PyFloat_FromDouble(sap_least_sigma)) < 0 ||
      sapwood_add_object(module, "TIME_STEP", PyFloat_FromDouble(SAP_TIME_STEP)) < 0 ||
      sapwood_add_object(module, "DEEP_OVERLAP", PyFloat_FromDouble(SAP_DEEP_OVERLAP)) < 0) {
    return -1;
  }
  return sapwood_add_object(module, "FAULTS", sapwood_make_names(SAP_FAULTS, fault_name));
}
