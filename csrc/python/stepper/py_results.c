/* Copies results by a table of arrays. The table is written twice under the lock: once for the
 * lengths, so that arrays can be allocated with the GIL held, and once for the copy. The copy is
 * refused if a step in another thread has changed the lengths in between. */
#include "python/stepper/methods.h"

#include <string.h>

#include "python/solver/py_result.h"
#include "python/solver/solution.h"
#include "python/state.h"
#include "python/stepper/py_fields.h"
#include "python/stepper/ready.h"

typedef struct output {
  const char *name;
  int typenum;
  npy_intp rows, columns; /* columns is 0 for a vector */
  const void *source;
  size_t stride; /* distance of two rows of the source, bytes */
} output;

enum { MAX_OUTPUTS = 32 };

/* Writes the table and returns the number of arrays; called under the lock. */
typedef int describe(const sap_stepper *stepper, output *table);

static output vector(const char *name, npy_intp rows, const double *source) {
  return (output){name, NPY_DOUBLE, rows, 0, source, sizeof *source};
}

static output integers(const char *name, npy_intp rows, const int32_t *source) {
  return (output){name, NPY_INT32, rows, 0, source, sizeof *source};
}

static output columns(const char *name, npy_intp rows, npy_intp n, const double *source) {
  return (output){name, NPY_DOUBLE, rows, n, source, (size_t)n * sizeof *source};
}

/* ---- copying -------------------------------------------------------------------------------- */

static int describe_locked(sapwood_stepper *self, describe *write, output *table) {
  int n;
  SAPWOOD_BEGIN_LOCKED(&self->lock)
  n = write(self->core, table);
  SAPWOOD_END_LOCKED(&self->lock)
  return n;
}

/* Copies one table into the arrays; returns 0 if the lengths differ from those of `table`. */
static int copy_locked(sapwood_stepper *self, describe *write, const output *table,
                       PyArrayObject *const *arrays) {
  output now[MAX_OUTPUTS];
  int same = 1;
  sapwood_lock_take(&self->lock);
  const int n = write(self->core, now);
  for (int i = 0; i < n; i++) {
    same &= now[i].rows == table[i].rows;
  }
  for (int i = 0; i < n && same; i++) {
    const npy_intp rows = now[i].rows;
    const size_t bytes = rows == 0 ? 0 : (size_t)(PyArray_NBYTES(arrays[i]) / rows);
    char *target = PyArray_BYTES(arrays[i]);
    for (npy_intp row = 0; row < rows; row++) {
      memcpy(target + (size_t)row * bytes,
             (const char *)now[i].source + (size_t)row * now[i].stride, bytes);
    }
  }
  sapwood_lock_leave(&self->lock);
  return same;
}

/* Finds arrays (MAX_OUTPUTS) with the values of the last step. Returns their number, or -1 with an
 * exception. */
static int copy_out(sapwood_stepper *self, describe *write, output *table, PyArrayObject **arrays) {
  if (sapwood_stepper_be_ready(self) < 0) {
    return -1;
  }
  const int n = describe_locked(self, write, table);
  int failed = 0, same = 0;
  for (int i = 0; i < n; i++) {
    const npy_intp shape[2] = {table[i].rows, table[i].columns};
    arrays[i] = sapwood_new(table[i].typenum, table[i].columns == 0 ? 1 : 2, shape);
    failed |= arrays[i] == NULL;
  }
  if (!failed) {
    Py_BEGIN_ALLOW_THREADS
    same = copy_locked(self, write, table, arrays);
    Py_END_ALLOW_THREADS
    if (!same) {
      PyErr_SetString(PyExc_RuntimeError,
                      "the stepper took a step in another thread while its results were read");
    }
  }
  if (failed || !same) {
    sapwood_release(arrays, n);
    return -1;
  }
  return n;
}

static PyObject *copy_out_as_dict(sapwood_stepper *self, describe *write) {
  output table[MAX_OUTPUTS];
  PyArrayObject *arrays[MAX_OUTPUTS];
  const int n = copy_out(self, write, table, arrays);
  PyObject *dict = n < 0 ? NULL : PyDict_New();
  for (int i = 0; i < n; i++) {
    if (dict != NULL && PyDict_SetItemString(dict, table[i].name, (PyObject *)arrays[i]) < 0) {
      Py_CLEAR(dict);
    }
    Py_DECREF(arrays[i]);
  }
  return dict;
}

/* ---- the problem ---------------------------------------------------------------------------- */

static int describe_problem(const sap_stepper *stepper, output *table) {
  const struct sap_gather *g = &stepper->gather;
  const npy_intp n = g->problem.n_contacts, nv = stepper->forest.nv;
  int i = 0;
  table[i++] = integers("tree_nv", stepper->forest.n_trees, stepper->forest.tree_dofnum);
  table[i++] = vector("A", (npy_intp)g->free_motion.nA, g->free_motion.A);
  table[i++] = vector("v_star", nv, g->free_motion.v_star);
  table[i++] = vector("v_guess", nv, g->begin);
  table[i++] = integers("tree_a", n, g->tree_a);
  table[i++] = integers("tree_b", n, g->tree_b);
  table[i++] = vector("J", (npy_intp)g->nJ, g->J);
  table[i++] = vector("mu", n, g->mu);
  table[i++] = vector("phi0", n, g->phi0);
  table[i++] = vector("k", n, g->k);
  table[i++] = vector("tau_d", n, g->tau_d);
  table[i++] = vector("R_t", n, g->R_t);
  table[i++] = vector("R_n", n, g->R_n);
  table[i++] = vector("v_hat_n", n, g->v_hat_n);
  table[i++] = columns("v_hat_t", n, 2, g->v_hat_t);
  if (g->slip_speed > 0.0) {
    table[i++] = vector("slip_ratio", n, g->slip_ratio);
  }
  if (g->problem.friction_bound) {
    table[i++] = vector("friction_bound", n, g->problem.friction_bound);
  }
  table[i++] = integers("spin_contact", g->spins.spin.n, g->spins.contact);
  table[i++] = vector("spin_J", (npy_intp)g->spins.nJ, g->spins.J);
  table[i++] = columns("spin_mu", g->spins.spin.n, 3, g->spins.mu);
  if (g->has_barriers) {
    table[i++] = (output){"core", NPY_INT8, n, 0, g->barrier, sizeof *g->barrier};
    table[i++] = vector("delta", n, g->delta);
    table[i++] = vector("core_lambda", n, g->barrier_lambda);
  }
  return i;
}

const char sapwood_stepper_problem_doc[] =
    "problem($self)\n--\n\n"
    "Dict of copies: the arrays of the last gathered problem, by the names of\n"
    "sapwood.ContactProblem.";

PyObject *sapwood_stepper_problem(PyObject *self, PyObject *Py_UNUSED(unused)) {
  return copy_out_as_dict((sapwood_stepper *)self, describe_problem);
}

/* ---- patches -------------------------------------------------------------------------------- */

static int describe_patches(const sap_stepper *stepper, output *table) {
  const sap_patch_list list = sap_stepper_patches(stepper);
  const geo_surfaces *s = list.surfaces;
  const npy_intp n = s->n_faces;
  int i = 0;
  table[i++] = integers("pair", s->n_pairs, list.pair);
  /* one more than pairs and faces; empty without any pair */
  table[i++] = integers("pair_start", s->n_pairs + (s->n_pairs > 0), s->pair_start);
  table[i++] = integers("face_start", n + (s->n_pairs > 0), s->face_start);
  table[i++] = integers("cell_a", n, s->cell_a);
  table[i++] = integers("cell_b", n, s->cell_b);
  table[i++] = columns("vertices", s->n_vertices, 3, s->vertices);
  table[i++] = vector("vertex_pressure", s->n_vertices, s->vertex_pressure);
  table[i++] = vector("area", n, s->area);
  table[i++] = columns("centroid", n, 3, s->centroid);
  table[i++] = columns("normal", n, 3, s->normal);
  table[i++] = vector("p0", n, s->p0);
  table[i++] = vector("g_a", n, s->g_a);
  table[i++] = vector("g_b", n, s->g_b);
  table[i++] = vector("steepness", n, s->steepness);
  table[i++] = vector("k", n, s->k);
  table[i++] = vector("phi0", n, s->phi0);
  table[i++] = vector("load", n, s->load);
  table[i++] = columns("force", s->n_pairs, 3, s->force);
  table[i++] = columns("torque", s->n_pairs, 3, s->torque);
  return i;
}

const char sapwood_stepper_patches_doc[] =
    "patches($self)\n--\n\n"
    "Dict of copies: the surfaces of the last step, `pair` of the fields each.";

PyObject *sapwood_stepper_patches(PyObject *self, PyObject *Py_UNUSED(unused)) {
  return copy_out_as_dict((sapwood_stepper *)self, describe_patches);
}

/* ---- groups --------------------------------------------------------------------------------- */

static const char *const values[SAP_ELEMENT_VALUES] = {"value_0", "value_1", "value_2", "value_3",
                                                       "value_4", "value_5", "value_6"};

static int describe_groups(const sap_stepper *stepper, output *table) {
  const struct sap_element_gather *g = &stepper->gather.elements;
  /* groups of a completely gathered step */
  const int there = stepper->gather.problem.n_groups > 0;
  const npy_intp groups = there ? g->n_groups : 0, rows = there ? g->n_rows : 0;
  const npy_intp n = there ? g->n_constraints : 0, solved = stepper->solved ? rows : 0;
  npy_intp nJ = 0;
  for (npy_intp i = 0; i < groups; i++) {
    nJ += (npy_intp)g->nJ[i];
  }
  int i = 0;
  table[i++] = vector("dt", 1, &stepper->gather.dt);
  table[i++] = (output){"kind", NPY_INT32, groups, 0, &g->groups[0].kind, sizeof *g->groups};
  table[i++] = (output){"n", NPY_INT32, groups, 0, &g->groups[0].n, sizeof *g->groups};
  table[i++] = (output){"n_rows", NPY_INT64, groups, 0, g->first_row + 1, sizeof *g->first_row};
  table[i++] = (output){"nJ", NPY_INT64, groups, 0, g->nJ, sizeof *g->nJ};
  table[i++] = integers("tree_nv", stepper->forest.n_trees, stepper->forest.tree_dofnum);
  table[i++] = integers("size", n, g->size);
  table[i++] = integers("tree_a", n, g->tree_a);
  table[i++] = integers("tree_b", n, g->tree_b);
  table[i++] = integers("dof", n, g->dof);
  table[i++] = vector("J", nJ, g->J);
  table[i++] = (output){"label", NPY_INT32, rows, 4, g->label, sizeof *g->label};
  table[i++] = vector("R", rows, g->R);
  table[i++] = vector("v_hat", rows, g->v_hat);
  table[i++] = vector("lower", rows, g->lower);
  table[i++] = vector("upper", rows, g->upper);
  for (int p = 0; p < SAP_ELEMENT_VALUES; p++) {
    table[i++] = vector(values[p], rows, g->value[p]);
  }
  table[i++] = vector("gamma", solved, g->gamma);
  table[i++] = vector("v_c", solved, g->v_c);
  const npy_intp open = stepper->solved ? g->open.n : 0;
  static const struct sap_limit_side none;
  const struct sap_limit_side *limits = open > 0 ? g->open.limits : &none;
  table[i++] = (output){"open_label", NPY_INT32, open, 4, &limits->label, sizeof *limits};
  table[i++] = (output){"open_position", NPY_DOUBLE, open, 0, &limits->phi0, sizeof *limits};
  table[i++] = vector("open_velocity", open, g->open.velocity);
  return i;
}

const char sapwood_stepper_groups_doc[] =
    "groups($self)\n--\n\n"
    "Dict of copies: the constraints of the last step other than contacts, group after group.\n"
    "dt (1,) is the length of that step, s; "
    "kind, n and nJ are of each group, n_rows the rows up to its end; size, tree_a, tree_b and\n"
    "dof of each constraint, which has one entry in J where dof is not -1; label (element,\n"
    "index, part, row of the engine), R, v_hat, lower, upper, the physical values and, after a\n"
    "solve, gamma and v_c of each row. open_label, open_position and open_velocity are of limits\n"
    "that were far from closing and had no row.";

PyObject *sapwood_stepper_groups(PyObject *self, PyObject *Py_UNUSED(unused)) {
  return copy_out_as_dict((sapwood_stepper *)self, describe_groups);
}

/* ---- the solution --------------------------------------------------------------------------- */

/* the arrays of sapwood_result, then more */
enum {
  LOWER = SAPWOOD_RESULTS,
  UPPER,
  ENDS, /* numbers of rows up to the end of each group */
  N_RESULTS
};

static int describe_result(const sap_stepper *stepper, output *table) {
  const struct sap_gather *g = &stepper->gather;
  const npy_intp n = g->problem.n_contacts;
  table[SAPWOOD_V] = vector("v", stepper->forest.nv, g->v);
  table[SAPWOOD_GAMMA] = columns("gamma", n, 3, g->gamma);
  table[SAPWOOD_V_C] = columns("v_c", n, 3, g->v_c);
  table[SAPWOOD_REGIONS] = (output){"regions", NPY_INT8, n, 0, g->regions, sizeof *g->regions};
  table[SAPWOOD_ISLANDS] =
      (output){"islands",  NPY_UINT8,         stepper->forest.n_trees, (npy_intp)sizeof *g->islands,
               g->islands, sizeof *g->islands};
  const struct sap_element_gather *e = &g->elements;
  const npy_intp groups = g->problem.n_groups, rows = groups > 0 ? e->n_rows : 0;
  table[SAPWOOD_GROUP_GAMMA] = vector("group_gamma", rows, e->gamma);
  table[SAPWOOD_GROUP_V_C] = vector("group_v_c", rows, e->v_c);
  table[SAPWOOD_CORE_SCALE] = vector("core_scale", g->has_barriers ? n : 0, g->barrier_scale);
  table[SAPWOOD_SPIN_GAMMA] = columns("spin_gamma", g->spins.spin.n, 3, g->spins.gamma);
  table[SAPWOOD_SPIN_V_C] = columns("spin_v_c", g->spins.spin.n, 3, g->spins.v_c);
  table[LOWER] = vector("lower", rows, e->lower);
  table[UPPER] = vector("upper", rows, e->upper);
  table[ENDS] = (output){"ends", NPY_INT64, groups, 0, e->first_row + 1, sizeof *e->first_row};
  return N_RESULTS;
}

/* Sets the part of the problem that a result reads: the bounds of the rows of each group. */
static void describe_bounds(PyArrayObject *const *arrays, sap_constraints *groups,
                            sap_problem *problem) {
  const int64_t *ends = (const int64_t *)PyArray_DATA(arrays[ENDS]);
  int64_t begin = 0;
  *problem = (sap_problem){.n_groups = (int32_t)PyArray_SIZE(arrays[ENDS]), .groups = groups};
  for (int32_t i = 0; i < problem->n_groups; i++) {
    groups[i] = (sap_constraints){.n = (int32_t)(ends[i] - begin),
                                  .lower = sapwood_doubles(arrays[LOWER]) + begin,
                                  .upper = sapwood_doubles(arrays[UPPER]) + begin};
    begin = ends[i];
  }
}

/* Copies the scalars of the solution, if there is one, and its history. */
static sap_status copy_scalars(sapwood_stepper *self, sapwood_result *result, int *solved,
                               double *seconds, sapwood_records *records) {
  sap_status status = SAP_OK;
  SAPWOOD_BEGIN_LOCKED(&self->lock)
  const sap_solution *solution = sap_stepper_solution(self->core);
  const sap_iteration *source = sap_stepper_history(self->core, &records->n);
  *solved = solution != NULL;
  *seconds = sap_stepper_solve_seconds(self->core);
  if (*solved) {
    result->solution = *solution;
  }
  if (source != NULL) {
    status = sapwood_copy_records(source, records);
  }
  SAPWOOD_END_LOCKED(&self->lock)
  return status;
}

/* Returns the array if `told`, else NULL; takes the reference. */
static PyArrayObject *take_if(int told, PyArrayObject *array) {
  if (!told) {
    Py_DECREF(array);
  }
  return told ? array : NULL;
}

const char sapwood_stepper_result_doc[] =
    "result($self)\n--\n\n"
    "The Solution of the last step, with copies of its arrays, or None when it has none.";

PyObject *sapwood_stepper_result(PyObject *object, PyObject *Py_UNUSED(unused)) {
  sapwood_stepper *self = (sapwood_stepper *)object;
  const sapwood_state *state = sapwood_state_of_type(Py_TYPE(object));
  if (state == NULL || sapwood_stepper_be_ready(self) < 0) {
    return NULL;
  }
  sapwood_result result = {0};
  sapwood_records records = {0};
  int solved;
  double seconds;
  if (copy_scalars(self, &result, &solved, &seconds, &records) != SAP_OK) {
    return PyErr_NoMemory();
  }
  if (!solved) {
    PyMem_RawFree(records.copy);
    Py_RETURN_NONE;
  }
  output table[MAX_OUTPUTS];
  PyArrayObject *arrays[MAX_OUTPUTS];
  PyObject *solution = NULL;
  if (copy_out(self, describe_result, table, arrays) >= 0) {
    const int has_cores = sap_stepper_has_rigid_cores(self->core);
    const int has_spins = PyArray_SIZE(arrays[SAPWOOD_SPIN_GAMMA]) > 0;
    memcpy(result.array, arrays, sizeof result.array);
    result.array[SAPWOOD_CORE_SCALE] = take_if(has_cores, arrays[SAPWOOD_CORE_SCALE]);
    result.array[SAPWOOD_SPIN_GAMMA] = take_if(has_spins, arrays[SAPWOOD_SPIN_GAMMA]);
    result.array[SAPWOOD_SPIN_V_C] = take_if(has_spins, arrays[SAPWOOD_SPIN_V_C]);
    sap_problem problem;
    sap_constraints groups[SAP_ELEMENT_GROUPS];
    describe_bounds(arrays, groups, &problem);
    solution = sapwood_solution(state, &result, &problem, seconds,
                                self->settings.record_history ? &records : NULL);
    sapwood_result_clear(&result);
    sapwood_release(arrays + LOWER, N_RESULTS - LOWER);
  }
  PyMem_RawFree(records.copy);
  return solution;
}
