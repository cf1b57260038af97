/* This file checks the calls of task control, keeps its memory and names its outcomes. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/finite.h"
#include "invdyn/tasks/task_program.h"

/* largest sizes for which indices fit */
enum { MOST_VELOCITIES = 10000, MOST_ROWS = 200000 };

struct tasks_solver {
  sap_allocator allocator;
  struct sap_block block;
  tasks_settings settings; /* settings and sizes for which the block is carved */
  tasks_problem most;
  struct task_program program;
};

tasks_settings tasks_settings_default(void) {
  return (tasks_settings){.edges = 4, .force_weight = 1e-2, .acceleration_weight = 1e-5};
}

sap_status tasks_settings_check(const tasks_settings *s, sap_error *error) {
  const struct sap_scalar_rule rules[] = {
      {"edges", s->edges, s->edges >= 4 && s->edges <= 1024 && s->edges % 2 == 0,
       "must be even, from 4 to 1024"},
      {"force_weight", s->force_weight, s->force_weight > 0 && s->force_weight < INFINITY,
       "must be finite and > 0"},
      {"acceleration_weight", s->acceleration_weight,
       s->acceleration_weight > 0 && s->acceleration_weight < INFINITY, "must be finite and > 0"},
  };
  return sap_check_rules(rules, sizeof rules / sizeof *rules, error);
}

static const char *const outcome_text[] = {"solved", "iteration_limit", "inaccurate", "non_finite"};
_Static_assert(sizeof outcome_text / sizeof *outcome_text == TASKS_NON_FINITE + 1,
               "one text per outcome");

const char *tasks_outcome_text(tasks_outcome outcome) {
  return outcome <= TASKS_NON_FINITE ? outcome_text[outcome] : "unknown outcome";
}

/* ---- memory ---------------------------------------------------------------------------------- */

sap_status tasks_create(tasks_solver **solver, const sap_allocator *allocator, sap_error *error) {
  const sap_allocator hook = sap_allocator_or_default(allocator);
  *solver = hook.allocate(sizeof **solver, hook.context);
  if (!*solver) {
    return sap_fail(error, SAP_OUT_OF_MEMORY, "solver", -1, NAN, "memory ran out");
  }
  memset(*solver, 0, sizeof **solver);
  (*solver)->allocator = hook;
  (*solver)->program.kernels = sap_kernels_best();
  return SAP_OK;
}

void tasks_destroy(tasks_solver *solver) {
  if (solver) {
    const sap_allocator hook = solver->allocator;
    sap_block_release(&solver->block, &hook);
    hook.release(solver, hook.context);
  }
}

static void pieces(void *context, struct sap_arena *arena) {
  tasks_solver *solver = context;
  task_program_carve(&solver->program, arena, &solver->settings, &solver->most);
}

static sap_status check_sizes(const tasks_settings *settings, const tasks_problem *p,
                              sap_error *error) {
  const struct sap_scalar_rule rules[] = {
      {"m", p->m, p->m >= 0 && p->m <= MOST_VELOCITIES, "must be from 0 to 10000"},
      {"n_q", p->n_q, p->n_q >= 0 && p->n_q <= p->m, "must be from 0 to m"},
      {"n", p->n, p->n >= 0 && p->n <= MOST_ROWS / settings->edges,
       "must be from 0 to 200000 / edges"},
      {"n_T", p->n_T, p->n_T >= 0 && p->n_T <= MOST_ROWS, "must be from 0 to 200000"},
  };
  return sap_check_rules(rules, sizeof rules / sizeof *rules, error);
}

sap_status tasks_reserve(tasks_solver *solver, const tasks_settings *settings,
                         const tasks_problem *problem, sap_error *error) {
  sap_status status = tasks_settings_check(settings, error);
  if (status == SAP_OK) {
    status = check_sizes(settings, problem, error);
  }
  const tasks_problem *most = &solver->most;
  if (status != SAP_OK ||
      (solver->block.base && problem->m == most->m && problem->n_q == most->n_q &&
       problem->n <= most->n && problem->n_T <= most->n_T &&
       settings->edges == solver->settings.edges)) {
    return status;
  }
  solver->settings = *settings;
  solver->most =
      (tasks_problem){.m = problem->m, .n_q = problem->n_q, .n = problem->n, .n_T = problem->n_T};
  if (!sap_block_carve(&solver->block, pieces, solver, &solver->allocator)) {
    solver->most.m = -1;
    return sap_fail(error, SAP_OUT_OF_MEMORY, "problem", -1, NAN, "memory ran out");
  }
  return SAP_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static sap_status check_actuated(const tasks_problem *problem, double *mark, sap_error *error) {
  memset(mark, 0, (size_t)problem->m * sizeof *mark);
  for (int32_t i = 0; i < problem->n_q; ++i) {
    const int32_t at = problem->actuated[i];
    if (at < 0 || at >= problem->m) {
      return sap_invalid(error, "actuated", i, at, "must be a velocity, from 0 to m - 1");
    }
    if (mark[at] > 0) {
      return sap_invalid(error, "actuated", i, at, "must name a velocity once");
    }
    mark[at] = 1;
  }
  return SAP_OK;
}

static sap_status check_not_negative(const char *name, int32_t n, const double *x,
                                     sap_error *error) {
  for (int32_t i = 0; i < n; ++i) {
    if (x[i] < 0) {
      return sap_invalid(error, name, i, x[i], "must be >= 0");
    }
  }
  return SAP_OK;
}

static sap_status check_limits(const tasks_problem *problem, sap_error *error) {
  for (int32_t i = 0; i < problem->n_q; ++i) {
    const double lower = problem->lower ? problem->lower[i] : -INFINITY;
    const double upper = problem->upper ? problem->upper[i] : INFINITY;
    if (!(lower < INFINITY)) {
      return sap_invalid(error, "lower", i, lower, "must be finite or -inf");
    }
    if (!(upper >= lower) || !(upper > -INFINITY)) {
      return sap_invalid(error, "upper", i, upper, "must be >= lower, and not -inf");
    }
  }
  return SAP_OK;
}

static sap_status check_arrays(const tasks_problem *problem, double *mark, sap_error *error) {
  const int64_t m = problem->m, n = problem->n, n_T = problem->n_T;
  const struct {
    const char *name;
    const double *values;
    int64_t length;
  } arrays[] = {{"M", problem->M, m * m}, {"h", problem->h, m},   {"T", problem->T, n_T * m},
                {"t", problem->t, n_T},   {"w", problem->w, n_T}, {"J", problem->J, 3 * n * m},
                {"mu", problem->mu, n}};
  sap_status status = check_actuated(problem, mark, error);
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays && status == SAP_OK; ++i) {
    status = sap_check_finite(arrays[i].name, arrays[i].length, arrays[i].values, error);
  }
  for (int32_t j = 0; j < problem->m && status == SAP_OK; ++j) {
    const double diagonal = problem->M[j * (m + 1)];
    if (!(diagonal > 0)) {
      status = sap_invalid(error, "M", j * (m + 1), diagonal, "must have a positive diagonal");
    }
  }
  if (status == SAP_OK) {
    status = check_not_negative("w", problem->n_T, problem->w, error);
  }
  if (status == SAP_OK) {
    status = check_not_negative("mu", problem->n, problem->mu, error);
  }
  return status == SAP_OK ? check_limits(problem, error) : status;
}

sap_status tasks_solve(tasks_solver *solver, const tasks_settings *settings,
                       const tasks_problem *problem, tasks_solution *solution, sap_error *error) {
  sap_status status = tasks_reserve(solver, settings, problem, error);
  if (status == SAP_OK) {
    status = check_arrays(problem, solver->program.g, error);
  }
  if (status == SAP_OK) {
    task_program_solve(&solver->program, settings, problem, solution);
  }
  return status;
}
