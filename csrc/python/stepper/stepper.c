/* _core.ModelStepper: gathers the contact problem of a simulated model, solves it and writes
 * accelerations and forces back, in one call per step.
 *
 * The constant arrays of the model are copied at construction and checked once
 * (stepper_constants.c). The arrays of a step are read and written in place while the call holds
 * references to them. Everything between reading and writing happens without the GIL and under the
 * lock of the stepper; results are copied out under the same lock.
 * */
#include "python/stepper/stepper.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "model/scatter.h"
#include "python/stepper/mujoco_step.h"
#include "python/signals.h"
#include "sap/solver.h"
#include "python/stepper/stepper_arrays.h"
#include "python/stepper/stepper_elements.h"

/* ---- construction --------------------------------------------------------------------------- */

static const char *const cones[] = {"elliptic", "pyramidal", NULL};
static const char *const estimates[] = {"block", "diagonal", NULL};

static int read_parameters(sapwood_stepper *self, PyObject *dt, PyObject *sigma, PyObject *beta,
                           PyObject *delassus, PyObject *cone, PyObject *limit) {
  const int estimate = sapwood_as_choice(delassus, "delassus", estimates);
  const int cone_kind = estimate < 0 ? -1 : sapwood_as_choice(cone, "cone", cones);
  if (cone_kind < 0 || sapwood_as_double(dt, "dt", SAPWOOD_POSITIVE, &self->parameters.dt) < 0 ||
      sapwood_as_double(sigma, "sigma", SAPWOOD_POSITIVE, &self->parameters.sigma) < 0 ||
      sapwood_as_double(beta, "beta", SAPWOOD_NON_NEGATIVE, &self->parameters.beta) < 0 ||
      sapwood_as_double(limit, "acceleration_limit", SAPWOOD_POSITIVE, &self->acceleration_limit) <
          0) {
    return -1;
  }
  self->parameters.delassus = (sap_delassus)estimate;
  self->cone = (enum sap_cone)cone_kind;
  return 0;
}

static PyObject *stepper_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {
      "forest",   "dt",       "sigma", "beta", "delassus", "cone", "acceleration_limit",
      "settings", "elements", NULL};
  PyObject *forest, *dt, *sigma, *beta, *delassus, *cone, *limit, *object, *elements = Py_None;
  sap_settings settings;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOOOO|O:ModelStepper", names, &forest, &dt,
                                   &sigma, &beta, &delassus, &cone, &limit, &object, &elements) ||
      sapwood_read_settings(object, &settings) < 0) {
    return NULL;
  }
  sapwood_stepper *self = (sapwood_stepper *)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  sap_error error = {0};
  self->record_history = settings.record_history;
  sapwood_state *state = sapwood_state_of_type(type);
  if (state != NULL && sapwood_lock_make(&self->lock, &state->forks) == 0 &&
      read_parameters(self, dt, sigma, beta, delassus, cone, limit) == 0 &&
      sapwood_stepper_read_constants(self, forest, elements) == 0 &&
      sapwood_raise(sap_gather_create(&self->gather, &self->forest,
                                      self->constrained ? &self->elements : NULL, NULL),
                    NULL) == 0 &&
      sapwood_raise(sap_solver_create(&self->solver, &settings, NULL, &error), &error) == 0) {
    self->state = state;
    sapwood_watch_signals(self->solver, state);
    return (PyObject *)self;
  }
  Py_DECREF(self);
  return NULL;
}

static void stepper_dealloc(PyObject *object) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  PyTypeObject *type = Py_TYPE(object);
  if (!sapwood_lock_is_lost(&self->lock)) {
    sap_solver_destroy(self->solver);
    if (self->gather.forest != NULL) {
      sap_gather_release(&self->gather);
    }
  }
  for (int i = 0; i < SAPWOOD_CONSTANTS; i++) {
    Py_XDECREF(self->arrays[i]);
  }
  sapwood_lock_free(&self->lock);
  type->tp_free(object);
  Py_DECREF(type);
}

int sapwood_stepper_be_ready(sapwood_stepper *self) {
  if (!sapwood_lock_is_lost(&self->lock)) {
    return sapwood_lock_check(&self->lock);
  }
  sap_solver *solver = NULL;
  struct sap_gather gather = {0};
  const sap_settings settings = self->solver->settings;
  if (sapwood_raise(sap_gather_create(&gather, &self->forest,
                                      self->constrained ? &self->elements : NULL, NULL),
                    NULL) == 0 &&
      sapwood_raise(sap_solver_create(&solver, &settings, NULL, NULL), NULL) == 0 &&
      sapwood_lock_make(&self->lock, self->lock.forks) == 0) {
    self->solver = solver;
    sapwood_watch_signals(solver, self->state);
    self->gather = gather;
    self->solution = (sap_solution){0};
    self->solved = 0;
    return 0;
  }
  sap_solver_destroy(solver);
  if (gather.forest != NULL) {
    sap_gather_release(&gather);
  }
  return -1;
}

/* ---- one step ------------------------------------------------------------------------------- */

/* a problem that was not finished must not be read */
static void forget_contacts(struct sap_gather *gather) {
  gather->problem.n_contacts = gather->problem.n_groups = 0;
  gather->nJ = 0;
}

sap_status sapwood_stepper_solve(sapwood_stepper *self, const sapwood_step_fields *fields,
                                 int gather_only, sap_error *error) {
  struct sap_gather *gather = &self->gather;
  memset(&self->solution, 0, sizeof self->solution);
  self->solved = 0;
  sap_status status =
      sap_gather_run(gather, &fields->state, &fields->list,
                     self->constrained ? &fields->elements : NULL, self->cone, &self->parameters);
  if (status != SAP_OK || gather->fault != SAP_FAULT_NONE) {
    return status;
  }
  if (self->forest.n_trees == 0) {
    self->counts[SAP_CONVERGED] += !gather_only;
    return status;
  }
  const struct sap_regularization physical = {&gather->parameters, gather->R_t, gather->R_n,
                                              gather->v_hat_n, gather->elements.regularization};
  if (gather_only) {
    status = sap_regularize_all(&gather->problem, &physical, NULL, error);
    if (status != SAP_OK) {
      forget_contacts(gather);
    }
    return status;
  }
  self->solution.v = gather->v;
  self->solution.gamma = gather->gamma;
  self->solution.v_c = gather->v_c;
  self->solution.regions = gather->regions;
  self->solution.barrier_scale = gather->has_barriers ? gather->barrier_scale : NULL;
  self->solution.group_gamma = gather->elements.gamma;
  self->solution.group_v_c = gather->elements.v_c;
  const double start = sap_seconds();
  status = sap_solver_solve_regularized(self->solver, &gather->problem, &physical, gather->v_0,
                                        &self->solution, error);
  self->solve_seconds = sap_seconds() - start;
  self->solved = status == SAP_OK;
  if (!self->solved) {
    forget_contacts(gather);
  } else if (sapwood_has_velocity(self->solution.outcome)) {
    sap_scatter(gather, self->cone, self->acceleration_limit, fields->qacc, fields->qfrc_constraint,
                fields->efc_force);
    if (self->constrained && gather->fault == SAP_FAULT_NONE) {
      sap_scatter_elements(&gather->elements, &fields->elements, gather->dt,
                           fields->qfrc_constraint, fields->efc_force);
    }
    self->counts[self->solution.outcome] += gather->fault == SAP_FAULT_NONE;
  }
  return status;
}

static PyObject *call_step(sapwood_stepper *self, PyObject *const *args, Py_ssize_t n_args,
                           int gather_only) {
  PyObject *answer = NULL;
  sapwood_step_arrays arrays = {0};
  if (sapwood_stepper_be_ready(self) < 0 ||
      sapwood_step_arrays_take(&arrays, self, args, n_args) < 0) {
    goto done;
  }
  sap_error error = {0};
  sap_status status;
  long code;
  Py_BEGIN_ALLOW_THREADS
  sapwood_lock_take(&self->lock);
  status = sapwood_stepper_solve(self, &arrays.fields, gather_only, &error);
  code = self->gather.fault == SAP_FAULT_NONE ? (long)self->solution.outcome
                                              : -(long)self->gather.fault;
  sapwood_lock_leave(&self->lock);
  Py_END_ALLOW_THREADS
  if (sapwood_raise(status, &error) == 0) {
    answer = PyLong_FromLong(code);
  }
done:
  sapwood_step_arrays_release(&arrays);
  return answer;
}

PyDoc_STRVAR(
    solve_doc,
    "solve($self, state, contacts, outputs, elements=None, /)\n--\n\n"
    "Take the contact part of one step: gather, solve, write back. Returns the outcome of the\n"
    "solver, or minus a fault code (see `fault`) with the outputs untouched.\n\n"
    "state: qvel, M, cdof, subtree_com, qfrc_smooth, qacc_smooth.\n"
    "contacts: dist, pos, frame, friction, surfacevel or None, adhesion or None, dim, geom, "
    "exclude,\n"
    "efc_address.\n"
    "outputs: qacc, qfrc_constraint, efc_force.\n"
    "elements, of a stepper with any: the arrays ELEMENT_ARRAYS of the module, the rows of efc_J\n"
    "None where it is dense, and the groups of actuators that are disabled, as bits.");

static PyObject *stepper_solve(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
  return call_step((sapwood_stepper *)self, args, n_args, 0);
}

PyDoc_STRVAR(gather_doc,
             "gather($self, state, contacts, outputs, elements=None, /)\n--\n\n"
             "The same without solving and writing: for `problem`.");

static PyObject *stepper_gather(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
  return call_step((sapwood_stepper *)self, args, n_args, 1);
}

PyDoc_STRVAR(fault_doc,
             "fault($self)\n--\n\n"
             "Code and index of what kept the last step from being taken; code 0 is none.\n"
             "The codes are the positions in `FAULTS` of the module.");

static PyObject *stepper_fault(PyObject *object, PyObject *Py_UNUSED(unused)) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  int fault;
  long long index;
  if (sapwood_stepper_be_ready(self) < 0) {
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  sapwood_lock_take(&self->lock);
  fault = (int)self->gather.fault;
  index = (long long)self->gather.fault_index;
  sapwood_lock_leave(&self->lock);
  Py_END_ALLOW_THREADS
  return Py_BuildValue("iL", fault, index);
}

PyDoc_STRVAR(counts_doc,
             "counts($self)\n--\n\n"
             "How many contact parts left a velocity: converged, stalled, at the iteration limit.");

static PyObject *stepper_counts(PyObject *object, PyObject *Py_UNUSED(unused)) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  int64_t counts[SAP_NON_FINITE + 1];
  if (sapwood_stepper_be_ready(self) < 0) {
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  sapwood_lock_take(&self->lock);
  memcpy(counts, self->counts, sizeof counts);
  sapwood_lock_leave(&self->lock);
  Py_END_ALLOW_THREADS
  return Py_BuildValue("LLL", (long long)counts[SAP_CONVERGED], (long long)counts[SAP_STALLED],
                       (long long)counts[SAP_ITERATION_LIMIT]);
}

/* ---- type ----------------------------------------------------------------------------------- */

#define FAST(function) (PyCFunction)(void (*)(void)) function

static PyMethodDef methods[] = {
    {"solve", FAST(stepper_solve), METH_FASTCALL, solve_doc},
    {"gather", FAST(stepper_gather), METH_FASTCALL, gather_doc},
    {"write", FAST(sapwood_stepper_write), METH_FASTCALL, sapwood_stepper_write_doc},
    {"accept_options", sapwood_stepper_accept_options, METH_VARARGS,
     sapwood_stepper_accept_options_doc},
    {"run", FAST(sapwood_stepper_run), METH_FASTCALL, sapwood_stepper_run_doc},
    {"rollout", (PyCFunction)(void (*)(void))sapwood_stepper_rollout, METH_VARARGS | METH_KEYWORDS,
     sapwood_stepper_rollout_doc},
    {"counts", stepper_counts, METH_NOARGS, counts_doc},
    {"fault", stepper_fault, METH_NOARGS, fault_doc},
    {"problem", sapwood_stepper_problem, METH_NOARGS, sapwood_stepper_problem_doc},
    {"contacts", sapwood_stepper_contacts, METH_NOARGS, sapwood_stepper_contacts_doc},
    {"groups", sapwood_stepper_groups, METH_NOARGS, sapwood_stepper_groups_doc},
    {"result", sapwood_stepper_result, METH_NOARGS, sapwood_stepper_result_doc},
    {NULL, NULL, 0, NULL}};

static PyMethodDef functions[] = {
    {"first_bad", FAST(sapwood_first_bad), METH_FASTCALL, sapwood_first_bad_doc},
    {"mujoco_api", sapwood_mujoco_api, METH_VARARGS, sapwood_mujoco_api_doc},
    {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(
    stepper_doc,
    "ModelStepper(forest, dt, sigma, beta, delassus, cone, acceleration_limit, settings,\n"
    "             elements=None)\n"
    "--\n\n"
    "Contact part of the time steps of one model. `forest` and `elements` map the names of\n"
    "constant arrays to arrays. See sapwood.mujoco.Stepper.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)stepper_doc},
                              {Py_tp_new, (void *)stepper_new},
                              {Py_tp_dealloc, (void *)stepper_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {
    .name = "sapwood._core.ModelStepper",
    .basicsize = sizeof(sapwood_stepper),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* names of enum sap_fault */
static const char *const faults[] = {"none",     "overflow",     "dimension", "geom",
                                     "adhesion", "rows",         "force",     "mass",
                                     "contact",  "acceleration", "equality",  "tendon"};
_Static_assert(sizeof faults / sizeof *faults == SAP_FAULTS, "one name per fault");

static int add_faults(PyObject *module) {
  PyObject *names = PyTuple_New(SAP_FAULTS);
  for (int i = 0; i < SAP_FAULTS && names != NULL; i++) {
    PyObject *name = PyUnicode_FromString(faults[i]);
    if (name == NULL) {
      Py_CLEAR(names);
    } else {
      PyTuple_SET_ITEM(names, i, name);
    }
  }
  const int failed = names == NULL || PyModule_AddObjectRef(module, "FAULTS", names) < 0;
  Py_XDECREF(names);
  return failed ? -1 : 0;
}

int sapwood_add_stepper(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  state->model_stepper_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
  if (state->model_stepper_type == NULL ||
      PyModule_AddType(module, state->model_stepper_type) < 0 ||
      PyModule_AddFunctions(module, functions) < 0 || sapwood_add_mujoco_step(module) < 0 ||
      sapwood_add_elements(module) < 0) {
    return -1;
  }
  return add_faults(module);
}
