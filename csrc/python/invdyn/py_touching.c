/* _core.touching_contacts: contacts of an engine, as task control takes them. */
#include <string.h>

#include "python/convert.h"
#include "python/errors.h"
#include "python/invdyn/py_invdyn.h"

enum { GEOM, DIST, POS, FRAME, FRICTION, DIM, N_FIELDS };
enum { GEOMS, POSITIONS, FRAMES, MU, RADII, GAPS, N_RESULTS };
enum { FRICTIONS = 5 };

typedef struct list {
  PyArrayObject *in[N_FIELDS], *out[N_RESULTS];
  npy_intp n, n_touching;
} list;

static const double *numbers(const list *l, int field, npy_intp i) {
  return (const double *)PyArray_GETPTR1(l->in[field], i);
}

static const int32_t *integers(const list *l, int field, npy_intp i) {
  return (const int32_t *)PyArray_GETPTR1(l->in[field], i);
}

static int read_fields(list *l, PyObject *const *args) {
  static const char *const names[N_FIELDS] = {"geom", "dist", "pos", "frame", "friction", "dim"};
  static const npy_intp width[N_FIELDS] = {2, 0, 3, 9, FRICTIONS, 0};
  l->n = -1;
  for (int k = 0; k < N_FIELDS; k++) {
    const npy_intp shape[2] = {l->n, width[k]};
    const int type = k == GEOM || k == DIM ? NPY_INT32 : NPY_DOUBLE;
    l->in[k] = sapwood_in_place(args[k], names[k], type, width[k] > 0 ? 2 : 1, shape, 0);
    if (l->in[k] == NULL) {
      return -1;
    }
    l->n = PyArray_DIM(l->in[k], 0);
    if (l->n > 0 && width[k] > 0 && PyArray_STRIDE(l->in[k], 1) != PyArray_ITEMSIZE(l->in[k])) {
      PyErr_Format(PyExc_ValueError, "%s must have contiguous rows", names[k]);
      return -1;
    }
  }
  return 0;
}

/* Returns 1 if the geoms of a contact touch; flexes have none. */
static int touches(const list *l, npy_intp i) {
  const int32_t *geom = integers(l, GEOM, i);
  return *numbers(l, DIST, i) <= 0.0 && geom[0] >= 0 && geom[1] >= 0;
}

static int make_results(list *l) {
  for (npy_intp i = 0; i < l->n; i++) {
    l->n_touching += touches(l, i);
  }
  const npy_intp shape[N_RESULTS][3] = {{l->n_touching, 2},    {l->n_touching, 3},
                                        {l->n_touching, 3, 3}, {l->n_touching},
                                        {l->n_touching, 3},    {l->n_touching}};
  static const int ndim[N_RESULTS] = {2, 2, 3, 1, 2, 1};
  for (int k = 0; k < N_RESULTS; k++) {
    l->out[k] =
        (PyArrayObject *)PyArray_SimpleNew(ndim[k], shape[k], k == GEOMS ? NPY_INTP : NPY_DOUBLE);
    if (l->out[k] == NULL) {
      return -1;
    }
  }
  return 0;
}

/* Copies contact i of the list to place c of the results. */
static void copy_contact(const list *l, npy_intp i, npy_intp c) {
  const int32_t *geom = integers(l, GEOM, i), dim = *integers(l, DIM, i);
  const double *frame = numbers(l, FRAME, i), *friction = numbers(l, FRICTION, i);
  npy_intp *geoms = (npy_intp *)PyArray_DATA(l->out[GEOMS]) + 2 * c;
  double *axes = sapwood_doubles(l->out[FRAMES]) + 9 * c;
  double *radii = sapwood_doubles(l->out[RADII]) + 3 * c;
  geoms[0] = geom[0];
  geoms[1] = geom[1];
  memcpy(sapwood_doubles(l->out[POSITIONS]) + 3 * c, numbers(l, POS, i), 3 * sizeof(double));
  /* the engine's frame begins with the normal */
  memcpy(axes, frame + 3, 6 * sizeof *axes);
  memcpy(axes + 6, frame, 3 * sizeof *axes);
  sapwood_doubles(l->out[MU])[c] = dim > 1 ? friction[0] : 0.0;
  radii[0] = dim >= 6 ? friction[3] : 0.0;
  radii[1] = dim >= 6 ? friction[4] : 0.0;
  radii[2] = dim >= 4 ? friction[2] : 0.0;
  sapwood_doubles(l->out[GAPS])[c] = *numbers(l, DIST, i);
}

/* Puts the given array of geoms in the place of an equal one. */
static void keep_geoms(list *l, PyObject *last) {
  PyArrayObject *given = PyArray_Check(last) ? (PyArrayObject *)last : NULL;
  if (given && PyArray_TYPE(given) == NPY_INTP && PyArray_IS_C_CONTIGUOUS(given) &&
      PyArray_SIZE(given) == 2 * l->n_touching &&
      memcmp(PyArray_DATA(given), PyArray_DATA(l->out[GEOMS]), (size_t)PyArray_NBYTES(given)) ==
          0) {
    Py_DECREF(l->out[GEOMS]);
    l->out[GEOMS] = (PyArrayObject *)Py_NewRef(last);
  }
}

PyDoc_STRVAR(touching_doc,
             "touching_contacts(geom, dist, pos, frame, friction, dim, last, /)\n--\n\n"
             "Contacts of an engine's list whose geoms touch: geoms (n, 2), positions (n, 3),\n"
             "frames (n, 3, 3) with two tangents and the normal, friction coefficients (n,), "
             "radii\nof rolling friction about both tangents and of torsional friction (n, 3), "
             "gaps (n,).\nEqual geoms are the array `last`.");

static PyObject *touching_contacts(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
  (void)module;
  list l = {.n = 0};
  PyObject *result = NULL;
  if (n_args != N_FIELDS + 1) {
    PyErr_Format(PyExc_TypeError, "touching_contacts takes %d arguments", N_FIELDS + 1);
    return NULL;
  }
  if (read_fields(&l, args) == 0 && make_results(&l) == 0) {
    for (npy_intp i = 0, c = 0; i < l.n; i++) {
      if (touches(&l, i)) {
        copy_contact(&l, i, c++);
      }
    }
    keep_geoms(&l, args[N_FIELDS]);
    result = Py_BuildValue("(OOOOOO)", l.out[GEOMS], l.out[POSITIONS], l.out[FRAMES], l.out[MU],
                           l.out[RADII], l.out[GAPS]);
  }
  for (int k = 0; k < N_FIELDS; k++) {
    Py_XDECREF(l.in[k]);
  }
  for (int k = 0; k < N_RESULTS; k++) {
    Py_XDECREF(l.out[k]);
  }
  return result;
}

int sapwood_add_touching(PyObject *module) {
  static PyMethodDef functions[] = {
      {"touching_contacts", (PyCFunction)(void (*)(void))touching_contacts, METH_FASTCALL,
       touching_doc},
      {NULL, NULL, 0, NULL}};
  return PyModule_AddFunctions(module, functions);
}
