#include "python/stepper/arrays.h"

#include <math.h>

/* ---- positions in the tuples --------------------------------------------------------------- */

enum {
  QVEL,
  MASS,
  CDOF,
  SUBTREE_COM,
  QFRC_SMOOTH,
  QACC_SMOOTH,
  QDERIV,
  GEOM_XPOS,
  GEOM_XMAT,
  N_STATE
};
enum { DIST, POS, FRAME, FRICTION, SURFACEVEL, DIM, GEOM, EXCLUDE, ROW, N_CONTACT };
enum { KBIP = N_CONTACT, N_CONTACTS }; /* the fields of a contact, and constants of all rows */
enum { QACC, QFRC_CONSTRAINT, EFC_FORCE, N_OUTPUT };
_Static_assert(N_STATE + N_CONTACTS + N_OUTPUT + SAPWOOD_ELEMENT_ARRAYS == SAPWOOD_STEP_ARRAYS,
               "room for every array");

/* columns of the fields of a contact; 0 for a plain vector */
static const struct {
  const char *name;
  int typenum;
  npy_intp columns;
} contact_fields[N_CONTACT] = {
    [DIST] = {"contact.dist", NPY_DOUBLE, 0},
    [POS] = {"contact.pos", NPY_DOUBLE, 3},
    [FRAME] = {"contact.frame", NPY_DOUBLE, 9},
    [FRICTION] = {"contact.friction", NPY_DOUBLE, 5},
    [SURFACEVEL] = {"contact.surfacevel", NPY_DOUBLE, 3},
    [DIM] = {"contact.dim", NPY_INT32, 0},
    [GEOM] = {"contact.geom", NPY_INT32, 2},
    [EXCLUDE] = {"contact.exclude", NPY_INT32, 0},
    [ROW] = {"contact.efc_address", NPY_INT32, 0},
};

/* ---- taking --------------------------------------------------------------------------------- */

void sapwood_step_arrays_release(sapwood_step_arrays *arrays) {
  for (int i = 0; i < arrays->n_held; i++) {
    Py_DECREF(arrays->held[i]);
  }
}

/* the tuple `object` with `count` entries, or NULL */
static PyObject *const *entries_of(PyObject *object, const char *name, Py_ssize_t count) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != count) {
    PyErr_Format(PyExc_TypeError, "%s must be a tuple of %zd arrays", name, count);
    return NULL;
  }
  return &PyTuple_GET_ITEM(object, 0);
}

/* contiguous float64 array of the model, columns 0 for a vector; NULL with an exception */
static double *take_doubles(sapwood_step_arrays *arrays, PyObject *object, const char *name,
                            npy_intp rows, npy_intp columns, int flags) {
  const npy_intp shape[2] = {rows, columns};
  PyArrayObject *array = sapwood_in_place(object, name, NPY_DOUBLE, columns == 0 ? 1 : 2, shape,
                                          NPY_ARRAY_C_CONTIGUOUS | flags);
  if (array == NULL) {
    return NULL;
  }
  arrays->held[arrays->n_held++] = array;
  return sapwood_doubles(array);
}

static int take_state(sapwood_step_arrays *arrays, const struct sap_forest *f, PyObject *tuple) {
  struct sap_model_state *s = &arrays->into.state;
  PyObject *const *entry = entries_of(tuple, "state", N_STATE);
  if (entry == NULL || (s->qvel = take_doubles(arrays, entry[QVEL], "qvel", f->nv, 0, 0)) == NULL ||
      (s->M = take_doubles(arrays, entry[MASS], "M", f->nM, 0, 0)) == NULL ||
      (s->cdof = take_doubles(arrays, entry[CDOF], "cdof", f->nv, 6, 0)) == NULL ||
      (s->subtree_com =
           take_doubles(arrays, entry[SUBTREE_COM], "subtree_com", f->n_bodies, 3, 0)) == NULL ||
      (s->qfrc_smooth = take_doubles(arrays, entry[QFRC_SMOOTH], "qfrc_smooth", f->nv, 0, 0)) ==
          NULL ||
      (s->qacc_smooth = take_doubles(arrays, entry[QACC_SMOOTH], "qacc_smooth", f->nv, 0, 0)) ==
          NULL ||
      (s->geom_xpos = take_doubles(arrays, entry[GEOM_XPOS], "geom_xpos", f->n_geoms, 3, 0)) ==
          NULL ||
      (s->geom_xmat = take_doubles(arrays, entry[GEOM_XMAT], "geom_xmat", f->n_geoms, 9, 0)) ==
          NULL) {
    return -1;
  }
  if (f->nD > 0 &&
      (s->qDeriv = take_doubles(arrays, entry[QDERIV], "qDeriv", f->nD, 0, 0)) == NULL) {
    return -1;
  }
  return 0;
}

/* `n_rows`: those that there are constants of */
static int take_contacts(sapwood_step_arrays *arrays, PyObject *tuple, npy_intp *n_rows) {
  PyObject *const *entry = entries_of(tuple, "contacts", N_CONTACTS);
  if (entry == NULL) {
    return -1;
  }
  struct sap_contact_list *list = &arrays->into.contacts;
  sap_field *const fields[N_CONTACT] = {
      [DIST] = &list->dist,
      [POS] = &list->pos,
      [FRAME] = &list->frame,
      [FRICTION] = &list->friction,
      [SURFACEVEL] = &list->surface_velocity,
      [DIM] = &list->dim,
      [GEOM] = &list->geom,
      [EXCLUDE] = &list->exclude,
      [ROW] = &list->row,
  };
  npy_intp count = -1;
  for (int i = 0; i < N_CONTACT; i++) {
    if (entry[i] == Py_None && i == SURFACEVEL) {
      continue;
    }
    const npy_intp columns = contact_fields[i].columns;
    const npy_intp shape[2] = {count, columns};
    PyArrayObject *array =
        sapwood_in_place(entry[i], contact_fields[i].name, contact_fields[i].typenum,
                         columns == 0 ? 1 : 2, shape, 0);
    if (array == NULL) {
      return -1;
    }
    arrays->held[arrays->n_held++] = array;
    count = PyArray_DIM(array, 0);
    if (count > INT32_MAX ||
        (count > 0 && columns > 0 && PyArray_STRIDE(array, 1) != PyArray_ITEMSIZE(array))) {
      PyErr_Format(PyExc_ValueError, "%s must have contiguous rows", contact_fields[i].name);
      return -1;
    }
    *fields[i] = (sap_field){PyArray_BYTES(array), PyArray_STRIDE(array, 0)};
  }
  list->count = (int32_t)count;
  list->KBIP = take_doubles(arrays, entry[KBIP], "efc_KBIP", -1, 4, 0);
  *n_rows = list->KBIP == NULL ? 0 : PyArray_DIM(arrays->held[arrays->n_held - 1], 0);
  return list->KBIP == NULL ? -1 : 0;
}

static int take_outputs(sapwood_step_arrays *arrays, const struct sap_forest *f, PyObject *tuple,
                        npy_intp n_rows) {
  PyObject *const *entry = entries_of(tuple, "outputs", N_OUTPUT);
  const npy_intp nv = f->nv;
  sap_step_arrays *into = &arrays->into;
  if (entry == NULL ||
      (into->qacc = take_doubles(arrays, entry[QACC], "qacc", nv, 0, NPY_ARRAY_WRITEABLE)) ==
          NULL ||
      (into->qfrc_constraint = take_doubles(arrays, entry[QFRC_CONSTRAINT], "qfrc_constraint", nv,
                                            0, NPY_ARRAY_WRITEABLE)) == NULL ||
      (into->efc_force = take_doubles(arrays, entry[EFC_FORCE], "efc_force", n_rows, 0,
                                      NPY_ARRAY_WRITEABLE)) == NULL) {
    return -1;
  }
  if (n_rows > INT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "efc_force must have less than 2^31 entries");
    return -1;
  }
  into->contacts.n_rows = (int32_t)n_rows;
  return 0;
}

int sapwood_step_arrays_take(sapwood_step_arrays *arrays, const sapwood_stepper *stepper,
                             PyObject *const *args, Py_ssize_t n_args) {
  const struct sap_forest *forest = &stepper->core->forest;
  PyObject *elements = n_args == 4 ? args[3] : Py_None;
  if (n_args != 3 && n_args != 4) {
    PyErr_SetString(PyExc_TypeError, "takes the tuples state, contacts, outputs and elements");
    return -1;
  }
  npy_intp n_rows;
  if (take_state(arrays, forest, args[0]) < 0 || take_contacts(arrays, args[1], &n_rows) < 0 ||
      take_outputs(arrays, forest, args[2], n_rows) < 0) {
    return -1;
  }
  return !stepper->core->constrained
             ? 0
             : sapwood_elements_take(stepper, elements, arrays->into.contacts.n_rows,
                                     &arrays->into.elements, arrays->held, &arrays->n_held);
}

/* ---- the state before a step ---------------------------------------------------------------- */

const char sapwood_first_bad_doc[] =
    "first_bad(arrays, limit, /)\n--\n\n"
    "Positions (array, entry) of the first entry of contiguous float64 arrays that is not finite\n"
    "or larger than `limit` in magnitude, or None.";

PyObject *sapwood_first_bad(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args) {
  double limit;
  if (n_args != 2 || !PyTuple_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "first_bad takes a tuple of arrays and a limit");
    return NULL;
  }
  if (sapwood_as_double(args[1], "limit", SAPWOOD_POSITIVE, &limit) < 0) {
    return NULL;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[0]); i++) {
    PyArrayObject *array = sapwood_in_place(PyTuple_GET_ITEM(args[0], i), "arrays", NPY_DOUBLE, -1,
                                            NULL, NPY_ARRAY_C_CONTIGUOUS);
    if (array == NULL) {
      return NULL;
    }
    const double *x = sapwood_doubles(array);
    const npy_intp n = PyArray_SIZE(array);
    npy_intp j = 0;
    while (j < n && fabs(x[j]) <= limit) {
      j++;
    }
    Py_DECREF(array);
    if (j < n) {
      return Py_BuildValue("nn", i, (Py_ssize_t)j);
    }
  }
  Py_RETURN_NONE;
}
