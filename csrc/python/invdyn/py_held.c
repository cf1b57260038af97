/* _core.held_contacts: contacts of an engine that touch, and those that are held beyond them. */
#include "python/parts.h"

#include <string.h>

#include "invdyn/tasks/held_contacts.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/state.h"

enum { GEOM, DIST, POS, FRAME, FRICTION, DIM, GEOM_BODY, XPOS, XMAT, N_ARRAYS };
enum { HYSTERESIS = N_ARRAYS, HELD, N_ARGUMENTS };
enum { GEOMS, BODIES, POSITIONS, FRAMES, MU, RADII, GAPS, N_RESULTS };
enum { FRICTIONS = 5 };

typedef struct call {
  PyArrayObject *in[N_ARRAYS], *out[N_RESULTS];
  npy_intp n_listed, n_touching, n_held, n_chosen;
  double hysteresis;
  struct tasks_contact *contacts; /* (n_held + n_touching) */
  int32_t *chosen;                /* likewise, as the flags behind it */
} call;

/* ---- arguments ------------------------------------------------------------------------------ */

static int read_listed(PyObject *const *args, call *c) {
  static const char *const names[] = {"geom", "dist", "pos", "frame", "friction", "dim"};
  static const npy_intp width[] = {2, 0, 3, 9, FRICTIONS, 0};
  npy_intp n = -1;
  for (int k = GEOM; k <= DIM; k++) {
    const npy_intp shape[2] = {n, width[k]};
    const int type = k == GEOM || k == DIM ? NPY_INT32 : NPY_DOUBLE;
    PyArrayObject *field =
        sapwood_in_place(args[k], names[k], type, width[k] > 0 ? 2 : 1, shape, 0);
    c->in[k] = field;
    if (field == NULL) {
      return -1;
    }
    n = PyArray_DIM(field, 0);
    if (n > 0 && width[k] > 0 && PyArray_STRIDE(field, 1) != PyArray_ITEMSIZE(field)) {
      return SAPWOOD_FAIL(PyExc_ValueError, "%s must have contiguous rows", names[k]);
    }
  }
  c->n_listed = n;
  return 0;
}

static int read_bodies(PyObject *const *args, call *c) {
  npy_intp shape[2] = {-1, 3};
  if ((c->in[XPOS] = sapwood_as_float64(args[XPOS], "xpos", 2, shape, SAPWOOD_ANY)) == NULL) {
    return -1;
  }
  shape[0] = PyArray_DIM(c->in[XPOS], 0);
  shape[1] = 9;
  c->in[XMAT] = sapwood_as_float64(args[XMAT], "xmat", 2, shape, SAPWOOD_ANY);
  c->in[GEOM_BODY] = sapwood_as_int32(args[GEOM_BODY], "geom_bodyid", -1);
  return c->in[XMAT] == NULL || c->in[GEOM_BODY] == NULL ? -1 : 0;
}

/* Reads the number of held contacts. */
static int read_held(PyObject *held, call *c) {
  const Py_ssize_t size = (Py_ssize_t)sizeof(struct tasks_contact);
  if (!PyBytes_Check(held) || PyBytes_GET_SIZE(held) % size != 0) {
    return SAPWOOD_FAIL(PyExc_TypeError, "held must be the last result of held_contacts()");
  }
  c->n_held = PyBytes_GET_SIZE(held) / size;
  return 0;
}

/* ---- contacts ------------------------------------------------------------------------------- */

static const double *numbers(const call *c, int field, npy_intp i) {
  return (const double *)PyArray_GETPTR1(c->in[field], i);
}

static const int32_t *integers(const call *c, int field, npy_intp i) {
  return (const int32_t *)PyArray_GETPTR1(c->in[field], i);
}

/* Returns 1 if the geoms of a contact touch; flexes have none. */
static int touches(const call *c, npy_intp i) {
  const int32_t *geom = integers(c, GEOM, i);
  return *numbers(c, DIST, i) <= 0.0 && geom[0] >= 0 && geom[1] >= 0;
}

static int check_bodies(const call *c, npy_intp i, const struct tasks_contact *contact) {
  for (int side = 0; side < 2; side++) {
    if (contact->bodies[side] < 0 || contact->bodies[side] >= PyArray_DIM(c->in[XPOS], 0)) {
      return sapwood_value_error("bodies", i, contact->bodies[side], "is out of range");
    }
  }
  return 0;
}

/* Reads contact i of the list. Returns 0, or -1 with an exception. */
static int read_contact(const call *c, npy_intp i, struct tasks_contact *contact) {
  const int32_t *geom = integers(c, GEOM, i), dim = *integers(c, DIM, i);
  const double *frame = numbers(c, FRAME, i), *friction = numbers(c, FRICTION, i);
  *contact =
      (struct tasks_contact){.mu = dim > 1 ? friction[0] : 0.0,
                             .radii = {dim >= 6 ? friction[3] : 0.0, dim >= 6 ? friction[4] : 0.0,
                                       dim >= 4 ? friction[2] : 0.0},
                             .gap = *numbers(c, DIST, i)};
  for (int side = 0; side < 2; side++) {
    if (geom[side] >= PyArray_DIM(c->in[GEOM_BODY], 0)) {
      return sapwood_value_error("geom", i, geom[side], "is out of range");
    }
    contact->geoms[side] = geom[side];
    contact->bodies[side] = sapwood_int32s(c->in[GEOM_BODY])[geom[side]];
  }
  if (check_bodies(c, i, contact) < 0) {
    return -1;
  }
  memcpy(contact->position, numbers(c, POS, i), sizeof contact->position);
  /* the engine's frame begins with the normal */
  memcpy(contact->frame, frame + 3, 6 * sizeof *frame);
  memcpy(contact->frame + 6, frame, 3 * sizeof *frame);
  tasks_fix_contact(sapwood_doubles(c->in[XPOS]), sapwood_doubles(c->in[XMAT]), contact);
  return 0;
}

/* Reads the held contacts, and behind them the listed ones that touch. */
static int read_contacts(PyObject *held, call *c) {
  for (npy_intp i = 0; i < c->n_listed; i++) {
    c->n_touching += touches(c, i);
  }
  const size_t n = (size_t)(c->n_held + c->n_touching);
  c->contacts = PyMem_Malloc((n + 1) * sizeof *c->contacts);
  c->chosen = PyMem_Malloc((n + 1) * (sizeof *c->chosen + 1));
  if (c->contacts == NULL || c->chosen == NULL) {
    return sapwood_no_memory();
  }
  memcpy(c->contacts, PyBytes_AS_STRING(held), (size_t)PyBytes_GET_SIZE(held));
  for (npy_intp i = 0; i < c->n_held; i++) {
    if (check_bodies(c, i, c->contacts + i) < 0) {
      return -1;
    }
  }
  npy_intp at = c->n_held;
  for (npy_intp i = 0; i < c->n_listed; i++) {
    if (touches(c, i) && read_contact(c, i, c->contacts + at++) < 0) {
      return -1;
    }
  }
  return 0;
}

/* ---- the plan ------------------------------------------------------------------------------- */

/* Do the chosen contacts have the geoms of the held ones? */
static int has_held_geoms(const call *c) {
  int same = c->n_chosen == c->n_held;
  for (npy_intp i = 0; same && i < c->n_held; i++) {
    const int32_t *chosen = c->contacts[c->chosen[i]].geoms;
    same = memcmp(c->contacts[i].geoms, chosen, sizeof c->contacts[i].geoms) == 0;
  }
  return same;
}

/* Chooses the listed contacts, and those that are held beyond them unless the geoms are equal. */
static void choose(call *c) {
  const npy_intp n = c->n_held + c->n_touching;
  for (npy_intp i = 0; i < c->n_touching; i++) {
    c->chosen[i] = (int32_t)(c->n_held + i);
  }
  c->n_chosen = c->n_touching;
  if (!has_held_geoms(c)) {
    for (npy_intp i = 0; i < c->n_held; i++) {
      tasks_move_contact(sapwood_doubles(c->in[XPOS]), sapwood_doubles(c->in[XMAT]),
                         c->contacts + i);
    }
    c->n_chosen = tasks_merge_contacts(c->contacts, (int32_t)c->n_held, (int32_t)n, c->hysteresis,
                                       (int8_t *)(c->chosen + n), c->chosen);
  }
}

static void write_contact(const struct tasks_contact *contact, npy_intp i, const call *c) {
  memcpy(sapwood_int32s(c->out[GEOMS]) + 2 * i, contact->geoms, sizeof contact->geoms);
  memcpy(sapwood_int32s(c->out[BODIES]) + 2 * i, contact->bodies, sizeof contact->bodies);
  memcpy(sapwood_doubles(c->out[POSITIONS]) + 3 * i, contact->position, sizeof contact->position);
  memcpy(sapwood_doubles(c->out[FRAMES]) + 9 * i, contact->frame, sizeof contact->frame);
  memcpy(sapwood_doubles(c->out[RADII]) + 3 * i, contact->radii, sizeof contact->radii);
  sapwood_doubles(c->out[MU])[i] = contact->mu;
  sapwood_doubles(c->out[GAPS])[i] = contact->gap;
}

static PyObject *make_results(call *c) {
  const npy_intp n = c->n_chosen, size = (npy_intp)sizeof *c->contacts;
  const npy_intp shape[N_RESULTS][3] = {{n, 2}, {n, 2}, {n, 3}, {n, 3, 3}, {n}, {n, 3}, {n}};
  static const int ndim[N_RESULTS] = {2, 2, 2, 3, 1, 2, 1};
  for (int k = 0; k < N_RESULTS; k++) {
    c->out[k] =
        (PyArrayObject *)PyArray_SimpleNew(ndim[k], shape[k], k <= BODIES ? NPY_INT32 : NPY_DOUBLE);
    if (c->out[k] == NULL) {
      return NULL;
    }
  }
  PyObject *held = PyBytes_FromStringAndSize(NULL, n * size);
  for (npy_intp i = 0; i < n && held != NULL; i++) {
    const struct tasks_contact *contact = c->contacts + c->chosen[i];
    memcpy(PyBytes_AS_STRING(held) + i * size, contact, sizeof *contact);
    write_contact(contact, i, c);
  }
  return held == NULL ? NULL
                      : Py_BuildValue("(NNOOOOOOO)", held, PyBool_FromLong(has_held_geoms(c)),
                                      c->out[GEOMS], c->out[BODIES], c->out[POSITIONS],
                                      c->out[FRAMES], c->out[MU], c->out[RADII], c->out[GAPS]);
}

static void release(call *c) {
  sapwood_release(c->in, N_ARRAYS);
  sapwood_release(c->out, N_RESULTS);
  PyMem_Free(c->contacts);
  PyMem_Free(c->chosen);
}

PyDoc_STRVAR(held_doc,
             "held_contacts(geom, dist, pos, frame, friction, dim, geom_bodyid, xpos, xmat,\n"
             "              hysteresis, held, /)\n--\n\n"
             "Contacts of an engine's list whose geoms touch, with those that are held beyond\n"
             "them: bytes that are `held` in the next call, b'' in the first one; whether the\n"
             "geoms are those held before; geoms and bodies (n, 2), positions (n, 3), frames\n"
             "(n, 3, 3) with two tangents and the normal, friction coefficients (n,), radii of\n"
             "rolling friction about both tangents and of torsional friction (n, 3), gaps (n,).");

static PyObject *held_contacts(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
  (void)module;
  call c = {.n_listed = 0};
  PyObject *result = NULL;
  if (n_args != N_ARGUMENTS) {
    return PyErr_Format(PyExc_TypeError, "held_contacts takes %d arguments", N_ARGUMENTS);
  }
  if (read_listed(args, &c) == 0 && read_bodies(args, &c) == 0 &&
      sapwood_as_double(args[HYSTERESIS], "hysteresis", SAPWOOD_NON_NEGATIVE, &c.hysteresis) == 0 &&
      read_held(args[HELD], &c) == 0 && read_contacts(args[HELD], &c) == 0) {
    choose(&c);
    result = make_results(&c);
  }
  release(&c);
  return result;
}

int sapwood_add_held(PyObject *module) {
  static PyMethodDef functions[] = {
      {"held_contacts", SAPWOOD_FAST(held_contacts), METH_FASTCALL, held_doc},
      {NULL, NULL, 0, NULL}};
  return PyModule_AddFunctions(module, functions);
}
