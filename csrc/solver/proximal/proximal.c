#include "solver/proximal/proximal.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "problem/groups.h"
#include "problem/problem_check.h"
#include "solver/proximal/rigidity.h"
#include "solver/solver_object.h"
#include "solver/solver_tuning.h"

/* ---- memory ---- */

static void carve(void *context, struct sap_arena *arena) {
  struct sap_proximal *p = context;
  struct sap_natural *natural = &p->natural;
  const sap_problem *problem = p->blocks.problem;
  const size_t n = (size_t)problem->n_contacts, rows = (size_t)p->blocks.n_rows,
               nv = (size_t)p->blocks.nv;
  double **const by_row[] = {&p->w,       &p->center,      &p->gamma,          &p->best,
                             &p->R,       &p->v_hat,       &natural->R,        &natural->v_hat,
                             &natural->s, &natural->lower, &natural->upper,    &natural->v_c,
                             &natural->u, &natural->F,     &natural->magnitude};
  double **const by_velocity[] = {&p->v, &p->error, &natural->v, &natural->scratch};
  double **const by_contact[] = {&p->R_t, &p->R_n, &p->v_hat_n};
  for (size_t a = 0; a < sizeof by_row / sizeof *by_row; ++a) {
    *by_row[a] = sap_arena_take(arena, rows, sizeof(double));
  }
  for (size_t a = 0; a < sizeof by_velocity / sizeof *by_velocity; ++a) {
    *by_velocity[a] = sap_arena_take(arena, nv, sizeof(double));
  }
  for (size_t a = 0; a < sizeof by_contact / sizeof *by_contact; ++a) {
    *by_contact[a] = sap_arena_take(arena, n, sizeof(double));
  }
  p->v_hat_t = sap_arena_take(arena, 2 * n, sizeof(double));
  p->groups = sap_arena_take(arena, (size_t)problem->n_groups, sizeof *p->groups);
  natural->regions = sap_arena_take(arena, n, sizeof(int8_t));
  p->blocks.block =
      sap_arena_take(arena, (size_t)sap_row_blocks_count(problem), sizeof *p->blocks.block);
}

/* Checks that w is finite, and that every row has some compliance s > 0. */
static sap_status check_masses(const struct sap_proximal *p, sap_error *error) {
  int64_t k = 0;
  for (int32_t i = 0; i < p->blocks.n; ++i) {
    for (const int64_t end = k + p->blocks.block[i].n_rows; k < end; ++k) {
      if (!(isfinite(p->natural.s[k]) && (p->w[k] > 0 || p->natural.R[k] > 0))) {
        return sap_fail_whole(error, SAP_INVALID_ARGUMENT, SAP_ERROR_CONSTRAINT, "J", i, p->w[k],
                              "must give an effective mass");
      }
    }
  }
  return SAP_OK;
}

/* Checks the problem, makes room and finds w. */
static sap_status begin(sap_solver *solver, const sap_problem *problem, const sap_sizes *sizes,
                        struct sap_proximal *p, sap_error *error) {
  *p = (struct sap_proximal){.blocks = {.problem = problem,
                                        .nv = sizes->nv,
                                        .n_rows = 3 * (int64_t)problem->n_contacts + sizes->n_rows},
                             .natural = {.friction = solver->settings.friction}};
  p->natural.blocks = &p->blocks;
  sap_status status =
      sap_masses_find(&p->blocks.masses, problem, &solver->masses, &solver->plan.memory, error);
  if (status == SAP_OK) {
    status = sap_check_constraints(problem, sizes, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  if (!sap_block_carve(&solver->proximal, carve, p, &solver->plan.memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  sap_row_blocks_list(&p->blocks);
  sap_rows_effective_masses(&p->blocks, p->w);
  sap_natural_read(&p->natural, p->w);
  status = check_masses(p, error);
  if (status != SAP_OK) {
    return status;
  }
  memset(p->center, 0, (size_t)p->blocks.n_rows * sizeof *p->center);
  memset(p->best, 0, (size_t)p->blocks.n_rows * sizeof *p->best);
  return SAP_OK;
}

/* ---- one solve ---- */

/* Returns R + D of row k, and adds D gamma_k to its v_hat. */
static double soften(const struct sap_proximal *p, int64_t k, double sigma, double *v_hat) {
  const double R = p->natural.R[k], softer = fmax(R, sigma * p->w[k]);
  *v_hat = p->natural.v_hat[k] + (softer - R) * p->center[k];
  return softer;
}

/* Returns the problem around gamma_k. */
static sap_problem center_problem(const struct sap_proximal *p, double sigma) {
  sap_problem problem = *p->blocks.problem;
  const int64_t n_contacts = problem.n_contacts;
  for (int64_t i = 0; i < n_contacts; ++i) {
    p->R_t[i] = soften(p, 3 * i, sigma, &p->v_hat_t[2 * i]);
    soften(p, 3 * i + 1, sigma, &p->v_hat_t[2 * i + 1]);
    p->R_n[i] = soften(p, 3 * i + 2, sigma, &p->v_hat_n[i]);
  }
  for (int64_t k = 3 * n_contacts; k < p->blocks.n_rows; ++k) {
    p->R[k] = soften(p, k, sigma, &p->v_hat[k]);
  }
  int64_t k = 3 * n_contacts;
  for (int32_t g = 0; g < problem.n_groups; ++g) {
    p->groups[g] = problem.groups[g];
    p->groups[g].R = p->R + k;
    p->groups[g].v_hat = p->v_hat + k;
    for (int32_t i = 0; i < problem.groups[g].n; ++i) {
      k += problem.groups[g].size ? problem.groups[g].size[i] : 1;
    }
  }
  problem.R_t = p->R_t;
  problem.R_n = p->R_n;
  problem.v_hat_n = p->v_hat_n;
  problem.v_hat_t = p->v_hat_t;
  problem.groups = p->groups;
  return problem;
}

/* Adds the statistics of a solve to those of the solves before. */
static void add_statistics(sap_solution *sum, const sap_solution *last) {
  const sap_solution before = *sum;
  *sum = *last;
  sum->proximal_solves = before.proximal_solves + 1;
  sum->iterations += before.iterations;
  sum->total_iterations += before.total_iterations;
  sum->line_search_trials += before.line_search_trials;
  sum->symbolic_reused =
      before.proximal_solves > 0 ? before.symbolic_reused : last->symbolic_reused;
  sum->symbolic_seconds += before.symbolic_seconds;
  sum->assembly_seconds += before.assembly_seconds;
  sum->factor_seconds += before.factor_seconds;
  sum->line_search_seconds += before.line_search_seconds;
}

/* Solves the problem around gamma_k for gamma_k+1. */
static sap_status solve_once(sap_solver *solver, const struct sap_proximal *p, double sigma,
                             double strictness, const double *v_guess, sap_island_report *islands,
                             sap_solution *sum, sap_error *error) {
  const sap_settings settings = solver->settings;
  const sap_problem problem = center_problem(p, sigma);
  sap_solution solution = sap_solution_default();
  solution.v = p->v;
  solution.gamma = p->gamma;
  solution.group_gamma = p->gamma + 3 * (int64_t)problem.n_contacts;
  solution.islands = islands;
  solver->settings.relative_tolerance =
      strictness * fmax(fmin(sap_solve_share * settings.natural_tolerance, sap_first_tolerance),
                        sap_gamma_digits / sigma);
  const int32_t left = settings.max_iterations - sum->iterations;
  solver->settings.max_iterations =
      left < SAP_MOST_PROXIMAL_ITERATIONS ? left : SAP_MOST_PROXIMAL_ITERATIONS;
  const sap_status status = sap_solver_run(solver, &problem, NULL, v_guess, &solution, error);
  solver->settings = settings;
  if (status == SAP_OK) {
    add_statistics(sum, &solution);
  }
  return status;
}

/* ---- the iteration ---- */

/* The progress of an iteration. */
struct progress {
  double sigma, least; /* sigma of the next solve, and its lower limit */
  double last, best;   /* natural residuals after the last solve, and of the best impulses */
  double strictness;   /* factor of the tolerance of e_m */
  int failures;        /* solves that were too stiff */
};

/* Does |F| meet the tolerance, or lie within its round-off? */
static int meets_tolerance(const struct sap_natural *natural, const sap_settings *settings) {
  return natural->error <= settings->absolute_tolerance +
                               settings->natural_tolerance * natural->size + natural->round_off;
}

/* Chooses center and sigma of the next solve after one of so many iterations with this outcome. */
static void choose_next(const struct sap_proximal *p, int32_t iterations, sap_outcome outcome,
                        struct progress *progress) {
  const size_t bytes = (size_t)p->blocks.n_rows * sizeof(double);
  const double residual = sap_natural_residual(&p->natural);
  const int gains_little = !(residual <= sap_little_gain * progress->last);
  if (residual < progress->best) {
    progress->best = residual;
    memcpy(p->best, p->gamma, bytes);
  } else if (outcome > SAP_STALLED && gains_little) {
    /* too stiff: again from the best impulses, with a softer spring; the second time this lasts */
    progress->sigma = fmin(progress->sigma / sap_sigma_factor, sap_most_sigma);
    progress->least = progress->failures++ > 0 ? progress->sigma : progress->least;
    progress->last = progress->best;
    memcpy(p->center, p->best, bytes);
    return;
  }
  memcpy(p->center, p->gamma, bytes);
  if (gains_little) {
    progress->sigma = fmax(progress->sigma * sap_sigma_factor, progress->least);
    progress->strictness *= iterations == 0 ? sap_stricter : 1;
  }
  progress->last = residual;
}

/* Runs solves until the natural residual meets the tolerance. The impulses found are p->gamma, last
 * evaluated. */
static sap_status iterate(sap_solver *solver, const struct sap_proximal *p,
                          struct sap_natural *natural, const double *v_guess,
                          sap_island_report *islands, sap_solution *sum, sap_error *error) {
  struct progress progress = {sap_first_sigma, sap_least_sigma, INFINITY, INFINITY, 1, 0};
  sap_outcome outcome = SAP_PROXIMAL_LIMIT;
  for (int k = 0; k < SAP_MOST_SOLVES && outcome == SAP_PROXIMAL_LIMIT; ++k) {
    const int32_t before = sum->iterations;
    const sap_status status = solve_once(solver, p, progress.sigma, progress.strictness,
                                         k > 0 ? p->v : v_guess, islands, sum, error);
    if (status != SAP_OK) {
      return status;
    }
    sap_natural_evaluate(natural, p->gamma);
    if (meets_tolerance(natural, &solver->settings)) {
      sum->outcome = SAP_CONVERGED;
      return SAP_OK;
    }
    choose_next(p, sum->iterations - before, sum->outcome, &progress);
    outcome = sum->iterations >= solver->settings.max_iterations ? SAP_ITERATION_LIMIT : outcome;
  }
  memcpy(p->gamma, p->best, (size_t)p->blocks.n_rows * sizeof *p->gamma);
  sap_natural_evaluate(natural, p->gamma);
  sum->outcome = isfinite(natural->error + natural->size) ? outcome : SAP_NON_FINITE;
  return SAP_OK;
}

/* ---- the results ---- */

static void copy_rows(double *to, const double *from, int64_t n) {
  if (to && n > 0) {
    memcpy(to, from, (size_t)n * sizeof *to);
  }
}

/* Writes the arrays of the solution. */
static void write_results(const struct sap_proximal *p, const sap_solution *solution) {
  const int64_t n_contacts = p->blocks.problem->n_contacts, n = 3 * n_contacts;
  const int64_t n_rows = p->blocks.n_rows - n;
  copy_rows(solution->v, p->natural.v, p->blocks.nv);
  copy_rows(solution->gamma, p->gamma, n);
  copy_rows(solution->v_c, p->natural.v_c, n);
  copy_rows(solution->group_gamma, p->gamma + n, n_rows);
  copy_rows(solution->group_v_c, p->natural.v_c + n, n_rows);
  for (int64_t i = 0; i < n_contacts && solution->regions; ++i) {
    solution->regions[i] = p->natural.regions[i];
  }
  for (int64_t i = 0; i < n_contacts && solution->barrier_scale; ++i) {
    solution->barrier_scale[i] = 1;
  }
}

/* Returns l_p: half of (v - v*)^T J^T gamma = |v - v*|^2_A, and gamma (v_hat - v_c) - R gamma^2/2
 * of each row, the cost of which gamma is the slope. */
static double find_cost(const struct sap_proximal *p) {
  const struct sap_natural *natural = &p->natural;
  double sum = 0;
  sap_rows_transpose(&p->blocks, 0, p->gamma, natural->scratch);
  for (int64_t j = 0; j < p->blocks.nv; ++j) {
    sum += (natural->v[j] - p->blocks.problem->v_star[j]) * natural->scratch[j];
  }
  for (int64_t k = 0; k < p->blocks.n_rows; ++k) {
    const double gamma = p->gamma[k];
    sum += gamma * (2 * (natural->v_hat[k] - natural->v_c[k]) - natural->R[k] * gamma);
  }
  return 0.5 * sum;
}

/* Marks the islands of a solution. */
static void mark_islands(const sap_solution *solution) {
  for (int32_t i = 0; i < solution->n_islands && solution->islands; ++i) {
    solution->islands[i].fallbacks |= SAP_FALLBACK_PROXIMAL;
  }
}

/* Solves with R as it is, after the iteration has not reached its tolerance: impulses that R alone
 * limits, of constraints that contradict each other, grow slowly in it. Returns 1, and the
 * solution, if that converges. */
static int solve_directly(sap_solver *solver, const struct sap_proximal *p, const double *v_guess,
                          const sap_solution *sum, sap_solution *solution) {
  for (int64_t k = 0; k < p->blocks.n_rows; ++k) {
    if (p->natural.R[k] == 0) {
      return 0;
    }
  }
  sap_solution direct = *solution;
  const int32_t limit = solver->settings.max_iterations;
  solver->settings.max_iterations = limit - sum->iterations;
  const sap_status status = sap_solver_run(solver, p->blocks.problem, NULL, v_guess, &direct, NULL);
  solver->settings.max_iterations = limit;
  if (status != SAP_OK || direct.outcome != SAP_CONVERGED) {
    return 0;
  }
  sap_solution all = *sum;
  add_statistics(&all, &direct);
  all.proximal_solves = sum->proximal_solves;
  mark_islands(&all);
  *solution = all;
  return 1;
}

/* Solves by the iteration. */
static sap_status solve(sap_solver *solver, const sap_problem *problem, const sap_sizes *sizes,
                        const double *v_guess, sap_solution *solution, sap_error *error) {
  struct sap_proximal p;
  sap_status status = begin(solver, problem, sizes, &p, error);
  sap_solution sum = sap_solution_default();
  if (status == SAP_OK) {
    status = iterate(solver, &p, &p.natural, v_guess, solution->islands, &sum, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  if (sum.outcome == SAP_PROXIMAL_LIMIT && solve_directly(solver, &p, v_guess, &sum, solution)) {
    return SAP_OK;
  }
  sum.v = solution->v;
  sum.gamma = solution->gamma;
  sum.v_c = solution->v_c;
  sum.regions = solution->regions;
  sum.group_gamma = solution->group_gamma;
  sum.group_v_c = solution->group_v_c;
  sum.spin_gamma = solution->spin_gamma;
  sum.spin_v_c = solution->spin_v_c;
  sum.barrier_scale = solution->barrier_scale;
  sum.islands = solution->islands;
  sum.tree = -1;
  sum.natural_residual = sap_natural_residual(&p.natural);
  sum.cost = find_cost(&p);
  if (!isfinite(sum.cost)) {
    sum.outcome = SAP_NON_FINITE; /* squares of velocities exceed the range of a double */
  }
  write_results(&p, &sum);
  mark_islands(&sum);
  sum.velocity_error_bound = sap_natural_bound(&p.natural, p.gamma, p.center, p.v, p.error);
  sum.cost_gap_bound = INFINITY;
  *solution = sum;
  return SAP_OK;
}

/* Does the problem need the iteration? Its arrays are checked as far as they are read. */
static int is_wanted(sap_solver *solver, const sap_problem *problem, sap_sizes *sizes,
                     sap_status *status) {
  *status = SAP_OK;
  if (sap_problem_sizes(problem, sizes, NULL) != SAP_OK ||
      sap_check_given(problem, NULL) != SAP_OK || sap_check_groups_given(problem, NULL) != SAP_OK) {
    return 0; /* the solve reports the fault */
  }
  struct sap_arena arena = {NULL, 0};
  sap_arena_take(&arena, (size_t)sizes->nv, sizeof(double));
  sap_arena_take(&arena, (size_t)problem->n_trees, sizeof(int64_t));
  if (!sap_block_reserve(&solver->proximal, arena.used, &solver->plan.memory)) {
    *status = SAP_OUT_OF_MEMORY;
    return 0;
  }
  arena = (struct sap_arena){solver->proximal.base, 0};
  double *inverse = sap_arena_take(&arena, (size_t)sizes->nv, sizeof *inverse);
  int64_t *first = sap_arena_take(&arena, (size_t)problem->n_trees, sizeof *first);
  return sap_is_rigid(problem, &solver->settings, inverse, first);
}

sap_status sap_solver_solve(sap_solver *solver, const sap_problem *problem, const double *v_guess,
                            sap_solution *solution, sap_error *error) {
  sap_sizes sizes;
  sap_status status = SAP_OK;
  sap_solver_begin(solver);
  const int has_room = solution->v && (problem->n_contacts == 0 || solution->gamma);
  if (has_room && is_wanted(solver, problem, &sizes, &status)) {
    status = solve(solver, problem, &sizes, v_guess, solution, error);
  } else if (status == SAP_OK) {
    status = sap_solver_run(solver, problem, NULL, v_guess, solution, error);
  }
  sap_solver_end(solver);
  return status;
}
