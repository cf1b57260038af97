/* _core.SolutionValues: the values of a Solution, as the core wrote them.
 *
 * sapwood.Solution is a dataclass derived from it without memory of its own: a solve fills one
 * object of C, and its numbers become Python objects when they are read. */
#include "python/solver/solution.h"
#include "python/parts.h"

#include <stddef.h>
#include <structmember.h>

#include "python/errors.h"
#include "python/mutex.h"
#include "python/problem/py_groups.h"

typedef struct solution_values {
  PyObject_HEAD
  /* objects, from v to to_algorithm: see object_at() */
  PyObject *v, *gamma, *v_c, *regions, *status, *history, *constraints, *core_scale, *spin_gamma,
      *spin_v_c;
  PyObject *timing;       /* NULL until it is first read */
  PyObject *sensitivity;  /* NULL unless the solve was asked for it */
  PyObject *islands;      /* (n_trees, 8) uint8, the reports of its islands, or NULL */
  PyObject *algorithm;    /* NULL until it is first read */
  PyObject *to_algorithm; /* callable that makes it from the reports */
  sap_solution s;         /* numbers of the solution */
  double seconds;
  char symbolic_reused;
} solution_values;

/* ---- rows of the groups --------------------------------------------------------------------- */

/* Returns a new array (n): 1 if the impulse lies between its bounds. */
static PyObject *active_rows(const sap_constraints *group, const double *gamma, npy_intp n) {
  PyObject *active = PyArray_SimpleNew(1, &n, NPY_BOOL);
  if (active != NULL) {
    npy_bool *rows = (npy_bool *)PyArray_DATA((PyArrayObject *)active);
    for (npy_intp i = 0; i < n; i++) {
      rows[i] = group->lower[i] < gamma[i] && gamma[i] < group->upper[i];
    }
  }
  return active;
}

/* Returns a new tuple with the ConstraintSolution (gamma, v_c, active) of each group. The first two
 * are parts of the arrays of all rows. */
static PyObject *group_tuple(const sapwood_state *state, const sapwood_result *result,
                             const sap_problem *problem) {
  PyArrayObject *gamma = result->array[SAPWOOD_GROUP_GAMMA];
  PyArrayObject *v_c = result->array[SAPWOOD_GROUP_V_C];
  const int32_t n = gamma == NULL ? 0 : problem->n_groups;
  PyObject *groups = PyTuple_New(n);
  Py_ssize_t begin = 0;
  for (int32_t k = 0; k < n && groups != NULL; k++) {
    const sap_constraints *group = &problem->groups[k];
    const Py_ssize_t end = begin + (Py_ssize_t)sapwood_group_rows(group);
    PyObject *arrays =
        Py_BuildValue("(NNN)", PySequence_GetSlice((PyObject *)gamma, begin, end),
                      PySequence_GetSlice((PyObject *)v_c, begin, end),
                      active_rows(group, sapwood_doubles(gamma) + begin, end - begin));
    PyObject *entry =
        arrays == NULL ? NULL : PyObject_CallObject((PyObject *)state->group_type, arrays);
    Py_XDECREF(arrays);
    if (entry == NULL) {
      Py_CLEAR(groups);
      break;
    }
    PyTuple_SET_ITEM(groups, k, entry);
    begin = end;
  }
  return groups;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static PyObject *object_or_none(PyArrayObject *array) {
  return Py_NewRef(array == NULL ? Py_None : (PyObject *)array);
}

PyObject *sapwood_solution(const sapwood_state *state, const sapwood_result *result,
                           const sap_problem *problem, double seconds,
                           const sapwood_records *records) {
  if (state->statuses == NULL) {
    return PyErr_Format(PyExc_RuntimeError, "sapwood.solution must be imported first");
  }
  PyObject *history = sapwood_history(state, records);
  PyObject *groups = history == NULL ? NULL : group_tuple(state, result, problem);
  PyTypeObject *type = state->solution_type;
  solution_values *self = groups == NULL ? NULL : (solution_values *)type->tp_alloc(type, 0);
  if (self == NULL) {
    Py_XDECREF(groups);
    Py_XDECREF(history);
    return NULL;
  }
  PyArrayObject *const *array = result->array;
  self->v = object_or_none(array[SAPWOOD_V]);
  self->gamma = object_or_none(array[SAPWOOD_GAMMA]);
  self->v_c = object_or_none(array[SAPWOOD_V_C]);
  self->regions = object_or_none(array[SAPWOOD_REGIONS]);
  self->status = Py_NewRef(PyTuple_GET_ITEM(state->statuses, result->solution.outcome));
  self->history = history;
  self->constraints = groups;
  self->core_scale = object_or_none(array[SAPWOOD_CORE_SCALE]);
  self->spin_gamma = object_or_none(array[SAPWOOD_SPIN_GAMMA]);
  self->spin_v_c = object_or_none(array[SAPWOOD_SPIN_V_C]);
  self->islands = Py_XNewRef(array[SAPWOOD_ISLANDS]);
  self->to_algorithm = Py_NewRef(state->island_algorithms);
  self->s = result->solution;
  self->seconds = seconds;
  self->symbolic_reused = result->solution.symbolic_reused != 0;
  return (PyObject *)self;
}

/* ---- type ----------------------------------------------------------------------------------- */

/* Replaces an object of a solution; NULL is allowed. */
static void replace(PyObject *owner, PyObject **place, PyObject *value) {
  PyObject *before;
  SAPWOOD_BEGIN_SECTION(owner);
  before = *place;
  *place = Py_XNewRef(value);
  SAPWOOD_END_SECTION();
  Py_XDECREF(before);
}

static PyObject *get_timing(PyObject *object, void *Py_UNUSED(unused)) {
  solution_values *self = (solution_values *)object;
  PyObject *timing;
  SAPWOOD_BEGIN_SECTION(object);
  if (self->timing == NULL) {
    self->timing =
        Py_BuildValue("{s:d,s:d,s:d,s:d,s:d}", "assembly", self->s.assembly_seconds, "factor",
                      self->s.factor_seconds, "line_search", self->s.line_search_seconds,
                      "symbolic", self->s.symbolic_seconds, "seconds", self->seconds);
  }
  timing = Py_XNewRef(self->timing);
  SAPWOOD_END_SECTION();
  return timing;
}

static int set_timing(PyObject *object, PyObject *value, void *Py_UNUSED(unused)) {
  replace(object, &((solution_values *)object)->timing, value);
  return 0;
}

/* Returns the algorithm that the reports of the islands tell of. */
static PyObject *make_algorithm(const solution_values *self) {
  if (self->islands == NULL) {
    return PyErr_Format(PyExc_AttributeError, "algorithm");
  }
  PyObject *reports = PySequence_GetSlice(self->islands, 0, self->s.n_islands);
  PyObject *made = reports == NULL ? NULL : PyObject_CallOneArg(self->to_algorithm, reports);
  Py_XDECREF(reports);
  return made;
}

static PyObject *get_algorithm(PyObject *object, void *Py_UNUSED(unused)) {
  solution_values *self = (solution_values *)object;
  PyObject *algorithm;
  SAPWOOD_BEGIN_SECTION(object);
  algorithm = Py_XNewRef(self->algorithm);
  if (algorithm == NULL && (algorithm = make_algorithm(self)) != NULL) {
    Py_XSETREF(self->algorithm, Py_NewRef(algorithm)); /* another thread may have made one */
  }
  SAPWOOD_END_SECTION();
  return algorithm;
}

static int set_algorithm(PyObject *object, PyObject *value, void *Py_UNUSED(unused)) {
  replace(object, &((solution_values *)object)->algorithm, value);
  return 0;
}

/* The objects of a solution, by number. */
#define FIRST offsetof(solution_values, v)
#define LAST offsetof(solution_values, to_algorithm)
enum { N_OBJECTS = (LAST - FIRST) / sizeof(PyObject *) + 1 };

static PyObject **object_at(PyObject *self, int i) {
  return (PyObject **)((char *)self + FIRST) + i;
}

static int values_clear(PyObject *self) {
  for (int i = 0; i < N_OBJECTS; i++) {
    Py_CLEAR(*object_at(self, i));
  }
  return 0;
}

static int values_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  for (int i = 0; i < N_OBJECTS; i++) {
    Py_VISIT(*object_at(self, i));
  }
  return 0;
}

/* Returns a new solution with the same values and this sensitivity. */
static PyObject *with_sensitivity(PyObject *object, PyObject *sensitivity) {
  const solution_values *from = (const solution_values *)object;
  PyObject *made = Py_TYPE(object)->tp_alloc(Py_TYPE(object), 0);
  if (made == NULL) {
    return NULL;
  }
  for (int i = 0; i < N_OBJECTS; i++) {
    *object_at(made, i) = Py_XNewRef(*object_at(object, i));
  }
  solution_values *self = (solution_values *)made;
  Py_XSETREF(self->sensitivity, Py_NewRef(sensitivity));
  self->s = from->s;
  self->seconds = from->seconds;
  self->symbolic_reused = from->symbolic_reused;
  return made;
}

static PyMethodDef methods[] = {
    {"_with_sensitivity", with_sensitivity, METH_O, "A copy that holds this sensitivity."},
    {NULL, NULL, 0, NULL}};

static void values_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  values_clear(object);
  sapwood_free_object(object);
}

/* The members are writable for the dataclass, which is frozen. */
#define VALUE(name, kind, place, text) {#name, kind, offsetof(solution_values, place), 0, text}
#define ARRAY(name, text) VALUE(name, T_OBJECT_EX, name, text)
#define COUNT(name, text) VALUE(name, T_INT, s.name, text)
#define NUMBER(name, text) VALUE(name, T_DOUBLE, s.name, text)

_Static_assert(sizeof(int) == sizeof(int32_t), "T_INT is not int32_t");

static PyMemberDef members[] = {
    ARRAY(v, "next velocity (nv)"),
    ARRAY(gamma, "contact impulses (n_contacts, 3)"),
    ARRAY(v_c, "contact velocities (n_contacts, 3)"),
    ARRAY(regions, "region of each contact (n_contacts) int8"),
    ARRAY(status, "how the solve ended"),
    ARRAY(history, "a record per iteration, or None"),
    ARRAY(constraints, "impulses of each group of constraints"),
    ARRAY(core_scale, "delta used over that given (n_contacts), or None"),
    ARRAY(spin_gamma, "impulses about (n, t1, t2) (n_spins, 3), or None"),
    ARRAY(spin_v_c, "angular velocities about (n, t1, t2) (n_spins, 3), or None"),
    VALUE(sensitivity, T_OBJECT, sensitivity, "the problem linearized at v, or None"),
    COUNT(iterations, "of the island that took most"),
    COUNT(total_iterations, "of all islands"),
    COUNT(line_search_trials, "evaluations of all line searches"),
    COUNT(n_islands, "islands of the graph"),
    COUNT(proximal_solves, "solves of the proximal iteration, else 0"),
    COUNT(tree, "where the factorization broke down, else -1"),
    NUMBER(momentum_error, "e_m (24)"),
    NUMBER(complementarity_error, "e_mu (25)"),
    NUMBER(velocity_error_bound, "bound on |v - v_min|_A, sqrt(J)"),
    NUMBER(coulomb_error, "e_c, dimensionless; NaN for convex friction"),
    NUMBER(natural_residual, "|F| over |gamma| of proximal solves, else NaN"),
    NUMBER(cost_gap_bound, "bound on the cost above its minimum, J"),
    NUMBER(cost, "l_p(v), J"),
    VALUE(symbolic_reused, T_BOOL, symbolic_reused, "the graph was that of the call before"),
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef getters[] = {
    {"timing", get_timing, set_timing, "dict of seconds by phase", NULL},
    {"algorithm", get_algorithm, set_algorithm, "IslandAlgorithm of each island", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyDoc_STRVAR(values_doc,
             "SolutionValues()\n--\n\n"
             "The fields of a sapwood.Solution.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)values_doc},
                              {Py_tp_new, (void *)PyType_GenericNew},
                              {Py_tp_dealloc, (void *)values_dealloc},
                              {Py_tp_traverse, (void *)values_traverse},
                              {Py_tp_clear, (void *)values_clear},
                              {Py_tp_methods, methods},
                              {Py_tp_members, members},
                              {Py_tp_getset, getters},
                              {0, NULL}};

static PyType_Spec spec =
    SAPWOOD_SPEC("SolutionValues", solution_values, Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC);

enum {
  N_MEMBERS = sizeof members / sizeof *members - 1,
  N_GETTERS = sizeof getters / sizeof *getters - 1
};

static const char *slot_name(Py_ssize_t i) {
  return i < N_MEMBERS ? members[i].name : getters[i - N_MEMBERS].name;
}

int sapwood_add_solution(PyObject *module) {
  sapwood_state *state = sapwood_state_of_module(module);
  /* dataclasses read them as the slots of a class */
  PyObject *names = sapwood_make_names(N_MEMBERS + N_GETTERS, slot_name);
  state->values_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
  const int failed =
      names == NULL || state->values_type == NULL ||
      PyObject_SetAttrString((PyObject *)state->values_type, "__slots__", names) < 0 ||
      PyModule_AddType(module, state->values_type) < 0;
  Py_XDECREF(names);
  return failed ? -1 : 0;
}
