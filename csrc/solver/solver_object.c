#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/finite.h"
#include "base/fail.h"
#include "base/threads.h"
#include "problem/groups.h"
#include "problem/problem_check.h"
#include "solver/solver_object.h"

sap_status sap_solver_create(sap_solver **solver, const sap_settings *settings,
                             const sap_allocator *allocator, sap_error *error) {
  *solver = NULL;
  const sap_settings chosen = settings ? *settings : sap_settings_default();
  const sap_status status = sap_settings_check(&chosen, error);
  if (status != SAP_OK) {
    return status;
  }
  const sap_allocator memory = sap_allocator_or_default(allocator);
  const int32_t n_threads = chosen.threads;
  const size_t bytes = sizeof(sap_solver) + (size_t)n_threads * sizeof(struct sap_workspace);
  struct sap_block block = {0};
  if (!sap_block_reserve(&block, bytes, &memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  sap_solver *made = (void *)block.base;
  *made = (sap_solver){.block = block,
                       .settings = chosen,
                       .plan = {.memory = memory},
                       .islands = {.work = made->work, .sharing = {.n_threads = n_threads}}};
  made->history = &made->islands.records;
  sap_plan_take_loops(&made->plan, sap_kernels_best_set());
  for (int32_t k = 0; k < n_threads; ++k) {
    made->work[k] = (struct sap_workspace){.plan = &made->plan,
                                           .graph = &made->plan.graph,
                                           .interrupt_check = {&made->interruption, k == 0, 0}};
  }
  if (n_threads > 1) {
    made->threads = sap_threads_create(n_threads, &memory);
    if (!made->threads) {
      sap_solver_destroy(made);
      return SAP_OUT_OF_MEMORY;
    }
  }
  *solver = made;
  return SAP_OK;
}

sap_status sap_solver_reset(sap_solver *solver, const sap_settings *settings, sap_error *error) {
  const sap_status status = sap_settings_check(settings, error);
  if (status == SAP_OK) {
    solver->settings = *settings;
    solver->plan.has_graph = 0;
    solver->dense.has_graph = 0;
    solver->islands.records.n = 0;
    solver->history = &solver->islands.records;
    sap_solver_set_interrupt(solver, NULL);
    sap_solver_leave_bounds_out(solver, 0);
  }
  return status;
}

void sap_solver_leave_bounds_out(sap_solver *solver, int leaves_out) {
  solver->plan.leaves_bounds_out = leaves_out;
}

void sap_solver_set_interrupt(sap_solver *solver, const sap_interrupt *interrupt) {
  solver->interruption.interrupt = interrupt ? *interrupt : (sap_interrupt){0};
}

size_t sap_solver_memory(const sap_solver *solver) {
  return solver->block.capacity + sap_plan_memory(&solver->plan) + solver->islands.block.capacity +
         sap_dense_memory(&solver->dense) + solver->proximal.capacity + solver->masses.capacity;
}

void sap_solver_destroy(sap_solver *solver) {
  if (solver) {
    const sap_allocator memory = solver->plan.memory;
    sap_threads_destroy(solver->threads, &memory);
    sap_block_release(&solver->islands.block, &memory);
    sap_dense_release(&solver->dense, &memory);
    sap_block_release(&solver->proximal, &memory);
    sap_block_release(&solver->masses, &memory);
    sap_plan_release(&solver->plan);
    struct sap_block block = solver->block;
    sap_block_release(&block, &memory);
  }
}

const sap_iteration *sap_solver_history(const sap_solver *solver, int32_t *n_records) {
  *n_records = solver->history->n;
  return solver->history->first;
}

/* Wakes and returns the threads that share the islands; NULL if there is too little work. */
static struct sap_threads *wake_threads(const sap_solver *solver) {
  if (!solver->threads || !sap_sharing_pays(&solver->islands.sharing)) {
    return NULL;
  }
  sap_threads_wake(solver->threads);
  return solver->threads;
}

struct masses {
  const sap_problem *problem;
  const struct sap_plan *plan;
  const int32_t *position;
  int32_t n_threads;
  atomic_int wrong;
};

/* Inverts the masses of one thread's share of the trees. */
static void invert_masses(void *context, int32_t task, int32_t thread) {
  struct masses *all = context;
  const struct sap_plan *plan = all->plan;
  const int64_t n_trees = all->problem->n_trees, n = all->n_threads;
  (void)thread;
  if (sap_invert_mass(all->problem, (int32_t)(n_trees * task / n),
                      (int32_t)(n_trees * (task + 1) / n), all->position, plan->masses.S,
                      plan->masses.strips, plan->is_diagonal, NULL) != SAP_OK) {
    all->wrong = 1;
  }
}

/* Inverts the masses of all trees with position >= 0. The error names the first of several
 * faults. */
static sap_status invert_mass(sap_solver *solver, const sap_problem *problem,
                              const int32_t *position, sap_error *error) {
  const struct sap_plan *plan = &solver->plan;
  struct sap_threads *threads = wake_threads(solver);
  if (threads) {
    const int32_t n_threads = solver->islands.sharing.n_threads;
    struct masses all = {problem, plan, position, n_threads, 0};
    const struct sap_loop loop = {invert_masses, &all, n_threads};
    sap_threads_run(threads, &loop);
    if (!all.wrong) {
      return SAP_OK;
    }
  }
  return sap_invert_mass(problem, 0, problem->n_trees, position, plan->masses.S,
                         plan->masses.strips, plan->is_diagonal, error);
}

sap_status sap_solver_fault(sap_solver *solver, const sap_problem *complete, const double *v_guess,
                            sap_error *error) {
  const sap_sizes *sizes = &solver->plan.graph.sizes;
  sap_status status = invert_mass(solver, complete, solver->plan.graph.tree_position, error);
  if (status == SAP_OK) {
    status = sap_check_finite("v_star", sizes->nv, complete->v_star, error);
  }
  if (status == SAP_OK && v_guess) {
    status = sap_check_finite("v_guess", sizes->nv, v_guess, error);
  }
  if (status == SAP_OK) {
    status = sap_check_constraints(complete, sizes, error);
  }
  if (status == SAP_OK) {
    status = sap_check_compliant(complete, error);
  }
  return status != SAP_OK ? status
                          : sap_fail(error, SAP_INVALID_ARGUMENT, "J", -1, NAN,
                                     "must not change while it is read");
}

/* Are the velocities finite that islands do not check: those of trees in no island and eliminated
 * ones? */
static int others_are_finite(const struct sap_plan *plan, const double *v) {
  const int any = plan->reduction.tree || plan->graph.n_nodes < plan->graph.n_trees;
  return !any || sap_first_non_finite(plan->graph.sizes.nv, v) < 0;
}

/* A problem on its way to its islands. */
struct task {
  const sap_problem *given;
  const struct sap_regularization *physical; /* NULL if the problem is regularized already */
  sap_problem complete;                      /* `given` with the regularization of `physical` */
  sap_sizes sizes;
  int has_contacts;   /* 1: the graph of the plan has its contacts */
  int is_regularized; /* 1: its masses and the regularization exist */
};

/* Finds the sizes of a problem and its triples, and makes room for the masses of its trees. */
static sap_status begin(sap_solver *solver, const sap_problem *problem,
                        const struct sap_regularization *physical, struct task *task,
                        sap_error *error) {
  struct sap_plan *plan = &solver->plan;
  const struct sap_graph *graph = &plan->graph;
  *task = (struct task){.given = problem, .physical = physical, .complete = *problem};
  task->has_contacts = plan->has_graph && sap_graph_has_contacts(graph, problem);
  solver->islands.records.n = 0;
  plan->friction = solver->settings.friction;
  sap_status status = SAP_OK;
  const int is_listed = sap_triples_are_of(&plan->triples, problem, plan->friction);
  if (is_listed) {
    task->sizes = plan->triples.sizes;
  } else if (task->has_contacts && problem->n_contacts == graph->n_triples &&
             graph->sizes.n_rows == 0 && problem->n_groups == 0 && !problem->spin) {
    task->sizes = graph->sizes;
  } else {
    status = sap_problem_sizes(problem, &task->sizes, error);
  }
  if (status == SAP_OK && !sap_plan_fit_masses(plan, problem, &task->sizes)) {
    status = SAP_OUT_OF_MEMORY;
  }
  if (status == SAP_OK) {
    status = sap_check_groups_given(problem, error);
  }
  if (status == SAP_OK) {
    status = sap_check_laws_given(problem, solver->settings.friction,
                                  physical ? physical->parameters : NULL, error);
  }
  if (status == SAP_OK) {
    sap_reduction_clear(&plan->reduction, problem);
  }
  if (status == SAP_OK && !is_listed) {
    status = sap_triples_list(&plan->triples, problem, &task->sizes, solver->settings.friction,
                              &plan->memory);
  }
  return status;
}

/* Finds the masses of all trees with position >= 0, and the regularization of `physical`. */
static sap_status regularize(sap_solver *solver, const int32_t *position, struct task *task,
                             sap_error *error) {
  const struct sap_plan *plan = &solver->plan;
  const struct sap_regularization *physical = task->physical;
  sap_status status = invert_mass(solver, task->given, position, error);
  if (status == SAP_OK && physical) {
    task->complete.R_t = physical->R_t;
    task->complete.R_n = physical->R_n;
    task->complete.v_hat_n = physical->v_hat_n;
    status = sap_regularize_with(task->given, &task->sizes, physical, &plan->masses, error);
  }
  task->is_regularized = status == SAP_OK;
  return status;
}

/* Checks the problem, except the numbers that solving an island checks. Fits plan and workspaces to
 * the problem without the trees that are left out. */
static sap_status prepare(sap_solver *solver, struct task *task, int reduce, const int8_t *left_out,
                          int32_t *reused, double *symbolic_seconds, sap_error *error) {
  struct sap_plan *plan = &solver->plan;
  const sap_problem *problem = task->given;
  const struct sap_regularization *physical = task->physical;
  sap_status status = SAP_OK;
  if (reduce) {
    status = sap_reduction_find(&plan->reduction, problem, &plan->triples, left_out, plan->kernels,
                                plan->vectors, &plan->memory);
  }
  *symbolic_seconds = 0;
  *reused = status == SAP_OK && task->has_contacts &&
            sap_plan_has_graph_of(plan, left_out, &solver->settings);
  if (*reused) {
    plan->graph.sizes = task->sizes; /* the same triples may have other numbers of rows */
  } else if (status == SAP_OK) {
    const double start = sap_seconds();
    status = sap_plan_build(plan, problem, &task->sizes, left_out, &solver->settings);
    if (status == SAP_OK) {
      status = sap_islands_fit(&solver->islands, &solver->settings);
      plan->has_graph = status == SAP_OK;
    }
    *symbolic_seconds = sap_seconds() - start;
  }
  plan->n_islands = left_out ? plan->n_islands : plan->graph.n_islands;
  plan->has_masses = task->is_regularized || physical || plan->reduction.tree;
  if (status == SAP_OK && plan->has_masses && !task->is_regularized) {
    status = regularize(solver, plan->graph.tree_position, task, error);
  }
  if (status == SAP_OK && physical && plan->triples.has_walls && physical->parameters->delta) {
    task->complete.kappa = plan->kappa;
    status = sap_barrier_energy(problem, physical->parameters, physical->R_n, plan->kappa, error);
  }
  if (status == SAP_OK) {
    status = sap_check_given(&task->complete, error);
  }
  if (status == SAP_OK && !others_are_finite(plan, problem->v_star)) {
    status = sap_solver_fault(solver, &task->complete, NULL, error);
  }
  return status;
}

sap_status sap_solver_lay_out(sap_solver *solver, const sap_problem *problem,
                              const struct sap_regularization *physical, sap_error *error) {
  struct task task;
  int32_t reused;
  double seconds;
  sap_status status = begin(solver, problem, physical, &task, error);
  if (status == SAP_OK) {
    status = prepare(solver, &task, 0, NULL, &reused, &seconds, error);
  }
  if (status != SAP_OK || sap_first_non_finite(solver->plan.graph.sizes.nv, problem->v_star) < 0) {
    return status;
  }
  return sap_solver_fault(solver, problem, NULL, error);
}

sap_status sap_solver_load(sap_solver *solver, const sap_problem *problem, sap_error *error) {
  const struct sap_graph *graph = &solver->plan.graph;
  const sap_status status = sap_solver_lay_out(solver, problem, NULL, error);
  int valid = 1;
  for (int32_t i = 0; status == SAP_OK && i < graph->n_islands; ++i) {
    valid &= sap_workspace_bind(solver->work, &graph->island[i], problem);
  }
  return valid ? status : sap_solver_fault(solver, problem, NULL, error);
}

/* ---- solving --------------------------------------------------------------------------------- */

/* Do the given numbers of constraints, which no regularization computes, keep their rules? Contacts
 * are checked one by one elsewhere. */
static int numbers_are_given(const struct task *task) {
  const struct sap_regularization *physical = task->physical;
  return (physical || sap_check_given(task->given, NULL) == SAP_OK) &&
         ((physical && physical->parameters->groups) ||
          sap_check_groups(task->given, 1, NULL) == SAP_OK);
}

/* Solves the dense components, and counts those it has solved. It leaves other components to the
 * islands. If a number outside of a component breaks a rule, it leaves all to the islands, which
 * find the error. */
static sap_status solve_dense(sap_solver *solver, struct task *task, const double *v_guess,
                              struct sap_sums *sums, int32_t *n_solved) {
  struct sap_dense *dense = &solver->dense;
  struct sap_components *components = &dense->components;
  struct sap_plan *plan = &solver->plan;
  const sap_problem *problem = task->given;
  const sap_settings *settings = &solver->settings;
  if (!sap_components_find(components, problem, &plan->triples, settings, &plan->memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  plan->n_islands = components->n_all;
  if (components->n_dense == 0 || !problem->A || !problem->v_star || !numbers_are_given(task) ||
      sap_first_non_finite(task->sizes.nv, problem->v_star) >= 0 ||
      (v_guess && sap_first_non_finite(task->sizes.nv, v_guess) >= 0)) {
    return SAP_OK;
  }
  if (!sap_dense_fit(dense, plan, problem, &task->sizes, settings)) {
    return SAP_OUT_OF_MEMORY;
  }
  if (regularize(solver, components->touched, task, NULL) == SAP_OK) {
    plan->has_masses = 1;
    *n_solved = sap_dense_solve(dense, &task->complete, v_guess, settings, sums);
  }
  return SAP_OK;
}

/* Solves all components that dense storage has left. */
static sap_status solve_islands(sap_solver *solver, struct task *task,
                                const struct sap_components *dense, const double *v_guess,
                                struct sap_sums *sums, sap_solution *found, sap_error *error) {
  const struct sap_graph *graph = &solver->plan.graph;
  sap_status status =
      prepare(solver, task, solver->settings.islands, dense ? dense->is_solved : NULL,
              &found->symbolic_reused, &found->symbolic_seconds, error);
  if (status == SAP_OK && v_guess && !others_are_finite(&solver->plan, v_guess)) {
    status = sap_solver_fault(solver, &task->complete, v_guess, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  found->n_islands += graph->n_islands;
  const struct sap_job job = {&task->complete, v_guess, &solver->settings, dense,
                              &solver->dense.records};
  if (!sap_islands_solve(&solver->islands, wake_threads(solver), &job, sums, found)) {
    return solver->interruption.wanted ? SAP_INTERRUPTED
                                       : sap_solver_fault(solver, &task->complete, v_guess, error);
  }
  return SAP_OK;
}

/* Sets v = v* for trees that no constraint touches. */
static void move_freely(const struct sap_plan *plan, const sap_problem *problem,
                        const int32_t *position, double *v) {
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    if (position[t] < 0) {
      const int64_t first = plan->masses.tree_v[t];
      memcpy(v + first, problem->v_star + first, (size_t)problem->tree_nv[t] * sizeof(double));
    }
  }
}

sap_status sap_solver_run(sap_solver *solver, const sap_problem *problem,
                          const struct sap_regularization *physical, const double *v_guess,
                          sap_solution *solution, sap_error *error) {
  struct sap_plan *plan = &solver->plan;
  struct sap_components *components = &solver->dense.components;
  if (!solution->v || (problem->n_contacts > 0 && !solution->gamma)) {
    return sap_fail(error, SAP_INVALID_ARGUMENT, solution->v ? "gamma" : "v", -1, NAN,
                    "the solution must have room for it");
  }
  sap_solution found = {.v = solution->v,
                        .gamma = solution->gamma,
                        .v_c = solution->v_c,
                        .regions = solution->regions,
                        .group_gamma = solution->group_gamma,
                        .group_v_c = solution->group_v_c,
                        .spin_gamma = solution->spin_gamma,
                        .spin_v_c = solution->spin_v_c,
                        .barrier_scale = solution->barrier_scale,
                        .islands = solution->islands,
                        .natural_residual = NAN,
                        .symbolic_reused = 1}; /* unless something symbolic is done */
  struct task task;
  struct sap_sums sums = sap_sums_none();
  sap_status status = begin(solver, problem, physical, &task, error);
  solver->history = &solver->islands.records;
  solver->dense.records.n = 0;
  int tried = 0;
  if (status == SAP_OK && solver->settings.islands && !solver->without_dense) {
    status = solve_dense(solver, &task, v_guess, &sums, &found.n_islands);
    tried = components->n_dense > 0;
  }
  const int32_t n_dense = found.n_islands;
  if (tried && found.n_islands == components->n_all) {
    solver->history = &solver->dense.records;
  } else if (status == SAP_OK) {
    status = solve_islands(solver, &task, tried ? components : NULL, v_guess, &sums, &found, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  sap_sums_conclude(&sums, problem->n_contacts + task.sizes.n_rows, &solver->settings, &found);
  if (n_dense > 0) {
    sap_dense_write(&solver->dense, &found);
  }
  move_freely(plan, problem, tried ? components->touched : plan->graph.tree_position, found.v);
  *solution = found;
  return SAP_OK;
}

void sap_solver_begin(sap_solver *solver) {
  /* the last problem tells whether helpers are useful: they wake while the graph is built */
  wake_threads(solver);
  sap_interruption_begin(&solver->interruption);
}

void sap_solver_end(sap_solver *solver) {
  if (solver->threads) {
    sap_threads_sleep(solver->threads);
  }
}

sap_status sap_solver_solve_physical(sap_solver *solver, const sap_problem *problem,
                                     const sap_parameters *parameters, double *R_t, double *R_n,
                                     double *v_hat_n, const double *v_guess, sap_solution *solution,
                                     sap_error *error) {
  const struct sap_regularization physical = {parameters, R_t, R_n, v_hat_n};
  sap_solver_begin(solver);
  const sap_status status = sap_solver_run(solver, problem, &physical, v_guess, solution, error);
  sap_solver_end(solver);
  return status;
}
