#include "python/stepper/mujoco_step.h"

#include <math.h>
#include <stddef.h>

#include "base/clock.h"
#include "python/stepper/stepper_elements.h"

/* ---- opening -------------------------------------------------------------------------------- */

static sapwood_options read_options(const sapwood_mujoco *api, const void *model) {
  return (sapwood_options){.timestep = sapwood_double_at(model, api->model.timestep),
                           .integrator = sapwood_int_at(model, api->model.integrator),
                           .cone = sapwood_int_at(model, api->model.cone),
                           .disableflags = sapwood_int_at(model, api->model.disableflags),
                           .enableflags = sapwood_int_at(model, api->model.enableflags)};
}

static int same_options(const sapwood_options *a, const sapwood_options *b) {
  return a->timestep == b->timestep && a->integrator == b->integrator && a->cone == b->cone &&
         a->disableflags == b->disableflags && a->enableflags == b->enableflags;
}

const char sapwood_stepper_accept_options_doc[] =
    "accept_options($self, api, model, /)\n--\n\n"
    "Take the options of the model as they are now for being in order. Steps are taken while\n"
    "they stay the same.";

PyObject *sapwood_stepper_accept_options(PyObject *self, PyObject *args) {
  PyObject *capsule, *object;
  if (!PyArg_ParseTuple(args, "OO:accept_options", &capsule, &object)) {
    return NULL;
  }
  const sapwood_mujoco *api = sapwood_mujoco_of(capsule);
  const void *model = api == NULL ? NULL : sapwood_mujoco_address(object, api->model_type, "model");
  if (model == NULL) {
    return NULL;
  }
  ((sapwood_stepper *)self)->options = read_options(api, model);
  ((sapwood_stepper *)self)->options_known = 1;
  Py_RETURN_NONE;
}

static int fits_elements(const sapwood_world *world) {
  const struct sap_elements *e = &world->stepper->elements;
  const sapwood_mujoco *a = world->api;
  return !world->stepper->constrained ||
         (sapwood_int64_at(world->model, a->model.nq) == e->nq &&
          sapwood_int64_at(world->model, a->model.neq) == e->n_equalities &&
          sapwood_int64_at(world->model, a->model.ntendon) == e->n_tendons &&
          sapwood_int64_at(world->model, a->model.nout) == e->n_outputs);
}

int sapwood_world_open(sapwood_world *world, sapwood_stepper *stepper, PyObject *api,
                       PyObject *model, PyObject *data) {
  world->stepper = stepper;
  world->failure = SAPWOOD_STEP_TAKEN;
  if (sapwood_stepper_be_ready(stepper) < 0 || (world->api = sapwood_mujoco_of(api)) == NULL ||
      (world->model = sapwood_mujoco_address(model, world->api->model_type, "model")) == NULL ||
      (world->data = sapwood_mujoco_address(data, world->api->data_type, "data")) == NULL) {
    return -1;
  }
  const void *m = world->model;
  const struct sap_forest *f = &stepper->forest;
  const sapwood_mujoco *a = world->api;
  if (sapwood_int64_at(m, a->model.nv) != f->nv || sapwood_int64_at(m, a->model.nC) != f->nM ||
      sapwood_int64_at(m, a->model.nbody) != f->n_bodies ||
      sapwood_int64_at(m, a->model.ngeom) != f->n_geoms ||
      sapwood_int64_at(m, a->model.ntree) != f->n_trees || !fits_elements(world)) {
    PyErr_SetString(PyExc_ValueError, "model has other sizes than the forest of this stepper");
    return -1;
  }
  const int64_t nmocap = sapwood_int64_at(m, a->model.nmocap);
  world->state_length[0] = sapwood_int64_at(m, a->model.nq);
  world->state_length[1] = f->nv;
  world->state_length[2] = sapwood_int64_at(m, a->model.na);
  world->state_length[3] = sapwood_int64_at(m, a->model.nu);
  world->state_length[4] = 3 * nmocap;
  world->state_length[5] = 4 * nmocap;
  world->nsensordata = sapwood_int64_at(m, a->model.nsensordata);
  world->options = stepper->options;
  world->options_known = stepper->options_known;
  world->started = sap_seconds();
  return 0;
}

/* ---- the arrays of a step ------------------------------------------------------------------- */

static double *array_at(const sapwood_world *world, ptrdiff_t offset) {
  return (double *)sapwood_pointer_at(world->data, offset);
}

static struct sap_field field_at(const char *contacts, ptrdiff_t offset, ptrdiff_t size) {
  return offset < 0 ? (struct sap_field){NULL, 0} : (struct sap_field){contacts + offset, size};
}

/* arrays of constrained elements; the engine vouches for what its sparse rows point at */
static void find_elements(const sapwood_world *world, struct sap_element_state *state) {
  const sapwood_mujoco *a = world->api;
  const int dense = !a->mj_isSparse(world->model);
  for (int i = 0; i < SAPWOOD_ELEMENT_ARRAYS; i++) {
    const sapwood_element_array *array = &sapwood_element_arrays[i];
    const void *data =
        dense && array->optional ? NULL : sapwood_pointer_at(world->data, a->data.elements[i]);
    memcpy((char *)state + array->offset, &data, sizeof data);
  }
  state->n_rows = sapwood_int_at(world->data, a->data.nefc);
  state->n_constraint_entries = state->n_moment_entries = INT64_MAX;
  const int off = sapwood_int_at(world->model, a->model.disableflags) & SAPWOOD_MUJOCO_NO_ACTUATION;
  state->disabled = off ? -1 : sapwood_int_at(world->model, a->model.disableactuator) & INT32_MAX;
}

/* Contacts and rows lie in memory that MuJoCo hands out anew in each step. */
static sapwood_step_fields fields_of(const sapwood_world *world) {
  const sapwood_mujoco *a = world->api;
  const char *contacts = sapwood_pointer_at(world->data, a->data.contact);
  const ptrdiff_t size = a->contact.size;
  return (sapwood_step_fields){
      .state = {.qvel = array_at(world, a->data.qvel),
                .M = array_at(world, a->data.M),
                .cdof = array_at(world, a->data.cdof),
                .subtree_com = array_at(world, a->data.subtree_com),
                .qfrc_smooth = array_at(world, a->data.qfrc_smooth),
                .qacc_smooth = array_at(world, a->data.qacc_smooth)},
      .list = {.count = sapwood_int_at(world->data, a->data.ncon),
               .n_rows = sapwood_int_at(world->data, a->data.nefc),
               .dist = field_at(contacts, a->contact.dist, size),
               .pos = field_at(contacts, a->contact.pos, size),
               .frame = field_at(contacts, a->contact.frame, size),
               .friction = field_at(contacts, a->contact.friction, size),
               .surface_velocity = field_at(contacts, a->contact.surfacevel, size),
               .adhesion = field_at(contacts, a->contact.adhesion, size),
               .dim = field_at(contacts, a->contact.dim, size),
               .geom = field_at(contacts, a->contact.geom, size),
               .exclude = field_at(contacts, a->contact.exclude, size),
               .row = field_at(contacts, a->contact.efc_address, size)},
      .qacc = array_at(world, a->data.qacc),
      .qfrc_constraint = array_at(world, a->data.qfrc_constraint),
      .efc_force = array_at(world, a->data.efc_force)};
}

/* ---- one step ------------------------------------------------------------------------------- */

static void fail(sapwood_world *world, sapwood_step_failure failure, int array, int64_t index) {
  world->failure = failure;
  world->array = array;
  world->index = index;
}

/* 1 when every entry is a number within the limit; without a branch per entry */
static int all_within(const double *x, int64_t n, double limit) {
  int64_t outside = 0;
  for (int64_t i = 0; i < n; i++) {
    outside += !(fabs(x[i]) <= limit);
  }
  return outside == 0;
}

static int check_state(sapwood_world *world) {
  const sapwood_mujoco *a = world->api;
  const double limit = world->stepper->acceleration_limit;
  const ptrdiff_t places[SAPWOOD_STATE_ARRAYS] = {
      a->data.qpos, a->data.qvel, a->data.act, a->data.ctrl, a->data.mocap_pos, a->data.mocap_quat};
  for (int i = 0; i < SAPWOOD_STATE_ARRAYS; i++) {
    const double *x = array_at(world, places[i]);
    if (!all_within(x, world->state_length[i], limit)) {
      int64_t j = 0;
      while (fabs(x[j]) <= limit) {
        j++;
      }
      fail(world, SAPWOOD_STEP_STATE, i, j);
      return -1;
    }
  }
  return 0;
}

/* gather, solve, write back, and what there is to tell of it */
static int take_contact_part(sapwood_world *world) {
  sapwood_stepper *stepper = world->stepper;
  sapwood_step_record *record = &world->record;
  sapwood_step_fields fields = fields_of(world);
  if (stepper->constrained) {
    find_elements(world, &fields.elements);
  }
  sapwood_lock_take(&stepper->lock);
  world->status = sapwood_stepper_solve(stepper, &fields, 0, &world->error);
  const sap_solution *s = &stepper->solution;
  if (world->status != SAP_OK) {
    fail(world, SAPWOOD_STEP_ARGUMENT, 0, -1);
  } else if (stepper->gather.fault != SAP_FAULT_NONE) {
    fail(world, SAPWOOD_STEP_FAULT, (int)stepper->gather.fault, stepper->gather.fault_index);
  } else if (!sapwood_has_velocity(s->outcome)) {
    fail(world, SAPWOOD_STEP_OUTCOME, (int)s->outcome, s->tree);
  } else {
    *record = (sapwood_step_record){.momentum_error = s->momentum_error,
                                    .velocity_error_bound = s->velocity_error_bound,
                                    .solver_seconds = stepper->solve_seconds,
                                    .contacts = stepper->gather.problem.n_contacts,
                                    .iterations = s->iterations,
                                    .total_iterations = s->total_iterations,
                                    .line_search_trials = s->line_search_trials,
                                    .status = (int32_t)s->outcome,
                                    .islands = s->n_islands,
                                    .deep_contacts = s->n_deep};
  }
  sapwood_lock_leave(&stepper->lock);
  return world->failure == SAPWOOD_STEP_TAKEN ? 0 : -1;
}

static void take_step(void *context) {
  sapwood_world *world = context;
  const sapwood_mujoco *a = world->api;
  const void *m = world->model;
  void *d = world->data;
  const sapwood_options options = read_options(a, m);
  if (!world->options_known || !same_options(&options, &world->options)) {
    fail(world, SAPWOOD_STEP_OPTIONS, 0, -1);
    return;
  }
  if (check_state(world) < 0) {
    return;
  }
  const int contacts_full = sapwood_int_at(d, a->data.contacts_full);
  const int rows_full = sapwood_int_at(d, a->data.rows_full);
  a->mj_step1(m, d);
  if (sapwood_int_at(d, a->data.contacts_full) != contacts_full ||
      sapwood_int_at(d, a->data.rows_full) != rows_full) {
    fail(world, SAPWOOD_STEP_MEMORY, 0, -1);
    return;
  }
  a->mj_fwdActuation(m, d);
  a->mj_fwdAcceleration(m, d);
  if (take_contact_part(world) < 0) {
    return;
  }
  /* sensors have to see our forces, not what was computed before */
  ((unsigned char *)d)[a->data.flg_rnepost] = 0;
  a->mj_sensorAcc(m, d);
  a->mj_Euler(m, d);
  world->record.time = sapwood_double_at(d, a->data.time);
}

sapwood_step_failure sapwood_world_step(sapwood_world *world) {
  const sapwood_mujoco *a = world->api;
  char *d = world->data;
  const void *const pstack = sapwood_pointer_at(d, a->data.pstack);
  const void *const pbase = sapwood_pointer_at(d, a->data.pbase);
  world->failure = SAPWOOD_STEP_TAKEN;
  if (sapwood_mujoco_call(a, take_step, world, world->message) < 0) {
    fail(world, SAPWOOD_STEP_MUJOCO, 0, -1);
    /* give back what the functions that were left had taken of MuJoCo's stack */
    memcpy(d + a->data.pstack, &pstack, sizeof pstack);
    memcpy(d + a->data.pbase, &pbase, sizeof pbase);
  }
  const double now = sap_seconds();
  world->record.seconds = now - world->started;
  world->started = now;
  return world->failure;
}

/* ---- telling Python ------------------------------------------------------------------------- */

static const char *const failures[] = {"none",  "state",    "memory",  "mujoco",
                                       "fault", "argument", "outcome", "options"};
_Static_assert(sizeof failures / sizeof *failures == SAPWOOD_STEP_FAILURES, "one name per failure");

/* the exception that is set, as an object, and cleared */
static PyObject *take_exception(void) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value != NULL && traceback != NULL) {
    PyException_SetTraceback(value, traceback);
  }
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
}

PyObject *sapwood_world_failure(const sapwood_world *world) {
  if (PyErr_Occurred()) {
    return take_exception();
  }
  PyObject *message = NULL;
  if (world->failure == SAPWOOD_STEP_ARGUMENT) {
    sapwood_raise(world->status, &world->error);
    PyObject *error = take_exception();
    if (error == NULL || world->status == SAP_OUT_OF_MEMORY) {
      return error;
    }
    message = PyObject_Str(error);
    Py_DECREF(error);
  } else {
    const char *text = world->failure == SAPWOOD_STEP_MUJOCO ? world->message : "";
    message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  }
  return message == NULL ? NULL
                         : Py_BuildValue("(siLN)", failures[world->failure], world->array,
                                         (long long)world->index, message);
}

/* NumPy dtype with the memory layout of sapwood_step_record */
static PyArray_Descr *record_dtype(void) {
#define OFFSET(name) (Py_ssize_t) offsetof(sapwood_step_record, name)
  PyObject *layout = Py_BuildValue(
      "{s:(ssssssssssss),s:(ssssssssssss),s:(nnnnnnnnnnnn),s:n}", "names", "time", "momentum_error",
      "velocity_error_bound", "solver_seconds", "seconds", "contacts", "iterations",
      "total_iterations", "line_search_trials", "status", "islands", "deep_contacts", "formats",
      "f8", "f8", "f8", "f8", "f8", "i4", "i4", "i4", "i4", "i4", "i4", "i4", "offsets",
      OFFSET(time), OFFSET(momentum_error), OFFSET(velocity_error_bound), OFFSET(solver_seconds),
      OFFSET(seconds), OFFSET(contacts), OFFSET(iterations), OFFSET(total_iterations),
      OFFSET(line_search_trials), OFFSET(status), OFFSET(islands), OFFSET(deep_contacts),
      "itemsize", (Py_ssize_t)sizeof(sapwood_step_record));
#undef OFFSET
  PyArray_Descr *dtype = NULL;
  if (layout != NULL && !PyArray_DescrConverter(layout, &dtype)) {
    dtype = NULL;
  }
  Py_XDECREF(layout);
  return dtype;
}

int sapwood_add_mujoco_step(PyObject *module) {
  PyArray_Descr *dtype = record_dtype();
  const int failed =
      dtype == NULL || PyModule_AddObjectRef(module, "STEP_RECORD", (PyObject *)dtype) < 0;
  Py_XDECREF(dtype);
  return failed ? -1 : 0;
}
