/* Parts of a step of one MjData, for steps composed in Python. */
#include "python/stepper/methods.h"
#include "mujoco/stages/contact_part.h"
#include "mujoco/stages/step.h"
#include "python/mujoco/py_world.h"

static int open_world(sap_mujoco_world **world, sapwood_watch *watch, PyObject *stepper,
                      PyObject *const objects[3], PyObject *memory) {
  return sapwood_world_of(world, watch, (sapwood_stepper *)stepper, objects, memory, 0);
}

static PyObject *close_world(sap_mujoco_world *world, PyObject *answer) {
  sap_mujoco_close(world);
  return answer;
}

/* ---- parts without arguments of their own --------------------------------------------------- */

typedef sap_step_failure step_part(sap_mujoco_world *world);

static PyObject *call_part(PyObject *self, PyObject *args, step_part *part) {
  PyObject *objects[3];
  sap_mujoco_world *world;
  sapwood_watch watch;
  if (!PyArg_ParseTuple(args, "OOO", &objects[0], &objects[1], &objects[2]) ||
      open_world(&world, &watch, self, objects, Py_None) < 0) {
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  part(world);
  Py_END_ALLOW_THREADS
  return close_world(world, sapwood_world_failure(world));
}

const char sapwood_stepper_start_doc[] =
    "start($self, api, model, data, /)\n--\n\n"
    "First half of a step of `data`, up to the velocity-dependent quantities. Returns None, or "
    "why\n"
    "the step cannot be taken, as `run` does; so do the other parts of a step. None of them looks\n"
    "at the options of the model.";

PyObject *sapwood_stepper_start(PyObject *self, PyObject *args) {
  return call_part(self, args, sap_mujoco_start);
}

const char sapwood_stepper_find_forces_doc[] =
    "find_forces($self, api, model, data, /)\n--\n\n"
    "Find actuator forces, accelerations, and qDeriv where the forest has its pattern.";

PyObject *sapwood_stepper_find_forces(PyObject *self, PyObject *args) {
  return call_part(self, args, sap_mujoco_find_forces);
}

const char sapwood_stepper_evaluate_doc[] =
    "evaluate($self, api, model, data, /)\n--\n\n"
    "Find positions, velocities and forces of the state, without sensors and control callback.";

PyObject *sapwood_stepper_evaluate(PyObject *self, PyObject *args) {
  return call_part(self, args, sap_mujoco_evaluate);
}

const char sapwood_stepper_solve_doc[] =
    "solve($self, api, model, data, /)\n--\n\n"
    "Gather, solve and write back the contact part of a step whose forces were found.";

PyObject *sapwood_stepper_solve(PyObject *self, PyObject *args) {
  return call_part(self, args, sap_mujoco_solve);
}

/* ---- the second half ------------------------------------------------------------------------ */

const char sapwood_stepper_finish_doc[] =
    "finish($self, api, model, data, memory, record, /)\n--\n\n"
    "Second half of a step: forces, contact, sensors, integration. Returns as `run` does; memory\n"
    "and record: as `prepare` has them.";

PyObject *sapwood_stepper_finish(PyObject *self, PyObject *args) {
  PyObject *objects[3], *memory, *record;
  sap_step_record *written;
  sap_mujoco_world *world;
  sapwood_watch watch;
  if (!PyArg_ParseTuple(args, "OOOOO:finish", &objects[0], &objects[1], &objects[2], &memory,
                        &record) ||
      (written = sapwood_take_records(record, 1)) == NULL ||
      open_world(&world, &watch, self, objects, memory) < 0) {
    return NULL;
  }
  int taken, notable;
  Py_BEGIN_ALLOW_THREADS
  taken = sap_mujoco_finish(world) == SAP_STEP_TAKEN;
  *written = *sap_mujoco_record(world);
  notable = taken && sap_step_is_notable(written);
  Py_END_ALLOW_THREADS
  return close_world(world, sapwood_world_ended(world, taken, notable));
}

/* ---- steps solved elsewhere ------------------------------------------------------------------ */

const char sapwood_stepper_gather_doc[] =
    "gather($self, api, model, data, qvel=None, memory=None, /)\n--\n\n"
    "Gather the contact problem of a step whose forces were found, for `problem`. qvel: velocity\n"
    "at the start of the step; None: that of the data. memory: gives lagged friction its bounds.";

PyObject *sapwood_stepper_gather(PyObject *self, PyObject *args) {
  PyObject *objects[3], *velocity = Py_None, *memory = Py_None;
  PyArrayObject *qvel = NULL;
  sap_mujoco_world *world;
  sapwood_watch watch;
  if (!PyArg_ParseTuple(args, "OOO|OO:gather", &objects[0], &objects[1], &objects[2], &velocity,
                        &memory) ||
      open_world(&world, &watch, self, objects, memory) < 0) {
    return NULL;
  }
  const npy_intp nv = sap_stepper_forest(((sapwood_stepper *)self)->core)->nv;
  if (velocity != Py_None &&
      (qvel = sapwood_as_float64(velocity, "qvel", 1, &nv, SAPWOOD_ANY)) == NULL) {
    return close_world(world, NULL);
  }
  Py_BEGIN_ALLOW_THREADS
  sap_mujoco_gather(world, sapwood_optional_doubles(qvel));
  Py_END_ALLOW_THREADS
  Py_XDECREF(qvel);
  return close_world(world, sapwood_world_failure(world));
}

enum { V, GAMMA, GROUP_GAMMA, SPIN_GAMMA, EFC_FORCE, SOLUTION_ARRAYS };

const char sapwood_stepper_write_doc[] =
    "write($self, api, model, data, v, gamma, group_gamma, spin_gamma, efc_force, /)\n--\n\n"
    "Write a solution, found elsewhere, of the problem gathered last into the arrays that a step\n"
    "leaves, and find the sensors of accelerations. `efc_force` has the forces of contacts that "
    "the\n"
    "problem does not have; it may be empty.";

PyObject *sapwood_stepper_write(PyObject *self, PyObject *args) {
  static const char *const names[SOLUTION_ARRAYS] = {[V] = "v",
                                                     [GAMMA] = "gamma",
                                                     [GROUP_GAMMA] = "group_gamma",
                                                     [SPIN_GAMMA] = "spin_gamma",
                                                     [EFC_FORCE] = "efc_force"};
  PyObject *objects[3], *given[SOLUTION_ARRAYS], *answer = NULL;
  PyArrayObject *solution[SOLUTION_ARRAYS] = {NULL};
  sap_mujoco_world *world;
  sapwood_watch watch;
  if (!PyArg_ParseTuple(args, "OOOOOOOO:write", &objects[0], &objects[1], &objects[2], &given[V],
                        &given[GAMMA], &given[GROUP_GAMMA], &given[SPIN_GAMMA],
                        &given[EFC_FORCE]) ||
      open_world(&world, &watch, self, objects, Py_None) < 0) {
    return NULL;
  }
  for (int i = 0; i < SOLUTION_ARRAYS; i++) {
    solution[i] = sapwood_as_float64(given[i], names[i], -1, NULL, SAPWOOD_ANY);
    if (solution[i] == NULL) {
      goto done;
    }
  }
  const struct sap_found found = {.v = sapwood_doubles(solution[V]),
                                  .gamma = sapwood_doubles(solution[GAMMA]),
                                  .group_gamma = sapwood_doubles(solution[GROUP_GAMMA]),
                                  .spin_gamma = sapwood_doubles(solution[SPIN_GAMMA]),
                                  .efc_force = sapwood_doubles(solution[EFC_FORCE]),
                                  .n_v = PyArray_SIZE(solution[V]),
                                  .n_gamma = PyArray_SIZE(solution[GAMMA]),
                                  .n_group_gamma = PyArray_SIZE(solution[GROUP_GAMMA]),
                                  .n_spin_gamma = PyArray_SIZE(solution[SPIN_GAMMA]),
                                  .n_efc_force = PyArray_SIZE(solution[EFC_FORCE])};
  int fits;
  Py_BEGIN_ALLOW_THREADS
  fits = sap_mujoco_write_step(world, &found);
  Py_END_ALLOW_THREADS
  if (fits) {
    answer = sapwood_world_failure(world);
  } else {
    PyErr_SetString(PyExc_ValueError,
                    "v, gamma, group_gamma, spin_gamma or efc_force have another length than the "
                    "problem has");
  }
done:
  sapwood_release(solution, SOLUTION_ARRAYS);
  return close_world(world, answer);
}

const char sapwood_stepper_remember_doc[] =
    "remember($self, api, model, data, memory, /)\n--\n\n"
    "Keep in `memory`, which the last `gather` had, the contact forces that `write` had, and the\n"
    "state of the data, which the step left.";

PyObject *sapwood_stepper_remember(PyObject *self, PyObject *args) {
  PyObject *objects[3], *memory;
  sap_mujoco_world *world;
  sapwood_watch watch;
  if (!PyArg_ParseTuple(args, "OOOO:remember", &objects[0], &objects[1], &objects[2], &memory) ||
      open_world(&world, &watch, self, objects, memory) < 0) {
    return NULL;
  }
  sap_mujoco_remember(world);
  return close_world(world, Py_NewRef(Py_None));
}
