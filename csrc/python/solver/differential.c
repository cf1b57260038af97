#include "python/solver/differential.h"

#include <stddef.h>

#include "constraints/kinds/kinds.h"

/* An array of the problem with n entries; there is none if n < 0. */
typedef struct field {
  const char *name;
  double **pointer;
  npy_intp n;
} field;

enum { N_FIELDS = 20, N_GROUP_FIELDS = 5 + SAP_MOST_PARAMETERS };

static int list_fields(sapwood_differential *d, const sapwood_problem *of, int matrices,
                       field fields[N_FIELDS]) {
  const sap_problem *p = &of->problem;
  const sap_sizes *sizes = &of->sizes;
  const npy_intp contacts = p->n_contacts, spins = p->spin ? p->spin->n : -1;
  const npy_intp physical = of->is_physical ? contacts : -1;
  sap_differential *at = &d->at;
  const field all[N_FIELDS] = {
      {"A", &at->A, matrices ? (npy_intp)sizes->nA : -1},
      {"v_star", &at->v_star, (npy_intp)sizes->nv},
      {"J", &at->J, matrices ? (npy_intp)sizes->nJ : -1},
      {"mu", &at->mu, contacts},
      {"R_t", &at->R_t, contacts},
      {"R_n", &at->R_n, contacts},
      {"v_hat_n", &at->v_hat_n, contacts},
      {"v_hat_t", &at->v_hat_t, p->v_hat_t ? 2 * contacts : -1},
      {"kappa", &at->kappa, p->kappa ? contacts : -1},
      {"core_lambda", &at->barrier_lambda, p->barrier_lambda ? contacts : -1},
      {"friction_bound", &at->friction_bound, p->friction_bound ? contacts : -1},
      {"spin_J", &at->spin_J, spins < 0 ? -1 : (npy_intp)sizes->nJ_spin},
      {"spin_mu", &at->spin_mu, spins < 0 ? -1 : 3 * spins},
      {"phi0", &at->phi0, physical},
      {"k", &at->k, physical},
      {"tau_d", &at->tau_d, physical},
      {"delta", &at->delta, of->parameters.delta ? physical : -1},
      {"slip_ratio", &at->slip_ratio, of->parameters.slip_ratio ? physical : -1},
      {"dt", &d->dt, 1},
      {"sigma", &d->sigma, 1},
  };
  int n = 0;
  for (int k = 0; k < N_FIELDS; k++) {
    if (all[k].n >= 0) {
      fields[n++] = all[k];
    }
  }
  return n;
}

static int list_group_fields(sapwood_differential *d, const sapwood_problem *of, int32_t g,
                             field fields[N_GROUP_FIELDS]) {
  const sap_constraints *group = &of->problem.groups[g];
  const npy_intp n_rows = (npy_intp)sapwood_group_rows(group);
  sap_group_differential *at = &d->groups[g];
  const field all[] = {
      {"J", &at->J, PyArray_SIZE((PyArrayObject *)of->groups.J[g])},
      {"R", &at->R, n_rows},
      {"v_hat", &at->v_hat, n_rows},
      {"lower", &at->lower, n_rows},
      {"upper", &at->upper, n_rows},
  };
  int n = 0;
  for (; n < 5; n++) {
    fields[n] = all[n];
  }
  const int32_t n_parameters =
      of->groups.physical[g].parameters.value == NULL ? 0 : sap_kind_parameters(group->kind);
  for (int32_t k = 0; k < n_parameters; k++) {
    fields[n++] = (field){sap_kind_parameter(group->kind, k),
                          &d->values[(npy_intp)g * SAP_MOST_PARAMETERS + k], n_rows};
  }
  return n;
}

/* Makes room for the groups and the list of arrays. Returns 0, or -1 with MemoryError. */
static int reserve(sapwood_differential *d, const sapwood_problem *of) {
  const size_t n = (size_t)of->problem.n_groups;
  *d = (sapwood_differential){.n_slots = 0};
  d->groups = PyMem_Calloc(n + 1, sizeof *d->groups);
  d->values = PyMem_Calloc(n * SAP_MOST_PARAMETERS + 1, sizeof *d->values);
  d->slots = PyMem_Calloc(N_FIELDS + n * N_GROUP_FIELDS, sizeof *d->slots);
  if (d->groups == NULL || d->values == NULL || d->slots == NULL) {
    return sapwood_no_memory();
  }
  for (size_t g = 0; g < n; g++) {
    const int physical = of->groups.physical[g].parameters.value != NULL;
    d->groups[g].value = physical ? d->values + g * SAP_MOST_PARAMETERS : NULL;
  }
  d->at.groups = d->groups;
  return 0;
}

/* Returns a new dict of new arrays. */
static PyObject *make_arrays(sapwood_differential *d, npy_intp m, const field *fields, int n) {
  PyObject *dict = PyDict_New();
  for (int k = 0; k < n && dict != NULL; k++) {
    PyObject *array = (PyObject *)sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(m, fields[k].n));
    if (array == NULL || PyDict_SetItemString(dict, fields[k].name, array) < 0) {
      Py_XDECREF(array);
      Py_CLEAR(dict);
      break;
    }
    d->slots[d->n_slots++] = (sapwood_slot){(PyArrayObject *)array, fields[k].pointer, fields[k].n};
  }
  return dict;
}

PyObject *sapwood_differential_make(sapwood_differential *d, const sapwood_problem *of, npy_intp m,
                                    int matrices) {
  field fields[N_FIELDS], rows[N_GROUP_FIELDS];
  if (reserve(d, of) < 0) {
    return NULL;
  }
  PyObject *dict = make_arrays(d, m, fields, list_fields(d, of, matrices, fields));
  PyObject *groups = PyTuple_New(of->problem.n_groups);
  for (int32_t g = 0; g < of->problem.n_groups && groups != NULL; g++) {
    PyObject *group = make_arrays(d, m, rows, list_group_fields(d, of, g, rows));
    if (group == NULL) {
      Py_CLEAR(groups);
      break;
    }
    PyTuple_SET_ITEM(groups, g, group);
  }
  if (groups == NULL || dict == NULL || PyDict_SetItemString(dict, "constraints", groups) < 0) {
    Py_CLEAR(dict);
  }
  Py_XDECREF(groups);
  return dict;
}

/* Reads the arrays of a dict; with `strict` any other name in it is an error. */
static int read_arrays(sapwood_differential *d, npy_intp m, const field *fields, int n,
                       PyObject *dict, sapwood_rule rule, int strict) {
  Py_ssize_t found = 0;
  PyObject *object;
  for (int k = 0; k < n; k++) {
    if (sapwood_item(dict, fields[k].name, &object) < 0) {
      return -1;
    }
    if (object == NULL) {
      continue;
    }
    PyArrayObject *array =
        sapwood_as_float64(object, fields[k].name, SAPWOOD_SHAPE(m, fields[k].n), rule);
    if (array == NULL) {
      return -1;
    }
    d->slots[d->n_slots++] = (sapwood_slot){array, fields[k].pointer, fields[k].n};
    ++found;
  }
  if (sapwood_item(dict, "constraints", &object) < 0) {
    return -1;
  }
  found += object != NULL;
  if (strict && found < PyDict_GET_SIZE(dict)) {
    return SAPWOOD_FAIL(PyExc_ValueError, "a change must be of numbers that the problem has");
  }
  return 0;
}

int sapwood_differential_read(sapwood_differential *d, const sapwood_problem *of, npy_intp m,
                              PyObject *dict, sapwood_rule rule, int strict) {
  field fields[N_FIELDS], rows[N_GROUP_FIELDS];
  PyObject *groups;
  if (reserve(d, of) < 0 ||
      read_arrays(d, m, fields, list_fields(d, of, 1, fields), dict, rule, strict) < 0 ||
      sapwood_item(dict, "constraints", &groups) < 0) {
    return -1;
  }
  if (groups == NULL) {
    return 0;
  }
  if (!PyTuple_Check(groups) || PyTuple_GET_SIZE(groups) != of->problem.n_groups) {
    return SAPWOOD_FAIL(PyExc_ValueError, "constraints must be one per group: %d",
                        (int)of->problem.n_groups);
  }
  for (int32_t g = 0; g < of->problem.n_groups; g++) {
    PyObject *group = PyTuple_GET_ITEM(groups, g);
    if (!PyDict_Check(group) ||
        read_arrays(d, m, rows, list_group_fields(d, of, g, rows), group, rule, strict) < 0) {
      if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "constraints must be dicts");
      }
      return -1;
    }
  }
  return 0;
}

void sapwood_differential_point(sapwood_differential *d, npy_intp i) {
  for (int k = 0; k < d->n_slots; k++) {
    const sapwood_slot *slot = &d->slots[k];
    *slot->pointer = sapwood_doubles(slot->array) + i * slot->n;
  }
}

void sapwood_differential_clear(sapwood_differential *d) {
  for (int k = 0; k < d->n_slots; k++) {
    Py_DECREF(d->slots[k].array);
  }
  PyMem_Free(d->slots);
  PyMem_Free(d->groups);
  PyMem_Free(d->values);
}
