#include "python/arrays.h"
#include "python/problem/py_problem.h"
#include "python/parts.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

#include "problem/problem_check.h"
#include "python/errors.h"
#include "python/problem/keep.h"
#include "python/problem/problem_arguments.h"

static const char *const delassus_names[] = {"block", "diagonal", NULL};

/* ---- index arrays --------------------------------------------------------------------------- */

/* Checks the trees, copies them to private memory and fills the lengths that follow from them. */
static int read_trees(sapwood_problem *self, const sapwood_problem_arguments *in,
                      PyObject *groups) {
  int failed = -1;
  PyArrayObject *nv = NULL, *a = NULL, *b = NULL;
  if ((nv = sapwood_as_int32(in->tree_nv, "tree_nv", -1)) == NULL ||
      (a = sapwood_as_int32(in->tree_a, "tree_a", -1)) == NULL ||
      (b = sapwood_as_int32(in->tree_b, "tree_b", PyArray_DIM(a, 0))) == NULL) {
    goto done;
  }
  size_t n_trees = (size_t)PyArray_DIM(nv, 0), n_contacts = (size_t)PyArray_DIM(a, 0);
  if (n_trees > INT32_MAX || n_contacts > INT32_MAX) {
    PyErr_SetString(PyExc_ValueError, "tree_nv and tree_a must have less than 2^31 entries");
    goto done;
  }
  self->indices = PyMem_Malloc((n_trees + 2 * n_contacts + 1) * sizeof *self->indices);
  if (self->indices == NULL) {
    PyErr_NoMemory();
    goto done;
  }
  int32_t *own_nv = self->indices, *own_a = own_nv + n_trees, *own_b = own_a + n_contacts;
  memcpy(own_nv, PyArray_DATA(nv), n_trees * sizeof *own_nv);
  memcpy(own_a, PyArray_DATA(a), n_contacts * sizeof *own_a);
  memcpy(own_b, PyArray_DATA(b), n_contacts * sizeof *own_b);
  self->problem.n_trees = (int32_t)n_trees;
  self->problem.n_contacts = (int32_t)n_contacts;
  self->problem.tree_nv = own_nv;
  self->problem.tree_a = own_a;
  self->problem.tree_b = own_b;
  if (sapwood_spin_read_contacts(&self->spin, in, &self->problem) < 0 ||
      sapwood_groups_read_trees(&self->groups, groups, &self->problem) < 0) {
    goto done;
  }
  sap_error error = {0};
  failed = sapwood_raise(sap_problem_sizes(&self->problem, &self->sizes, &error), &error);
done:
  Py_XDECREF(nv);
  Py_XDECREF(a);
  Py_XDECREF(b);
  return failed;
}

static int copy_trees(sapwood_problem *self) {
  const sap_problem *p = &self->problem;
  self->tree_nv = sapwood_index_copy(p->tree_nv, p->n_trees);
  self->tree_a = sapwood_index_copy(p->tree_a, p->n_contacts);
  self->tree_b = sapwood_index_copy(p->tree_b, p->n_contacts);
  return self->tree_nv == NULL || self->tree_a == NULL || self->tree_b == NULL ? -1 : 0;
}

/* ---- float arrays --------------------------------------------------------------------------- */

/* A row of sapwood_kept for an argument that has the same name in the problem. */
#define KEPT(name, length, rule, to) {in->name, #name, length, rule, &self->name, &(to)}

/* Finds R_t, R_n and v_hat_n from the physical parameters, in new arrays. */
static int regularize(sapwood_problem *self, const sap_parameters *parameters,
                      const struct sap_masses *masses) {
  const sapwood_layout layout = {NPY_DOUBLE, 1, {self->problem.n_contacts}};
  const sapwood_layout layouts[3] = {layout, layout, layout};
  PyArrayObject *R[3] = {NULL};
  if (sapwood_new_all(R, layouts, 3) < 0) {
    sapwood_release(R, 3);
    return -1;
  }
  sap_error error = {0};
  sap_status status;
  Py_BEGIN_ALLOW_THREADS
  status = sap_regularize_contacts(&self->problem, &self->sizes, parameters, masses,
                                   sapwood_doubles(R[0]), sapwood_doubles(R[1]),
                                   sapwood_doubles(R[2]), &error);
  Py_END_ALLOW_THREADS
  const int failed = sapwood_raise(status, &error);
  self->problem.R_t = sapwood_keep(R[0], &self->R_t);
  self->problem.R_n = sapwood_keep(R[1], &self->R_n);
  self->problem.v_hat_n = sapwood_keep(R[2], &self->v_hat_n);
  return failed || self->R_t == NULL || self->R_n == NULL || self->v_hat_n == NULL ? -1 : 0;
}

/* ---- construction --------------------------------------------------------------------------- */

/* Reads mass, velocities, Jacobian and friction: everything except the regularization. */
static int read_dynamics(sapwood_problem *self, const sapwood_problem_arguments *in) {
  sap_problem *p = &self->problem;
  const sap_sizes *sizes = &self->sizes;
  int32_t n = p->n_contacts;
  const sapwood_kept given[] = {
      KEPT(A, sizes->nA, SAPWOOD_ANY, p->A), KEPT(v_star, sizes->nv, SAPWOOD_ANY, p->v_star),
      KEPT(J, sizes->nJ, SAPWOOD_ANY, p->J), KEPT(mu, n, SAPWOOD_ANY, p->mu)};
  const sapwood_kept bound = KEPT(friction_bound, n, SAPWOOD_ANY, p->friction_bound);
  if (sapwood_keep_all(given, 4) < 0 ||
      sapwood_spin_read_values(&self->spin, in, sizes->nJ_spin) < 0 ||
      sapwood_keep_optional(&bound, 1) < 0) {
    return -1;
  }
  if (in->v_hat_t == Py_None) {
    self->v_hat_t = Py_NewRef(Py_None);
    return 0;
  }
  p->v_hat_t =
      sapwood_keep(sapwood_as_float64(in->v_hat_t, "v_hat_t", SAPWOOD_SHAPE(n, 2), SAPWOOD_FINITE),
                   &self->v_hat_t);
  return p->v_hat_t == NULL ? -1 : 0;
}

/* Reads the physical parameters. Returns 1 if they are given, 0 if not, -1 with an exception. */
static int read_parameters(sapwood_problem *self, const sapwood_problem_arguments *in,
                           sap_parameters *parameters) {
  int32_t n = self->problem.n_contacts;
  int delassus = sapwood_as_choice(in->delassus, "delassus", delassus_names);
  if (delassus < 0 || sapwood_as_double(in->dt, "dt", SAPWOOD_POSITIVE, &parameters->dt) < 0 ||
      sapwood_as_double(in->sigma, "sigma", SAPWOOD_POSITIVE, &parameters->sigma) < 0 ||
      sapwood_as_double(in->beta, "beta", SAPWOOD_NON_NEGATIVE, &parameters->beta) < 0) {
    return -1;
  }
  parameters->delassus = (sap_delassus)delassus;
  const sapwood_kept rows[] = {KEPT(phi0, n, SAPWOOD_FINITE, parameters->phi0),
                               KEPT(k, n, SAPWOOD_POSITIVE_OR_INFINITE, parameters->k),
                               KEPT(tau_d, n, SAPWOOD_NON_NEGATIVE, parameters->tau_d)};
  const int given = sapwood_all_or_none("phi0, k and tau_d", in->phi0, in->k, in->tau_d);
  return given < 0 || sapwood_keep_optional(rows, 3) < 0 ? -1 : given;
}

/* Keeps the slip ratios, which are checked with the physical parameters. */
static int read_slip_ratio(sapwood_problem *self, const sapwood_problem_arguments *in,
                           sap_parameters *parameters) {
  const sapwood_kept row =
      KEPT(slip_ratio, self->problem.n_contacts, SAPWOOD_ANY, parameters->slip_ratio);
  return sapwood_keep_optional(&row, 1);
}

/* Reads R_t, R_n, v_hat_n if given, or finds them from the physical parameters. */
static int read_regularization(sapwood_problem *self, const sapwood_problem_arguments *in,
                               sap_parameters *parameters, const struct sap_masses *masses) {
  sap_problem *p = &self->problem;
  int32_t n = p->n_contacts;
  int physical = read_parameters(self, in, parameters);
  if (physical < 0) {
    return -1;
  }
  int given = sapwood_all_or_none("R_t, R_n and v_hat_n", in->R_t, in->R_n, in->v_hat_n);
  if (given < 0) {
    return -1;
  }
  if (given == 0 && physical == 0 && n > 0) {
    return SAPWOOD_FAIL(PyExc_TypeError, "give phi0, k and tau_d, or R_t, R_n and v_hat_n");
  }
  if (given == 0) {
    self->is_physical = physical;
    return regularize(self, parameters, masses);
  }
  const sapwood_kept rows[] = {KEPT(R_t, n, SAPWOOD_ANY, p->R_t), KEPT(R_n, n, SAPWOOD_ANY, p->R_n),
                               KEPT(v_hat_n, n, SAPWOOD_ANY, p->v_hat_n)};
  return sapwood_keep_all(rows, 3);
}

/* Finds kappa from delta, in a new array. */
static int find_energy(sapwood_problem *self, const sap_parameters *parameters) {
  npy_intp length = self->problem.n_contacts;
  PyArrayObject *kappa = sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(length));
  if (kappa == NULL) {
    return -1;
  }
  sap_error error = {0};
  const sap_status status = sap_barrier_energy(&self->problem, parameters, self->problem.R_n,
                                               sapwood_doubles(kappa), &error);
  self->problem.kappa = sapwood_keep(kappa, &self->kappa);
  return sapwood_raise(status, &error) < 0 || self->problem.kappa == NULL ? -1 : 0;
}

/* Reads core (int8), core_lambda, core_table, and kappa, or finds kappa from delta. phi0, k and
 * tau_d have been read. */
static int read_cores(sapwood_problem *self, const sapwood_problem_arguments *in,
                      sap_parameters *parameters) {
  sap_problem *p = &self->problem;
  npy_intp n = p->n_contacts;
  const sapwood_kept lambda = KEPT(core_lambda, n, SAPWOOD_ANY, p->barrier_lambda);
  const sapwood_kept depths[] = {KEPT(delta, n, SAPWOOD_ANY, parameters->delta),
                                 KEPT(kappa, n, SAPWOOD_ANY, p->kappa)};
  if (sapwood_keep_optional(&lambda, 1) < 0 ||
      sapwood_core_table_read(&self->core_table, in->core_table) < 0 ||
      sapwood_keep_optional(depths, 2) < 0) {
    return -1;
  }
  p->barrier_table = sapwood_core_table_of(&self->core_table);
  if (in->core == Py_None) {
    self->core = Py_NewRef(Py_None);
    return 0;
  }
  PyArrayObject *core =
      sapwood_in_place(in->core, "core", NPY_INT8, SAPWOOD_SHAPE(n), NPY_ARRAY_C_CONTIGUOUS);
  p->barrier = (const int8_t *)sapwood_keep(core, &self->core);
  if (p->barrier == NULL) {
    return -1;
  }
  if (p->kappa != NULL) {
    return 0;
  }
  if (parameters->delta == NULL || self->tau_d == Py_None) {
    return SAPWOOD_FAIL(
        PyExc_TypeError,
        "a contact with a core needs delta, together with phi0, k and tau_d, or kappa");
  }
  self->energy_follows = 1;
  return find_energy(self, parameters);
}

/* Returns the groups as a tuple, because Python code might change a list. */
static PyObject *tuple_of_groups(PyObject *list) {
  if (list == NULL) {
    return PyTuple_New(0);
  }
  if (!PyList_Check(list)) {
    return PyErr_Format(PyExc_TypeError, "groups must be a list, not %s", Py_TYPE(list)->tp_name);
  }
  return PyList_AsTuple(list);
}

/* Takes over the factors of another problem, or nothing for None. */
static int take_factors(sapwood_problem *self, PyObject *factors_of) {
  if (factors_of == Py_None) {
    return 0;
  }
  if (!PyObject_TypeCheck(factors_of, Py_TYPE(self))) {
    return SAPWOOD_FAIL(PyExc_TypeError, "factors_of must be a Problem, not %s",
                        Py_TYPE(factors_of)->tp_name);
  }
  const sapwood_problem *other = (const sapwood_problem *)factors_of;
  return sapwood_factors_take(&self->factors, &self->problem, &other->factors, &other->problem);
}

/* Finds the masses, and checks A on the way. */
static int find_masses(const sapwood_problem *self, struct sap_masses *masses,
                       struct sap_block *block, const sap_allocator *memory) {
  sap_error error = {0};
  sap_status status;
  Py_BEGIN_ALLOW_THREADS
  status = sap_masses_find(masses, &self->problem, block, memory, &error);
  Py_END_ALLOW_THREADS
  return sapwood_raise(status, &error);
}

/* Keeps the initial velocity of solves. */
static int keep_guess(sapwood_problem *self, const sapwood_problem_arguments *in) {
  const double *data;
  const sapwood_kept row = KEPT(v_guess, self->sizes.nv, SAPWOOD_FINITE, data);
  return sapwood_keep_optional(&row, 1);
}

/* Runs the checks of sap_problem_check() that find_masses() leaves out. */
static int check_values(const sapwood_problem *self) {
  sap_error error = {0};
  sap_status status;
  Py_BEGIN_ALLOW_THREADS
  status = sap_check_laws_given(&self->problem, SAP_FRICTION_CONVEX, NULL, &error);
  if (status == SAP_OK) {
    status = sap_check_constraints(&self->problem, &self->sizes, &error);
  }
  Py_END_ALLOW_THREADS
  return sapwood_raise(status, &error);
}

/* Keeps the parameters from which the solver's numbers followed, and drops the others. */
static void keep_parameters(sapwood_problem *self, const sap_parameters *parameters) {
  self->parameters = *parameters;
  self->parameters.delta = self->energy_follows ? parameters->delta : NULL;
  if (!self->is_physical) {
    self->parameters.phi0 = self->parameters.k = self->parameters.tau_d = NULL;
    self->parameters.slip_ratio = NULL;
  }
}

static int read_all(sapwood_problem *self, const sapwood_problem_arguments *in, PyObject *groups) {
  sap_parameters parameters = {0};
  struct sap_masses masses;
  struct sap_block block = {0};
  const sap_allocator memory = sap_allocator_or_default(NULL);
  const int failed =
      read_trees(self, in, groups) < 0 || copy_trees(self) < 0 || read_dynamics(self, in) < 0 ||
      take_factors(self, in->factors_of) < 0 || find_masses(self, &masses, &block, &memory) < 0 ||
      read_slip_ratio(self, in, &parameters) < 0 ||
      read_regularization(self, in, &parameters, &masses) < 0 ||
      read_cores(self, in, &parameters) < 0 ||
      sapwood_groups_read_values(&self->groups, groups, &self->problem, &parameters, &masses) < 0 ||
      check_values(self) < 0 || keep_guess(self, in) < 0 ||
      sapwood_factors_keep(&self->factors, &self->problem, self->A, &masses, &block) < 0;
  sap_block_release(&block, &memory);
  keep_parameters(self, &parameters);
  return failed ? -1 : 0;
}

static PyObject *problem_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  sapwood_problem_arguments in;
  if (sapwood_problem_arguments_parse(&in, args, keywords) < 0) {
    return NULL;
  }
  PyObject *groups = tuple_of_groups(in.groups);
  if (groups == NULL) {
    return NULL;
  }
  sapwood_problem *self = (sapwood_problem *)type->tp_alloc(type, 0);
  const int failed = self == NULL || read_all(self, &in, groups) < 0;
  Py_DECREF(groups);
  if (failed) {
    Py_XDECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

/* ---- type ----------------------------------------------------------------------------------- */

#define PART(name, place, text) \
  {#name, T_OBJECT_EX, offsetof(sapwood_problem, place), READONLY, text}
#define ARRAY(name, text) PART(name, name, text)

static PyMemberDef members[] = {
    ARRAY(tree_nv, "velocities per tree (n_trees)"),
    ARRAY(A, "row-major blocks of the mass matrix, tree after tree"),
    ARRAY(v_star, "free-motion velocity (nv)"),
    ARRAY(tree_a, "first tree of each contact (n_contacts)"),
    ARRAY(tree_b, "second tree of each contact or -1 (n_contacts)"),
    ARRAY(J, "contact Jacobians, flat"),
    ARRAY(mu, "friction coefficients (n_contacts)"),
    ARRAY(R_t, "tangential regularization, 1/kg (n_contacts)"),
    ARRAY(R_n, "normal regularization, 1/kg (n_contacts)"),
    ARRAY(v_hat_n, "normal stabilization velocity, m/s (n_contacts)"),
    ARRAY(v_hat_t, "tangential bias, m/s (n_contacts, 2), or None"),
    ARRAY(phi0, "signed distance, m (n_contacts), or None"),
    ARRAY(k, "stiffness, N/m (n_contacts), or None"),
    ARRAY(tau_d, "dissipation time, s (n_contacts), or None"),
    ARRAY(core, "kind of the rigid core (n_contacts) int8, or None"),
    ARRAY(kappa, "energy of the core, J (n_contacts), or None"),
    ARRAY(core_lambda, "exponent of the core (n_contacts), or None"),
    PART(core_table, core_table.given, "nodes s and b'' of the tabulated core (2, n), or None"),
    ARRAY(delta, "depth of the core, m (n_contacts), or None"),
    ARRAY(v_guess, "where a solve starts (nv), or None"),
    ARRAY(friction_bound, "bound of the friction, N s, or NaN (n_contacts), or None"),
    ARRAY(slip_ratio, "slip speed at the start of the step over V_s (n_contacts), or None"),
    PART(spin_contact, spin.contact,
         "contacts with torsional and rolling friction (n_spins), or None"),
    PART(spin_J, spin.J, "their Jacobians about (n, t1, t2), flat, or None"),
    PART(spin_mu, spin.mu, "their lengths mu_k, m (n_spins, 3), or None"),
    PART(groups, groups.bounds, "R, v_hat, lower and upper of each group of constraints"),
    {"nv", T_LONGLONG, offsetof(sapwood_problem, sizes.nv), READONLY, "number of velocities"},
    {NULL, 0, 0, 0, NULL}};

static void problem_dealloc(PyObject *object) {
  sapwood_problem *self = (sapwood_problem *)object;
  for (const PyMemberDef *member = members; member->name != NULL; member++) {
    if (member->type == T_OBJECT_EX) {
      Py_CLEAR(*(PyObject **)((char *)object + member->offset));
    }
  }
  sapwood_factors_clear(&self->factors);
  PyMem_Free(self->indices);
  sapwood_groups_clear(&self->groups);
  sapwood_spin_clear(&self->spin);
  sapwood_core_table_clear(&self->core_table);
  sapwood_free_object(object);
}

_Static_assert(sizeof(long long) == sizeof(int64_t), "T_LONGLONG is not int64_t");

PyDoc_STRVAR(
    problem_doc,
    "Problem(tree_nv, A, v_star, tree_a, tree_b, J, mu, dt, sigma, beta, delassus, phi0=None, "
    "k=None, tau_d=None, R_t=None, R_n=None, v_hat_n=None, v_hat_t=None, groups=[], "
    "core=None, kappa=None, core_lambda=None, delta=None, v_guess=None, friction_bound=None, "
    "spin_contact=None, spin_J=None, spin_mu=None, slip_ratio=None, core_table=None, "
    "factors_of=None)\n--\n\n"
    "Arrays of one contact problem, checked. See sapwood.ContactProblem.");

static PyType_Slot slots[] = {{Py_tp_doc, (void *)problem_doc},
                              {Py_tp_new, (void *)problem_new},
                              {Py_tp_dealloc, (void *)problem_dealloc},
                              {Py_tp_members, members},
                              {0, NULL}};

static PyType_Spec spec = SAPWOOD_SPEC("Problem", sapwood_problem, Py_TPFLAGS_IMMUTABLETYPE);

sapwood_problem *sapwood_as_problem(const sapwood_state *state, PyObject *object) {
  if (!Py_IS_TYPE(object, state->problem_type)) {
    PyErr_Format(PyExc_TypeError, "problem must be a sapwood._core.Problem, not %s",
                 Py_TYPE(object)->tp_name);
    return NULL;
  }
  return (sapwood_problem *)object;
}

int sapwood_read_guess(const sapwood_problem *problem, PyObject *guess, PyArrayObject **array,
                       const double **v_guess) {
  *array = NULL;
  *v_guess = NULL;
  guess = guess == Py_None ? problem->v_guess : guess;
  if (guess != Py_None) {
    *array = sapwood_as_vector(guess, "v_guess", (npy_intp)problem->sizes.nv, SAPWOOD_ANY);
    *v_guess = sapwood_optional_doubles(*array);
  }
  return guess != Py_None && *array == NULL ? -1 : 0;
}

int sapwood_add_problem(PyObject *module) {
  return sapwood_add_type(module, &spec, &sapwood_state_of_module(module)->problem_type);
}
