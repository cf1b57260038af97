/* _core.solve_dense: one solve from a mass matrix and a contact Jacobian.
 *
 * A problem of one tree has the memory layout of its two matrices, so they are used in place. The
 * call makes no Problem: regularization and solve share one factorization of M, and the memory is
 * that of a cached solver. */
#include "python/parts.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "python/errors.h"
#include "python/signals.h"
#include "python/solver/py_settings.h"
#include "python/solver/solution.h"

/* positions of the arguments */
enum { M, V_STAR, J, MU, R, V_HAT, K, PHI0, TAU_D, DT, SIGMA, BETA, GUESS, SETTINGS, FRICTION, N };

static const char *const frictions[] = {"convex", "lagged", "coulomb", NULL};

typedef struct dense_call {
  PyArrayObject *array[N]; /* the arrays among the arguments; NULL for the others */
  double *room;            /* numbers (n_contacts each) that are repeated or computed */
  int32_t *trees;          /* (n_contacts) tree_a, then tree_b */
  sap_problem problem;
  sap_sizes sizes;
  sap_parameters parameters;
  sap_settings settings;
  double *R_t, *R_n, *v_hat_n; /* (n_contacts) outputs of the regularization */
  int32_t nv;
  int is_physical; /* 1: the regularization follows from k */
} dense_call;

/* ---- arguments ------------------------------------------------------------------------------ */

/* Reads the two matrices and the velocity, and makes room for numbers of each contact. */
static int read_matrices(dense_call *call, PyObject *const *args) {
  npy_intp square[2] = {-1, -1}, rows[2] = {-1, -1};
  if ((call->array[M] = sapwood_as_float64(args[M], "M", 2, square, SAPWOOD_ANY)) == NULL) {
    return -1;
  }
  const npy_intp nv = square[0] = square[1] = rows[1] = PyArray_DIM(call->array[M], 0);
  if (PyArray_DIM(call->array[M], 1) != nv) {
    Py_XDECREF(sapwood_as_float64(args[M], "M", 2, square, SAPWOOD_ANY)); /* raises */
    return -1;
  }
  if (nv < 1 || nv > INT32_MAX) {
    return SAPWOOD_FAIL(PyExc_ValueError, "M must have from 1 to 2^31 - 1 rows");
  }
  if ((call->array[V_STAR] = sapwood_as_vector(args[V_STAR], "v_star", nv, SAPWOOD_ANY)) == NULL ||
      (call->array[J] = sapwood_as_float64(args[J], "J", 2, rows, SAPWOOD_ANY)) == NULL) {
    return -1;
  }
  const npy_intp n_rows = PyArray_DIM(call->array[J], 0), n = n_rows / 3;
  if (n_rows % 3 != 0 || n > INT32_MAX) {
    return SAPWOOD_FAIL(PyExc_ValueError, "J has shape (%zd, %zd), expected (3 n_contacts, %zd)",
                        (Py_ssize_t)n_rows, (Py_ssize_t)nv, (Py_ssize_t)nv);
  }
  enum { N_ROOMS = 7 };
  call->room = PyMem_Malloc((size_t)n * (N_ROOMS * sizeof(double) + 2 * sizeof(int32_t)) + 1);
  if (call->room == NULL) {
    return sapwood_no_memory();
  }
  call->trees = (int32_t *)(call->room + N_ROOMS * n);
  memset(call->trees, 0, (size_t)n * sizeof(int32_t));
  memset(call->trees + n, -1, (size_t)n * sizeof(int32_t));
  call->nv = (int32_t)nv;
  call->sizes = (sap_sizes){nv, nv * nv, n_rows * nv, 0, 0};
  call->problem = sap_problem_default();
  call->problem.n_trees = 1;
  call->problem.n_contacts = (int32_t)n;
  call->problem.tree_nv = &call->nv;
  call->problem.tree_a = call->trees;
  call->problem.tree_b = call->trees + n;
  call->problem.A = sapwood_doubles(call->array[M]);
  call->problem.v_star = sapwood_doubles(call->array[V_STAR]);
  call->problem.J = sapwood_doubles(call->array[J]);
  return 0;
}

static const double *repeat(double value, int32_t n, double *room) {
  for (int32_t i = 0; i < n; i++) {
    room[i] = value;
  }
  return room;
}

/* Returns numbers of each contact (n_contacts): the argument's own array, or one number repeated in
 * `room`. `absent` replaces None, which NaN refuses. Returns NULL with an exception. */
static const double *read_numbers(dense_call *call, PyObject *const *args, int which,
                                  const char *name, double absent, double *room) {
  const int32_t n = call->problem.n_contacts;
  PyObject *given = args[which];
  if ((given == Py_None && !isnan(absent)) || PyFloat_CheckExact(given)) {
    return repeat(given == Py_None ? absent : PyFloat_AS_DOUBLE(given), n, room);
  }
  PyArrayObject *array = sapwood_as_float64(given, name, -1, NULL, SAPWOOD_ANY);
  if (array == NULL) {
    return NULL;
  }
  if (PyArray_NDIM(array) == 0) {
    const double value = sapwood_doubles(array)[0];
    Py_DECREF(array);
    return repeat(value, n, room);
  }
  call->array[which] = sapwood_as_vector((PyObject *)array, name, n, SAPWOOD_ANY);
  Py_DECREF(array);
  return sapwood_optional_doubles(call->array[which]);
}

/* Reads R: a number or (n_contacts) for all rows of a contact, or (n_contacts, 2) with R_t and
 * R_n. */
static int read_regularization(dense_call *call, PyObject *const *args) {
  sap_problem *problem = &call->problem;
  const int32_t n = problem->n_contacts;
  PyArrayObject *array = NULL;
  if (PyArray_Check(args[R]) && PyArray_NDIM((PyArrayObject *)args[R]) == 2) {
    array = sapwood_as_float64(args[R], "R", SAPWOOD_SHAPE(n, 2), SAPWOOD_ANY);
    if (array == NULL) {
      return -1;
    }
    for (int32_t i = 0; i < n; i++) {
      call->R_t[i] = sapwood_doubles(array)[2 * i];
      call->R_n[i] = sapwood_doubles(array)[2 * i + 1];
    }
    Py_DECREF(array);
    problem->R_t = call->R_t;
    problem->R_n = call->R_n;
  } else if ((problem->R_t = problem->R_n = read_numbers(call, args, R, "R", 0.0, call->R_t)) ==
             NULL) {
    return -1;
  }
  problem->v_hat_n = read_numbers(call, args, V_HAT, "v_hat", 0.0, call->v_hat_n);
  return problem->v_hat_n == NULL ? -1 : 0;
}

/* Reads k, phi0, tau_d, dt, sigma and beta. */
static int read_parameters(dense_call *call, PyObject *const *args) {
  const int32_t n = call->problem.n_contacts;
  double *room = call->room + 4 * (npy_intp)n;
  sap_parameters *parameters = &call->parameters;
  double dt;
  if (args[DT] == Py_None) {
    return SAPWOOD_FAIL(PyExc_TypeError, "k needs dt");
  }
  if (sapwood_as_double(args[DT], "dt", SAPWOOD_POSITIVE, &dt) < 0) {
    return -1;
  }
  *parameters = sap_parameters_default(dt);
  return sapwood_as_double(args[SIGMA], "sigma", SAPWOOD_POSITIVE, &parameters->sigma) < 0 ||
                 sapwood_as_double(args[BETA], "beta", SAPWOOD_NON_NEGATIVE, &parameters->beta) <
                     0 ||
                 (parameters->k = read_numbers(call, args, K, "k", 0.0, room)) == NULL ||
                 (parameters->phi0 = read_numbers(call, args, PHI0, "phi0", 0.0, room + n)) ==
                     NULL ||
                 (parameters->tau_d =
                      read_numbers(call, args, TAU_D, "tau_d", 0.0, room + 2 * (npy_intp)n)) == NULL
             ? -1
             : 0;
}

/* Refuses arguments that belong to the other way of giving the regularization. */
static int check_ways(PyObject *const *args) {
  static const struct {
    int which;
    const char *text;
  } of_k[] = {{PHI0, "phi0 goes with k"}, {TAU_D, "tau_d goes with k"}, {DT, "dt goes with k"}};
  const int has_R = args[R] != Py_None, has_k = args[K] != Py_None;
  if (has_R == has_k) {
    return SAPWOOD_FAIL(PyExc_TypeError, "%s",
                        has_R ? "R and k exclude each other" : "give R, or k and dt");
  }
  if (has_k && args[V_HAT] != Py_None) {
    return SAPWOOD_FAIL(PyExc_TypeError, "v_hat goes with R");
  }
  for (size_t i = 0; has_R && i < sizeof of_k / sizeof *of_k; i++) {
    if (args[of_k[i].which] != Py_None) {
      return SAPWOOD_FAIL(PyExc_TypeError, "%s", of_k[i].text);
    }
  }
  return 0;
}

static int read_settings(dense_call *call, sapwood_state *state, PyObject *const *args) {
  PyObject *object = args[SETTINGS];
  if (sapwood_load_settings(state, &object, &call->settings) < 0) {
    return -1;
  }
  if (args[FRICTION] == Py_None) {
    return 0;
  }
  const int friction = sapwood_as_choice(args[FRICTION], "friction", frictions);
  call->settings.friction = (sap_friction)friction;
  return friction < 0 ? -1 : 0;
}

static int read_all(dense_call *call, sapwood_state *state, PyObject *const *args) {
  if (check_ways(args) < 0 || read_settings(call, state, args) < 0 ||
      read_matrices(call, args) < 0) {
    return -1;
  }
  const npy_intp n = call->problem.n_contacts;
  call->problem.mu = read_numbers(call, args, MU, "mu", NAN, call->room);
  call->R_t = call->room + n;
  call->R_n = call->room + 2 * n;
  call->v_hat_n = call->room + 3 * n;
  call->is_physical = args[K] != Py_None;
  if (call->problem.mu == NULL ||
      (call->is_physical ? read_parameters : read_regularization)(call, args) < 0) {
    return -1;
  }
  if (args[GUESS] != Py_None) {
    call->array[GUESS] = sapwood_as_vector(args[GUESS], "v_guess", call->nv, SAPWOOD_ANY);
    return call->array[GUESS] == NULL ? -1 : 0;
  }
  return 0;
}

/* ---- errors --------------------------------------------------------------------------------- */

/* Raises the exception of a call that failed, in the names of its arguments. */
static void raise(sap_status status, sap_error *error, PyObject *const *args) {
  static const struct {
    const char *in_problem, *here;
  } renamed[] = {{"A", "M"}, {"v_hat_n", "v_hat"}, {"R_t", "R"}, {"R_n", "R"}};
  /* these name the row and the column of an entry, where the solver has a flat index */
  PyArrayObject *matrix = sapwood_as_float64(args[M], "M", 2, (npy_intp[]){-1, -1}, SAPWOOD_FINITE);
  Py_XDECREF(matrix);
  if (matrix == NULL) {
    return;
  }
  matrix = sapwood_as_float64(args[J], "J", 2, (npy_intp[]){-1, -1}, SAPWOOD_FINITE);
  Py_XDECREF(matrix);
  if (matrix == NULL) {
    return;
  }
  for (size_t i = 0; error->argument != NULL && i < sizeof renamed / sizeof *renamed; i++) {
    if (strcmp(error->argument, renamed[i].in_problem) == 0) {
      error->argument = renamed[i].here;
      break;
    }
  }
  if (error->kind == SAP_ERROR_TREE) {
    error->kind = SAP_ERROR_SCALAR; /* the block of the only tree is the matrix */
    error->index = -1;
    error->value = NAN;
  }
  sapwood_raise(status, error);
}

/* ---- call ----------------------------------------------------------------------------------- */

PyDoc_STRVAR(solve_dense_doc,
             "solve_dense($module, M, v_star, J, mu, R, v_hat, k, phi0, tau_d, dt, sigma, beta, "
             "v_guess, settings, friction, /)\n--\n\n"
             "Solve the problem of one mass matrix and one Jacobian. See sapwood.solve_dense.");

static PyObject *solve_dense(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
  sapwood_state *state = sapwood_state_of_module(module);
  if (n_args != N) {
    return PyErr_Format(PyExc_TypeError, "solve_dense takes %d arguments", N);
  }
  dense_call call = {0};
  sapwood_result result = {0};
  sapwood_records recorded = {0};
  sap_error error = {0};
  sap_solver *solver = NULL;
  PyObject *solution = NULL;
  if (read_all(&call, state, args) < 0 ||
      sapwood_result_allocate(&result, &call.problem, &call.sizes) < 0 ||
      sapwood_raise(
          sapwood_solver_cache_take(&state->solver_cache, &call.settings, &solver, &error),
          &error) < 0) {
    goto done;
  }
  sapwood_watch_signals(solver, state);
  const double *v_guess = sapwood_optional_doubles(call.array[GUESS]);
  sap_status status;
  double seconds;
  Py_BEGIN_ALLOW_THREADS
  seconds = sap_seconds();
  status =
      call.is_physical
          ? sap_solver_solve_physical(solver, &call.problem, &call.parameters, call.R_t, call.R_n,
                                      call.v_hat_n, v_guess, &result.solution, &error)
          : sap_solver_solve(solver, &call.problem, v_guess, &result.solution, &error);
  seconds = sap_seconds() - seconds;
  if (status == SAP_OK && call.settings.record_history) {
    status = sapwood_copy_history(solver, &recorded);
  }
  Py_END_ALLOW_THREADS
  if (status != SAP_OK) {
    raise(status, &error, args);
    goto done;
  }
  solution = sapwood_solution(state, &result, &call.problem, seconds,
                              call.settings.record_history ? &recorded : NULL);
done:
  sapwood_solver_cache_leave(&state->solver_cache, solver);
  PyMem_RawFree(recorded.copy);
  PyMem_Free(call.room);
  sapwood_release(call.array, N);
  sapwood_result_clear(&result);
  return solution;
}

static PyMethodDef methods[] = {
    {"solve_dense", SAPWOOD_FAST(solve_dense), METH_FASTCALL, solve_dense_doc},
    {NULL, NULL, 0, NULL}};

int sapwood_add_dense(PyObject *module) { return PyModule_AddFunctions(module, methods); }
