#include "python/problem/py_groups.h"

#include <string.h>

#include "constraints/kinds/kinds.h"
#include "problem/groups.h"
#include "python/errors.h"

/* entries of the tuple of a group */
enum { KIND, SIZE, TREE_A, TREE_B, JACOBIAN, GIVEN, PARAMETERS, BETA, N_ENTRIES };
enum { N_BOUNDS = 4 };
static const char *const bound_names[N_BOUNDS] = {"R", "v_hat", "lower", "upper"};

int64_t sapwood_group_rows(const sap_constraints *group) {
  int64_t n_rows = 0;
  for (int32_t i = 0; i < group->n; ++i) {
    n_rows += sap_rows_of(group, i);
  }
  return n_rows;
}

/* ---- trees ---------------------------------------------------------------------------------- */

static int read_kind(PyObject *object, int32_t k, sap_kind *kind) {
  const char *names[SAP_N_KINDS + 1] = {NULL};
  for (int i = 0; i < SAP_N_KINDS; ++i) {
    names[i] = sap_kind_name((sap_kind)i);
  }
  char name[SAPWOOD_NAME_LENGTH];
  const int chosen = sapwood_as_choice(object, sapwood_group_name(name, k, "kind"), names);
  *kind = (sap_kind)chosen;
  return chosen < 0 ? -1 : 0;
}

/* Makes private copies of size, tree_a and tree_b of group k. */
static int read_indices(sapwood_groups *groups, int32_t k, PyObject *entry) {
  static const char *const names[] = {"size", "tree_a", "tree_b"};
  sap_constraints *group = &groups->group[k];
  npy_intp n = -1;
  for (int a = 0; a < 3; ++a) {
    char name[SAPWOOD_NAME_LENGTH];
    PyArrayObject *array = sapwood_as_int32(PyTuple_GET_ITEM(entry, SIZE + a),
                                            sapwood_group_name(name, k, names[a]), n);
    if (array == NULL) {
      return -1;
    }
    if (a == 0) {
      n = PyArray_DIM(array, 0);
      groups->indices[k] =
          n > INT32_MAX ? NULL : PyMem_Malloc((3 * (size_t)n + 1) * sizeof(int32_t));
      if (groups->indices[k] == NULL) {
        Py_DECREF(array);
        return sapwood_no_memory();
      }
    }
    if (n > 0) {
      memcpy(groups->indices[k] + a * n, sapwood_int32s(array), (size_t)n * sizeof(int32_t));
    }
    Py_DECREF(array);
  }
  group->n = (int32_t)n;
  group->size = groups->indices[k];
  group->tree_a = group->size + n;
  group->tree_b = group->tree_a + n;
  return read_kind(PyTuple_GET_ITEM(entry, KIND), k, &group->kind);
}

int sapwood_groups_read_trees(sapwood_groups *groups, PyObject *tuple, sap_problem *problem) {
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  if (n == 0) {
    return 0;
  }
  groups->group = PyMem_Calloc((size_t)n, sizeof *groups->group);
  groups->indices = PyMem_Calloc((size_t)n, sizeof *groups->indices);
  groups->J = PyMem_Calloc((size_t)n, sizeof *groups->J);
  groups->physical = PyMem_Calloc((size_t)n, sizeof *groups->physical);
  groups->parameters = PyMem_Calloc((size_t)n, sizeof *groups->parameters);
  groups->values = PyMem_Calloc((size_t)n * SAP_MOST_PARAMETERS, sizeof *groups->values);
  if (groups->group == NULL || groups->indices == NULL || groups->J == NULL ||
      groups->physical == NULL || groups->parameters == NULL || groups->values == NULL) {
    return sapwood_no_memory();
  }
  groups->n = (int32_t)n;
  for (int32_t k = 0; k < groups->n; ++k) {
    PyObject *entry = PyTuple_GET_ITEM(tuple, k);
    if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) != N_ENTRIES) {
      return SAPWOOD_FAIL(PyExc_TypeError, "groups[%d] must be a tuple of %d", (int)k, N_ENTRIES);
    }
    if (read_indices(groups, k, entry) < 0) {
      return -1;
    }
  }
  problem->n_groups = groups->n;
  problem->groups = groups->group;
  return 0;
}

/* ---- values --------------------------------------------------------------------------------- */

/* Reads the named vectors from a tuple of as many objects. Returns 0, or -1 with an exception and
 * no arrays. */
static int read_vectors(PyObject *tuple, int32_t k, int n, const char *const *names, int64_t n_rows,
                        PyArrayObject **arrays) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != n) {
    return SAPWOOD_FAIL(PyExc_TypeError, "groups[%d] must have a tuple of %d arrays", (int)k, n);
  }
  for (int a = 0; a < n; ++a) {
    char name[SAPWOOD_NAME_LENGTH];
    arrays[a] = sapwood_as_vector(PyTuple_GET_ITEM(tuple, a), sapwood_group_name(name, k, names[a]),
                                  (npy_intp)n_rows, SAPWOOD_ANY);
    if (arrays[a] == NULL) {
      while (a-- > 0) {
        Py_CLEAR(arrays[a]);
      }
      return -1;
    }
  }
  return 0;
}

/* Finds R, v_hat, lower and upper from the parameters of group k, in new arrays. */
static int regularize(sapwood_groups *groups, int32_t k, PyObject *parameters, double beta,
                      const sap_problem *problem, const sap_parameters *step,
                      const struct sap_masses *masses, PyArrayObject **bounds) {
  const sap_constraints *group = &groups->group[k];
  const int n = sap_kind_parameters(group->kind);
  npy_intp n_rows = (npy_intp)sapwood_group_rows(group);
  const char *names[SAP_MOST_PARAMETERS];
  const double **value = groups->values + (Py_ssize_t)k * SAP_MOST_PARAMETERS;
  PyArrayObject *arrays[SAP_MOST_PARAMETERS] = {NULL};
  for (int p = 0; p < n; ++p) {
    names[p] = sap_kind_parameter(group->kind, p);
  }
  if (read_vectors(parameters, k, n, names, n_rows, arrays) < 0) {
    return -1;
  }
  groups->parameters[k] = PyTuple_New(n);
  int failed = groups->parameters[k] == NULL;
  for (int p = 0; p < n; ++p) {
    value[p] = sapwood_doubles(arrays[p]);
    if (groups->parameters[k] == NULL) {
      Py_DECREF(arrays[p]);
    } else {
      PyTuple_SET_ITEM(groups->parameters[k], p, (PyObject *)arrays[p]);
    }
  }
  for (int b = 0; b < N_BOUNDS; ++b) {
    bounds[b] = sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(n_rows));
    failed |= bounds[b] == NULL;
  }
  if (!failed) {
    groups->physical[k] = (sap_group_regularization){{.dt = step->dt,
                                                      .sigma = step->sigma,
                                                      .beta = beta,
                                                      .delassus = step->delassus,
                                                      .value = value},
                                                     sapwood_doubles(bounds[0]),
                                                     sapwood_doubles(bounds[1]),
                                                     sapwood_doubles(bounds[2]),
                                                     sapwood_doubles(bounds[3])};
    sap_error error = {0};
    sap_status status;
    Py_BEGIN_ALLOW_THREADS
    status = sap_regularize_rows(problem, group, &groups->physical[k], masses, &error);
    Py_END_ALLOW_THREADS
    error.group = k;
    failed = sapwood_raise(status, &error);
  }
  return failed ? -1 : 0;
}

/* Returns a read-only view; steals the reference. */
static PyObject *read_only(PyArrayObject *array) {
  PyObject *view = PyArray_View(array, NULL, NULL);
  Py_DECREF(array);
  if (view != NULL) {
    PyArray_CLEARFLAGS((PyArrayObject *)view, NPY_ARRAY_WRITEABLE);
  }
  return view;
}

/* Keeps the four arrays, which are stolen, and points the group at them. */
static int keep_bounds(sapwood_groups *groups, int32_t k, PyArrayObject **bounds) {
  sap_constraints *group = &groups->group[k];
  const double **pointers[N_BOUNDS] = {&group->R, &group->v_hat, &group->lower, &group->upper};
  PyObject *tuple = PyTuple_New(N_BOUNDS);
  for (int b = 0; b < N_BOUNDS; ++b) {
    PyObject *view = read_only(bounds[b]);
    bounds[b] = NULL;
    if (view == NULL || tuple == NULL) {
      Py_XDECREF(view);
      Py_CLEAR(tuple);
      continue;
    }
    *pointers[b] = sapwood_doubles((PyArrayObject *)view);
    PyTuple_SET_ITEM(tuple, b, view);
  }
  if (tuple == NULL) {
    return -1;
  }
  PyTuple_SET_ITEM(groups->bounds, k, tuple);
  return 0;
}

static int64_t jacobian_length(const sap_constraints *group, const int32_t *tree_nv) {
  int64_t length = 0;
  for (int32_t i = 0; i < group->n; ++i) {
    const int64_t n_b = group->tree_b[i] < 0 ? 0 : tree_nv[group->tree_b[i]];
    length += group->size[i] * (tree_nv[group->tree_a[i]] + n_b);
  }
  return length;
}

static int read_group(sapwood_groups *groups, int32_t k, PyObject *entry,
                      const sap_problem *problem, const sap_parameters *step,
                      const struct sap_masses *masses) {
  sap_constraints *group = &groups->group[k];
  char name[SAPWOOD_NAME_LENGTH];
  PyArrayObject *J =
      sapwood_as_vector(PyTuple_GET_ITEM(entry, JACOBIAN), sapwood_group_name(name, k, "J"),
                        (npy_intp)jacobian_length(group, problem->tree_nv), SAPWOOD_ANY);
  if (J == NULL) {
    return -1;
  }
  groups->J[k] = (PyObject *)J;
  group->J = sapwood_doubles(J);

  PyArrayObject *bounds[N_BOUNDS] = {NULL};
  PyObject *given = PyTuple_GET_ITEM(entry, GIVEN);
  int failed;
  if (given == Py_None) {
    double beta;
    failed = sapwood_as_double(PyTuple_GET_ITEM(entry, BETA), sapwood_group_name(name, k, "beta"),
                               SAPWOOD_NON_NEGATIVE, &beta) < 0 ||
             regularize(groups, k, PyTuple_GET_ITEM(entry, PARAMETERS), beta, problem, step, masses,
                        bounds) < 0;
  } else {
    failed = read_vectors(given, k, N_BOUNDS, bound_names, sapwood_group_rows(group), bounds);
  }
  if (failed) {
    sapwood_release(bounds, N_BOUNDS);
    return -1;
  }
  return keep_bounds(groups, k, bounds);
}

int sapwood_groups_read_values(sapwood_groups *groups, PyObject *tuple, const sap_problem *problem,
                               const sap_parameters *step, const struct sap_masses *masses) {
  groups->bounds = PyTuple_New(groups->n);
  if (groups->bounds == NULL) {
    return -1;
  }
  for (int32_t k = 0; k < groups->n; ++k) {
    if (read_group(groups, k, PyTuple_GET_ITEM(tuple, k), problem, step, masses) < 0) {
      return -1;
    }
  }
  return 0;
}

void sapwood_groups_clear(sapwood_groups *groups) {
  for (int32_t k = 0; k < groups->n; ++k) {
    PyMem_Free(groups->indices[k]);
    Py_XDECREF(groups->J[k]);
    Py_XDECREF(groups->parameters[k]);
  }
  PyMem_Free(groups->group);
  PyMem_Free(groups->indices);
  PyMem_Free(groups->J);
  PyMem_Free(groups->physical);
  PyMem_Free(groups->parameters);
  PyMem_Free(groups->values);
  Py_XDECREF(groups->bounds);
}
