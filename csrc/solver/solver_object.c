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
    made->work[k] =
        (struct sap_workspace){.plan = &made->plan, .lookout = {&made->interruption, k == 0, 0}};
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

sap_status sap_solver_renew(sap_solver *solver, const sap_settings *settings, sap_error *error) {
  const sap_status status = sap_settings_check(settings, error);
  if (status == SAP_OK) {
    solver->settings = *settings;
    solver->plan.has_graph = 0;
    solver->islands.records.n = 0;
    solver->history = &solver->islands.records;
    sap_solver_set_interrupt(solver, NULL);
  }
  return status;
}

void sap_solver_set_interrupt(sap_solver *solver, const sap_interrupt *interrupt) {
  solver->interruption.interrupt = interrupt ? *interrupt : (sap_interrupt){0};
}

size_t sap_solver_memory(const sap_solver *solver) {
  return solver->block.capacity + sap_plan_memory(&solver->plan) + solver->islands.block.capacity +
         sap_rows_alone_memory(&solver->rows_alone);
}

void sap_solver_destroy(sap_solver *solver) {
  if (solver) {
    const sap_allocator memory = solver->plan.memory;
    sap_threads_destroy(solver->threads, &memory);
    sap_block_release(&solver->islands.block, &memory);
    sap_rows_alone_release(&solver->rows_alone, &memory);
    sap_plan_release(&solver->plan);
    struct sap_block block = solver->block;
    sap_block_release(&block, &memory);
  }
}

const sap_iteration *sap_solver_history(const sap_solver *solver, int32_t *n_records) {
  *n_records = solver->history->n;
  return solver->history->first;
}

/* the threads that share the islands, woken; NULL where there is too little work for more than
 * one */
static struct sap_threads *rouse(const sap_solver *solver) {
  if (!solver->threads || !sap_sharing_pays(&solver->islands.sharing)) {
    return NULL;
  }
  sap_threads_rouse(solver->threads);
  return solver->threads;
}

struct masses {
  const sap_problem *problem;
  const struct sap_plan *plan;
  int32_t n_threads;
  atomic_int wrong;
};

/* a thread's share of the trees */
static void invert_masses(void *context, int32_t task, int32_t thread) {
  struct masses *all = context;
  const struct sap_plan *plan = all->plan;
  const int64_t n_trees = all->problem->n_trees, n = all->n_threads;
  (void)thread;
  if (sap_invert_mass(all->problem, (int32_t)(n_trees * task / n),
                      (int32_t)(n_trees * (task + 1) / n), plan->graph.tree_position, plan->S,
                      plan->strips, plan->is_diagonal, NULL) != SAP_OK) {
    all->wrong = 1;
  }
}

/* sap_invert_mass() of all trees; of several faults the first is named */
static sap_status invert_mass(sap_solver *solver, const sap_problem *problem, sap_error *error) {
  const struct sap_plan *plan = &solver->plan;
  struct sap_threads *threads = rouse(solver);
  if (threads) {
    const int32_t n_threads = solver->islands.sharing.n_threads;
    struct masses all = {problem, plan, n_threads, 0};
    const struct sap_loop loop = {invert_masses, &all, n_threads};
    sap_threads_run(threads, &loop);
    if (!all.wrong) {
      return SAP_OK;
    }
  }
  return sap_invert_mass(problem, 0, problem->n_trees, plan->graph.tree_position, plan->S,
                         plan->strips, plan->is_diagonal, error);
}

sap_status sap_solver_fault(sap_solver *solver, const sap_problem *complete, const double *v_guess,
                            sap_error *error) {
  const sap_sizes *sizes = &solver->plan.graph.sizes;
  sap_status status = invert_mass(solver, complete, error);
  if (status == SAP_OK) {
    status = sap_check_finite("v_star", sizes->nv, complete->v_star, error);
  }
  if (status == SAP_OK && v_guess) {
    status = sap_check_finite("v_guess", sizes->nv, v_guess, error);
  }
  if (status == SAP_OK) {
    status = sap_check_constraints(complete, sizes, error);
  }
  return status != SAP_OK ? status
                          : sap_fail(error, SAP_INVALID_ARGUMENT, "J", -1, NAN,
                                     "must not change while it is read");
}

/* Islands look at the velocities they have: are others finite, of trees in no island, and those
 * that were eliminated? */
static int others_are_finite(const struct sap_plan *plan, const double *v) {
  const int any = plan->reduction.tree || plan->graph.n_nodes < plan->graph.n_trees;
  return !any || sap_first_non_finite(plan->graph.sizes.nv, v) < 0;
}

/* Checks all but the numbers that solving an island checks, and makes plan and workspaces fit the
 * problem: *complete is the problem with what `physical` gave. */
static sap_status prepare(sap_solver *solver, const sap_problem *problem,
                          const struct sap_regularization *physical, int reduce,
                          sap_problem *complete, int32_t *reused, double *symbolic_seconds,
                          sap_error *error) {
  struct sap_plan *plan = &solver->plan;
  sap_sizes sizes;
  *complete = *problem;
  solver->islands.records.n = 0;
  const int has_contacts = plan->has_graph && sap_graph_has_contacts(&plan->graph, problem);
  sap_status status = SAP_OK;
  if (has_contacts && problem->n_contacts == plan->graph.n_triples &&
      plan->graph.sizes.n_rows == 0 && problem->n_groups == 0 && !problem->spin) {
    sizes = plan->graph.sizes;
  } else {
    status = sap_problem_sizes(problem, &sizes, error);
  }
  sap_reduction_clear(&plan->reduction, problem);
  if (status == SAP_OK) {
    status = sap_check_groups_given(problem, error);
  }
  if (status == SAP_OK) {
    status = sap_check_laws_given(problem, solver->settings.friction,
                                  physical ? physical->parameters : NULL, error);
  }
  if (status == SAP_OK) {
    status = sap_triples_list(&plan->triples, problem, solver->settings.friction, &plan->memory);
  }
  if (status == SAP_OK && reduce) {
    status = sap_reduction_find(&plan->reduction, problem, &plan->triples, plan->kernels,
                                plan->vectors, &plan->memory);
  }
  *symbolic_seconds = 0;
  *reused = status == SAP_OK && has_contacts && sap_plan_has_graph_of(plan, &solver->settings);
  if (*reused) {
    plan->graph.sizes = sizes; /* rows in as many triples can be more or fewer */
  } else if (status == SAP_OK) {
    const double start = sap_seconds();
    status = sap_plan_build(plan, problem, &sizes, &solver->settings);
    if (status == SAP_OK) {
      status = sap_islands_fit(&solver->islands, &solver->settings);
      plan->has_graph = status == SAP_OK;
    }
    *symbolic_seconds = sap_seconds() - start;
  }
  plan->has_masses = physical || plan->reduction.tree;
  if (status == SAP_OK && plan->has_masses) {
    status = invert_mass(solver, problem, error);
  }
  if (status == SAP_OK && physical) {
    complete->R_t = physical->R_t;
    complete->R_n = physical->R_n;
    complete->v_hat_n = physical->v_hat_n;
    const struct sap_masses masses = {plan->kernels,      plan->vectors, plan->graph.tree_A,
                                      plan->graph.tree_v, plan->S,       plan->strips,
                                      plan->inverse,      plan->island,  plan->load};
    status = sap_regularize_with(problem, &sizes, physical, &masses, error);
    if (status == SAP_OK && plan->triples.has_walls && physical->parameters->delta) {
      complete->kappa = plan->kappa;
      status = sap_barrier_energy(problem, physical->parameters, physical->R_n, plan->kappa, error);
    }
  }
  if (status == SAP_OK) {
    status = sap_check_given(complete, error);
  }
  if (status == SAP_OK && !others_are_finite(plan, problem->v_star)) {
    status = sap_solver_fault(solver, complete, NULL, error);
  }
  return status;
}

sap_status sap_solver_lay_out(sap_solver *solver, const sap_problem *problem, sap_error *error) {
  sap_problem complete;
  int32_t reused;
  double seconds;
  const sap_status status = prepare(solver, problem, NULL, 0, &complete, &reused, &seconds, error);
  if (status != SAP_OK || sap_first_non_finite(solver->plan.graph.sizes.nv, problem->v_star) < 0) {
    return status;
  }
  return sap_solver_fault(solver, problem, NULL, error);
}

sap_status sap_solver_load(sap_solver *solver, const sap_problem *problem, sap_error *error) {
  const struct sap_graph *graph = &solver->plan.graph;
  const sap_status status = sap_solver_lay_out(solver, problem, error);
  int valid = 1;
  for (int32_t i = 0; status == SAP_OK && i < graph->n_islands; ++i) {
    valid &= sap_workspace_bind(solver->work, &graph->island[i], problem);
  }
  return valid ? status : sap_solver_fault(solver, problem, NULL, error);
}

static sap_status run(sap_solver *solver, const sap_problem *problem,
                      const struct sap_regularization *physical, const double *v_guess,
                      sap_solution *solution, sap_error *error) {
  const struct sap_graph *graph = &solver->plan.graph;
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
                        .islands = solution->islands};
  solver->islands.records.n = 0;
  solver->history = &solver->islands.records;
  enum sap_dense_outcome dense = SAP_DENSE_UNFIT;
  if (!solver->without_dense) {
    dense = sap_rows_alone_solve(&solver->rows_alone, problem, physical, v_guess, &solver->settings,
                                 &solver->plan.memory, &found);
  }
  if (dense == SAP_DENSE_NO_MEMORY) {
    return SAP_OUT_OF_MEMORY;
  }
  if (dense == SAP_DENSE_SOLVED) {
    found.symbolic_reused = 1; /* there is nothing symbolic */
    solver->history = &solver->rows_alone.records;
    *solution = found;
    return SAP_OK;
  }
  sap_problem complete;
  sap_status status = prepare(solver, problem, physical, solver->settings.islands, &complete,
                              &found.symbolic_reused, &found.symbolic_seconds, error);
  if (status == SAP_OK && v_guess && !others_are_finite(&solver->plan, v_guess)) {
    status = sap_solver_fault(solver, &complete, v_guess, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  found.n_islands = graph->n_islands;
  const struct sap_job job = {&complete, v_guess, &solver->settings,
                              dense == SAP_DENSE_FAILED ? SAP_FALLBACK_SUPERNODAL : 0};
  if (!sap_islands_solve(&solver->islands, rouse(solver), &job, &found)) {
    return solver->interruption.wanted ? SAP_INTERRUPTED
                                       : sap_solver_fault(solver, &complete, v_guess, error);
  }
  /* trees that no constraint touches move freely */
  const int any = graph->n_nodes < problem->n_trees;
  for (int32_t t = 0; any && t < problem->n_trees; ++t) {
    if (graph->tree_position[t] < 0) {
      const int64_t first = graph->tree_v[t];
      memcpy(found.v + first, problem->v_star + first,
             (size_t)problem->tree_nv[t] * sizeof(double));
    }
  }
  *solution = found;
  return SAP_OK;
}

sap_status sap_solver_solve_regularized(sap_solver *solver, const sap_problem *problem,
                                        const struct sap_regularization *physical,
                                        const double *v_guess, sap_solution *solution,
                                        sap_error *error) {
  /* the problem before tells whether helpers will be wanted: they wake while the graph is built */
  rouse(solver);
  sap_interruption_begin(&solver->interruption);
  const sap_status status = run(solver, problem, physical, v_guess, solution, error);
  if (solver->threads) {
    sap_threads_rest(solver->threads);
  }
  return status;
}

sap_status sap_solver_solve(sap_solver *solver, const sap_problem *problem, const double *v_guess,
                            sap_solution *solution, sap_error *error) {
  return sap_solver_solve_regularized(solver, problem, NULL, v_guess, solution, error);
}

sap_status sap_solver_solve_physical(sap_solver *solver, const sap_problem *problem,
                                     const sap_parameters *parameters, double *R_t, double *R_n,
                                     double *v_hat_n, const double *v_guess, sap_solution *solution,
                                     sap_error *error) {
  const struct sap_regularization physical = {parameters, R_t, R_n, v_hat_n};
  return sap_solver_solve_regularized(solver, problem, &physical, v_guess, solution, error);
}
