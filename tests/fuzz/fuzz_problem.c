/* Problems and settings out of bytes, sound ones and hostile ones, through every call of the C
 * interface. Whatever they are, nothing crashes or hangs, and what the header promises holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                       \
    }                                                                                \
  } while (0)

/* ---- outputs -------------------------------------------------------------------------------- */

enum { UNTOUCHED = 0xA5 };

/* room for a solution, in one block of bytes that tell whether they were written */
struct outputs {
  sap_solution solution;
  uint8_t *bytes;
  size_t size;
};

static struct outputs make_outputs(const struct made *m) {
  const size_t nv = (size_t)m->sizes.nv, n = (size_t)m->problem.n_contacts,
               n_rows = (size_t)m->sizes.n_rows, n_spins = (size_t)m->spin.n;
  const size_t numbers = nv + 7 * n + 2 * n_rows + 6 * n_spins;
  struct outputs o = {.size = numbers * sizeof(double) + n};
  o.bytes = malloc(o.size);
  if (!o.bytes) {
    abort();
  }
  memset(o.bytes, UNTOUCHED, o.size);
  double *x = (double *)o.bytes;
  o.solution.v = x;
  o.solution.gamma = x += nv;
  o.solution.v_c = x += 3 * n;
  o.solution.barrier_scale = x += 3 * n;
  o.solution.group_gamma = x += n;
  o.solution.group_v_c = x += n_rows;
  o.solution.spin_gamma = x += n_rows;
  o.solution.spin_v_c = x += 3 * n_spins;
  o.solution.regions = (int8_t *)(x + 3 * n_spins);
  return o;
}

static int is_untouched(const void *array, size_t size) {
  const uint8_t *bytes = array;
  size_t i = 0;
  while (i < size && bytes[i] == UNTOUCHED) {
    ++i;
  }
  return i == size;
}

static int all_finite(int64_t n, const double *x) {
  int64_t i = 0;
  while (i < n && isfinite(x[i])) {
    ++i;
  }
  return i == n;
}

/* An error says what it is about, and a sound problem has none. */
static void check_status(sap_status status, int is_sound, const sap_error *error) {
  HOLDS(status == SAP_OK || status == SAP_INVALID_ARGUMENT || status == SAP_NOT_POSITIVE_DEFINITE);
  HOLDS(status == SAP_OK || (error->argument && error->rule));
  /* Proximal solves find no finite effective mass where J is large. */
  const int overflows = status != SAP_OK && strcmp(error->rule, "must give an effective mass") == 0;
  if (status != SAP_OK && is_sound && !overflows) {
    fprintf(stderr, "refused: %s[%lld] = %g: %s\n", error->argument, (long long)error->index,
            error->value, error->rule);
    abort();
  }
}

static void check_solution(const struct made *m, const sap_solution *s) {
  const int64_t n = m->problem.n_contacts;
  HOLDS(s->outcome >= SAP_CONVERGED && s->outcome <= SAP_PROXIMAL_LIMIT);
  HOLDS(s->velocity_error_bound >= 0 && s->cost_gap_bound >= 0);
  HOLDS(s->iterations >= 0 && s->total_iterations >= s->iterations);
  HOLDS((s->outcome == SAP_BREAKDOWN) == (s->tree >= 0));
  for (int64_t i = 0; i < n; ++i) {
    HOLDS(s->regions[i] >= SAP_STICTION && s->regions[i] <= SAP_NO_CONTACT);
    HOLDS(s->barrier_scale[i] >= 1);
  }
  if (s->outcome != SAP_NON_FINITE) {
    HOLDS(all_finite(m->sizes.nv, s->v));
    HOLDS(all_finite(3 * n, s->gamma));
    HOLDS(all_finite(m->sizes.n_rows, s->group_gamma));
    HOLDS(all_finite(3 * (int64_t)m->spin.n, s->spin_gamma));
  }
  /* gradient and scale may both be round-off, the scale 0 */
  if (s->outcome == SAP_CONVERGED) {
    HOLDS(s->momentum_error >= 0 && isfinite(s->cost));
  }
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* what two solves agree in where they should give the same bits */
static int equal(const struct outputs *a, const struct outputs *b) {
  return a->solution.outcome == b->solution.outcome &&
         a->solution.total_iterations == b->solution.total_iterations &&
         memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* is_sound: problem and guess pass their checks */
static void solve(sap_solver *solver, const struct made *m, int is_sound) {
  struct outputs first = make_outputs(m), second = make_outputs(m);
  sap_error error = {0};
  const sap_status status =
      sap_solver_solve(solver, &m->problem, m->guess, &first.solution, &error);
  check_status(status, is_sound, &error);
  if (status == SAP_OK) {
    check_solution(m, &first.solution);
    int32_t n_records;
    const sap_iteration *records = sap_solver_history(solver, &n_records);
    for (int32_t i = 0; i < n_records; ++i) {
      HOLDS(records[i].island >= 0 && records[i].island < first.solution.n_islands);
    }
  } else {
    HOLDS(is_untouched(first.bytes, first.size));
  }
  HOLDS(sap_solver_solve(solver, &m->problem, m->guess, &second.solution, NULL) == status);
  HOLDS(equal(&first, &second));
  free(first.bytes);
  free(second.bytes);
}

/* settings: those of the solver */
static void solve_physical(sap_solver *solver, const struct made *m, const sap_settings *settings) {
  const int32_t n = m->problem.n_contacts;
  struct outputs whole = make_outputs(m), parts = make_outputs(m);
  double R[3][64];
  sap_problem given = m->problem;
  given.R_t = R[0];
  given.R_n = R[1];
  given.v_hat_n = R[2];
  HOLDS(n <= 64);
  sap_error error = {0};
  const sap_status regularized =
      sap_regularize(&m->problem, &m->parameters, R[0], R[1], R[2], NULL, &error);
  check_status(regularized, 0, &error);
  if (regularized == SAP_OK) {
    HOLDS(all_finite(n, R[0]) && all_finite(n, R[1]) && all_finite(n, R[2]));
    const double *rebound = m->parameters.rebound;
    for (int32_t i = 0; i < n && rebound; ++i) {
      HOLDS(R[2][i] >= rebound[i] || rebound[i] == 0 || !isinf(m->parameters.k[i]));
    }
  }
  sap_parameters parameters = m->parameters;
  parameters.delta = NULL;
  const sap_status in_parts =
      regularized == SAP_OK ? sap_solver_solve(solver, &given, m->guess, &parts.solution, NULL)
                            : regularized;
  const sap_status at_once = sap_solver_solve_physical(solver, &m->problem, &parameters, R[0], R[1],
                                                       R[2], m->guess, &whole.solution, &error);
  check_status(at_once, 0, &error);
  if (at_once == SAP_OK) {
    check_solution(m, &whole.solution);
  } else {
    HOLDS(is_untouched(whole.bytes, whole.size));
  }
  /* a tree that nothing touches is read by the first half alone; Coulomb's law may have several
   * solutions, and few contacts are solved for in another way; the second half has no proximal
   * solves */
  if (in_parts == SAP_OK && parts.solution.proximal_solves == 0) {
    HOLDS(at_once == SAP_OK);
    HOLDS(settings->friction == SAP_FRICTION_COULOMB || equal(&whole, &parts));
  }
  if (m->parameters.delta) {
    sap_solver_solve_physical(solver, &m->problem, &m->parameters, R[0], R[1], R[2], m->guess,
                              &whole.solution, &error);
  }
  free(whole.bytes);
  free(parts.bytes);
}

static void evaluate(sap_solver *solver, const struct made *m, struct input *in, int is_sound) {
  const size_t nv = (size_t)m->sizes.nv;
  const size_t size = (2 * nv + nv * nv) * sizeof(double);
  double *gradient = malloc(size), cost;
  if (!gradient || !m->problem.v_star) {
    free(gradient);
    return;
  }
  memset(gradient, UNTOUCHED, size);
  sap_error error = {0};
  sap_status status = sap_solver_evaluate(solver, &m->problem, m->problem.v_star, &cost, gradient,
                                          gradient + 2 * nv, gradient + nv, &error);
  check_status(status, is_sound, &error);
  HOLDS(status == SAP_OK || is_untouched(gradient, size));
  double alpha[4], along[12];
  memset(along, UNTOUCHED, sizeof along);
  for (int i = 0; i < 4; ++i) {
    alpha[i] = take_double(in);
  }
  status = sap_solver_along_line(solver, &m->problem, m->problem.v_star, m->dv, 4, alpha, along,
                                 along + 4, along + 8, &error);
  check_status(status, 0, &error);
  HOLDS(status == SAP_OK || is_untouched(along, sizeof along));
  free(gradient);
}

static void regularize_groups(const struct made *m) {
  for (int32_t g = 0; g < m->problem.n_groups; ++g) {
    const int64_t n = m->n_rows[g];
    double *x = malloc(4 * (size_t)n * sizeof *x);
    sap_error error = {0};
    if (!x) {
      abort();
    }
    sap_group_parameters parameters = m->physical[g];
    parameters.dt = m->parameters.dt;
    parameters.sigma = m->parameters.sigma;
    parameters.beta = m->parameters.beta;
    const sap_status status = sap_regularize_group(&m->problem, &m->groups[g], &parameters, x,
                                                   x + n, x + 2 * n, x + 3 * n, NULL, &error);
    check_status(status, 0, &error);
    for (int64_t i = 0; i < n && status == SAP_OK; ++i) {
      HOLDS(x[i] > 0 && isfinite(x[i]) && isfinite(x[n + i]) && x[2 * n + i] <= x[3 * n + i]);
    }
    free(x);
  }
}

/* the laws by themselves: impulses, on a sound problem */
static void project(const struct made *m, struct input *in) {
  const sap_problem *p = &m->problem;
  enum { MOST = 64 };
  double y[3 * MOST], gamma[3 * MOST], G[9 * MOST], cost[MOST];
  int8_t region[MOST];
  HOLDS(p->n_contacts <= MOST);
  for (int32_t i = 0; i < 3 * p->n_contacts; ++i) {
    y[i] = take_double(in);
  }
  sap_project_barrier(p->n_contacts, y, p->mu, p->R_t, p->R_n, take_byte(in) / 16.0, p->barrier,
                      p->kappa, p->barrier_lambda, p->barrier_table, gamma, G, cost, region);
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    HOLDS(region[i] >= SAP_STICTION && region[i] <= SAP_NO_CONTACT);
  }
  for (int32_t g = 0; g < p->n_groups; ++g) {
    const sap_constraints *group = &p->groups[g];
    for (int64_t i = 0; i < m->n_rows[g]; ++i) {
      sap_clamp(1, &group->v_hat[i], &group->R[i], &group->lower[i], &group->upper[i], gamma, G,
                cost);
      HOLDS(gamma[0] >= group->lower[i] && gamma[0] <= group->upper[i]);
    }
  }
}

/* Is an R of the problem 0? Then calls that divide by it refuse the problem. */
static int has_zero_R(const struct made *m) {
  int zero = 0;
  for (int32_t i = 0; i < m->problem.n_contacts; ++i) {
    zero |= m->problem.R_t[i] == 0 || m->problem.R_n[i] == 0;
  }
  for (int32_t g = 0; g < m->problem.n_groups; ++g) {
    for (int64_t i = 0; i < m->n_rows[g]; ++i) {
      zero |= m->groups[g].R[i] == 0;
    }
  }
  return zero;
}

static void call_all(const struct made *m, struct input *in) {
  sap_error error = {0};
  const sap_settings settings = made_settings(in);
  const sap_status checked = sap_problem_check(&m->problem, NULL, &error);
  check_status(checked, 0, &error);
  const int fits = settings.friction == SAP_FRICTION_CONVEX || !m->problem.barrier;
  const int is_sound = checked == SAP_OK && fits &&
                       (!m->guess || all_finite(m->sizes.nv, m->guess)) && !has_zero_R(m);
  if (checked == SAP_OK) {
    project(m, in);
  }
  if (m->problem.J && m->problem.A) {
    regularize_groups(m);
  }
  sap_solver *solver;
  const sap_status created = sap_solver_create(&solver, &settings, NULL, &error);
  HOLDS(created == sap_settings_check(&settings, NULL));
  HOLDS((created == SAP_OK) == (solver != NULL));
  if (created == SAP_OK) {
    solve(solver, m, is_sound);
    evaluate(solver, m, in, is_sound);
    solve_physical(solver, m, &settings);
    sap_solver_destroy(solver);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct input in = {data, data + size};
  struct made made;
  const sap_status status = made_take(&made, &in);
  if (status == SAP_OK) {
    call_all(&made, &in);
  } else if (status == SAP_INVALID_ARGUMENT) {
    HOLDS(sap_problem_check(&made.problem, NULL, NULL) == status);
  }
  made_release(&made);
  return 0;
}
