/* _core.InverseDynamics: a solver with the arguments of its controller. */
#include "python/parts.h"

#include "python/arrays.h"
#include "python/errors.h"
#include "python/lock.h"
#include "python/state.h"

typedef struct controller {
  PyObject_HEAD
  invdyn_solver *solver;
  sapwood_lock lock;
  invdyn_settings settings;
  double dt;
  PyArrayObject *actuated, *torque_limit; /* torque_limit may be NULL */
} controller;

static const char *const controllers[] = {"lcp_noslip", "lcp_coulomb", "qp_noslip", "qp_coulomb",
                                          "one_stage",  "lcp_nearest", NULL};
static const char *const forms[] = {"contact_consistent", "paper", NULL};

/* ---- life ----------------------------------------------------------------------------------- */

static int read_settings(PyObject *args, controller *self) {
  PyObject *actuated, *name, *form, *limit;
  invdyn_settings *settings = &self->settings;
  if (!PyArg_ParseTuple(args, "OdOOiiOdddd:InverseDynamics", &actuated, &self->dt, &name, &form,
                        &settings->edges, &settings->nearest, &limit,
                        &settings->torque_regularization, &settings->force_regularization,
                        &settings->smoothing, &settings->rank_tolerance)) {
    return -1;
  }
  const int which = sapwood_as_choice(name, "controller", controllers);
  const int stage_one = which < 0 ? -1 : sapwood_as_choice(form, "stage_one", forms);
  if (stage_one < 0 || (self->actuated = sapwood_as_int32(actuated, "actuated", -1)) == NULL) {
    return -1;
  }
  settings->controller = (invdyn_controller)which;
  settings->stage_one = (invdyn_stage_one)stage_one;
  if (limit != Py_None) {
    self->torque_limit =
        sapwood_as_vector(limit, "torque_limit", PyArray_DIM(self->actuated, 0), SAPWOOD_ANY);
    if (self->torque_limit == NULL) {
      return -1;
    }
  }
  sap_error error = {0};
  return sapwood_raise(invdyn_settings_check(settings, &error), &error);
}

static PyObject *controller_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  const sapwood_state *state = sapwood_state_of_type(type);
  if (state == NULL || sapwood_refuse_keywords(keywords, "InverseDynamics") < 0) {
    return NULL;
  }
  controller *self = (controller *)type->tp_alloc(type, 0);
  sap_error error = {0};
  if (self != NULL &&
      (read_settings(args, self) < 0 || sapwood_lock_make(&self->lock, &state->forks) < 0 ||
       sapwood_raise(invdyn_create(&self->solver, NULL, &error), &error) < 0)) {
    Py_CLEAR(self);
  }
  return (PyObject *)self;
}

static void controller_dealloc(PyObject *object) {
  controller *self = (controller *)object;
  if (!sapwood_lock_is_lost(&self->lock)) {
    invdyn_destroy(self->solver);
  }
  sapwood_lock_free(&self->lock);
  Py_XDECREF(self->actuated);
  Py_XDECREF(self->torque_limit);
  sapwood_free_object(object);
}

static int renew(void *owner) {
  controller *self = owner;
  invdyn_solver *fresh;
  if (sapwood_raise(invdyn_create(&fresh, NULL, NULL), NULL) < 0) {
    return -1;
  }
  self->solver = fresh;
  return 0;
}

/* ---- solve ---------------------------------------------------------------------------------- */

/* Arguments of a call in their order, and new arrays for the results. */
enum { M, H, V, QDD, J_N, J_T, MU, PHI, IDS, N_ARGUMENTS };
enum { TAU, FORCES, V_PLUS, SLACK, STATES, N_RESULTS };
typedef struct arrays {
  PyArrayObject *in[N_ARGUMENTS], *out[N_RESULTS];
} arrays;

static void release(arrays *of) {
  sapwood_release(of->in, N_ARGUMENTS);
  sapwood_release(of->out, N_RESULTS);
}

static int read_ids(PyObject *object, npy_intp n, PyArrayObject **ids) {
  PyArrayObject *given = (PyArrayObject *)PyArray_FROM_O(object);
  if (given == NULL) {
    return -1;
  }
  if (!PyTypeNum_ISINTEGER(PyArray_TYPE(given)) || PyArray_NDIM(given) != 1 ||
      PyArray_DIM(given, 0) != n) {
    PyErr_Format(PyExc_ValueError, "ids must hold %zd integers", (Py_ssize_t)n);
    Py_DECREF(given);
    return -1;
  }
  *ids = (PyArrayObject *)PyArray_FROM_OTF((PyObject *)given, NPY_INT64,
                                           NPY_ARRAY_IN_ARRAY | NPY_ARRAY_FORCECAST);
  Py_DECREF(given);
  return *ids == NULL ? -1 : 0;
}

static int read_arguments(const controller *self, PyObject *const *args, arrays *of) {
  /* lengths follow from v and mu; the core checks the values */
  if ((of->in[V] = sapwood_as_vector(args[V], "v", -1, SAPWOOD_ANY)) == NULL ||
      (of->in[MU] = sapwood_as_vector(args[MU], "mu", -1, SAPWOOD_ANY)) == NULL) {
    return -1;
  }
  const npy_intp m = PyArray_DIM(of->in[V], 0), n = PyArray_DIM(of->in[MU], 0);
  const npy_intp n_q = PyArray_DIM(self->actuated, 0);
  const sapwood_argument given[] = {SAPWOOD_ARGUMENT(M, "M", m, m),
                                    SAPWOOD_ARGUMENT(H, "h", m),
                                    SAPWOOD_ARGUMENT(QDD, "qdd_desired", n_q),
                                    SAPWOOD_ARGUMENT(J_N, "J_n", n, m),
                                    SAPWOOD_ARGUMENT(J_T, "J_t", n, 2, m),
                                    SAPWOOD_OPTIONAL(PHI, "phi", n)};
  if (sapwood_read_all(of->in, args, given, 6) < 0) {
    return -1;
  }
  if (m > INT32_MAX || n > INT32_MAX) {
    return sapwood_value_error(m > n ? "v" : "mu", -1, Py_NAN, "is too long");
  }
  return args[IDS] == Py_None ? 0 : read_ids(args[IDS], n, &of->in[IDS]);
}

static int make_results(arrays *of, npy_intp m, npy_intp n, npy_intp n_q) {
  const sapwood_layout layouts[N_RESULTS] = {{NPY_DOUBLE, 1, {n_q}},
                                             {NPY_DOUBLE, 2, {n, 3}},
                                             {NPY_DOUBLE, 1, {m}},
                                             {NPY_DOUBLE, 1, {n_q}},
                                             {NPY_INT8, 1, {n}}};
  return sapwood_new_all(of->out, layouts, N_RESULTS);
}

static invdyn_problem problem_of(const controller *self, const arrays *of) {
  return (invdyn_problem){
      .m = (int32_t)PyArray_DIM(of->in[V], 0),
      .n_q = (int32_t)PyArray_DIM(self->actuated, 0),
      .n = (int32_t)PyArray_DIM(of->in[MU], 0),
      .dt = self->dt,
      .actuated = sapwood_int32s(self->actuated),
      .M = sapwood_doubles(of->in[M]),
      .h = sapwood_doubles(of->in[H]),
      .v = sapwood_doubles(of->in[V]),
      .qdd = sapwood_doubles(of->in[QDD]),
      .J_n = sapwood_doubles(of->in[J_N]),
      .J_t = sapwood_doubles(of->in[J_T]),
      .mu = sapwood_doubles(of->in[MU]),
      .phi = sapwood_optional_doubles(of->in[PHI]),
      .torque_limit = sapwood_optional_doubles(self->torque_limit),
      .ids = of->in[IDS] == NULL ? NULL : (const int64_t *)PyArray_DATA(of->in[IDS]),
  };
}

PyDoc_STRVAR(solve_doc,
             "solve($self, M, h, v, qdd_desired, J_n, J_t, mu, phi, ids, /)\n--\n\n"
             "Tuple of outcome, tau, forces, v_plus, slack, states, residuals, pivots and\n"
             "regularization. See sapwood.invdyn.");

static PyObject *controller_solve(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
  controller *self = (controller *)object;
  arrays of = {0};
  PyObject *result = NULL;
  if (n_args != N_ARGUMENTS) {
    return PyErr_Format(PyExc_TypeError, "solve takes %d arguments", N_ARGUMENTS);
  }
  if (sapwood_lock_be_ready(&self->lock, renew, self) < 0 || read_arguments(self, args, &of) < 0) {
    goto done;
  }
  const invdyn_problem problem = problem_of(self, &of);
  if (make_results(&of, problem.m, problem.n, problem.n_q) < 0) {
    goto done;
  }
  invdyn_solution solution = {.tau = sapwood_doubles(of.out[TAU]),
                              .forces = sapwood_doubles(of.out[FORCES]),
                              .v_plus = sapwood_doubles(of.out[V_PLUS]),
                              .slack = sapwood_doubles(of.out[SLACK]),
                              .states = PyArray_DATA(of.out[STATES])};
  sap_error error = {0};
  sap_status status;
  SAPWOOD_BEGIN_LOCKED(&self->lock)
  status = invdyn_solve(self->solver, &self->settings, &problem, &solution, &error);
  SAPWOOD_END_LOCKED(&self->lock)
  if (sapwood_raise(status, &error) == 0) {
    const invdyn_residuals *r = &solution.residuals;
    result =
        Py_BuildValue("(iOOOOO(ddddddddd)id)", solution.outcome, of.out[TAU], of.out[FORCES],
                      of.out[V_PLUS], of.out[SLACK], of.out[STATES], r->dynamics, r->acceleration,
                      r->penetration, r->complementarity, r->tension, r->cone, r->slip, r->friction,
                      r->torque, solution.pivots, solution.regularization);
  }
done:
  release(&of);
  return result;
}

/* ---- the type ------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"solve", SAPWOOD_FAST(controller_solve), METH_FASTCALL, solve_doc},
                                {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(controller_doc,
             "InverseDynamics(actuated, dt, controller, stage_one, edges, nearest, torque_limit, "
             "torque_regularization, force_regularization, smoothing, rank_tolerance, /)\n--\n\n"
             "A controller with its workspace. See sapwood.invdyn.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)controller_doc},
                              {Py_tp_new, (void *)controller_new},
                              {Py_tp_dealloc, (void *)controller_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = SAPWOOD_SPEC("InverseDynamics", controller, Py_TPFLAGS_IMMUTABLETYPE);

int sapwood_add_inverse_dynamics(PyObject *module) { return sapwood_add_type(module, &spec, NULL); }
