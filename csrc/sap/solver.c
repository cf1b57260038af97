#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/finite.h"
#include "base/status.h"
#include "base/threads.h"
#include "problem/groups.h"
#include "problem/problem.h"
#include "sap/solver.h"

sap_status sap_solver_create(sap_solver **solver, const sap_settings *settings,
                             const sap_allocator *allocator, sap_error *error) {
  *solver = NULL;
  const sap_settings chosen = settings ? *settings : sap_settings_default();
  const sap_status status = sap_settings_check(&chosen, error);
  if (status != SAP_OK) {
    return status;
  }
  const sap_allocator memory = sap_allocator_or_default(allocator);
  /* CHOLMOD has one state for all its factorizations */
  const int32_t n_threads = chosen.factorization == SAP_CHOLMOD ? 1 : chosen.threads;
  const size_t bytes = sizeof(sap_solver) + (size_t)n_threads * sizeof(struct sap_workspace);
  struct sap_block block = {0};
  if (!sap_block_reserve(&block, bytes, &memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  sap_solver *made = (void *)block.base;
  const int32_t set = sap_kernels_best_set();
  *made = (sap_solver){.block = block,
                       .settings = chosen,
                       .work = {.memory = memory,
                                .kernels = sap_kernels_best(),
                                .jacobian_loops = sap_jacobian_loops_of(set),
                                .vectors = sap_vector_loops_of(set),
                                .sharing = {.n_threads = n_threads},
                                .view = made->view}};
  for (int law = 0; law < SAP_N_LAWS; ++law) {
    made->work.laws[law] = sap_laws[law]->loops[set];
  }
  for (int32_t k = 0; k < n_threads; ++k) {
    made->view[k] = made->work;
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
    solver->work.has_graph = 0;
    solver->work.records.n = 0;
  }
  return status;
}

size_t sap_solver_memory(const sap_solver *solver) {
  const struct sap_workspace *w = &solver->work;
  return solver->block.capacity + w->graph_block.capacity + w->row_block.capacity +
         w->number_block.capacity + w->triples.block.capacity + w->reduction.block.capacity;
}

void sap_solver_destroy(sap_solver *solver) {
  if (solver) {
    const sap_allocator memory = solver->work.memory;
    sap_threads_destroy(solver->threads, &memory);
    sap_workspace_release(&solver->work);
    struct sap_block block = solver->block;
    sap_block_release(&block, &memory);
  }
}

const sap_iteration *sap_solver_history(const sap_solver *solver, int32_t *n_records) {
  *n_records = solver->work.records.n;
  return solver->work.records.first;
}

/* the threads that share the islands, woken; NULL where there is too little work for more than
 * one */
static struct sap_threads *rouse(const sap_solver *solver) {
  if (!solver->threads || !sap_sharing_pays(&solver->work.sharing)) {
    return NULL;
  }
  sap_threads_rouse(solver->threads);
  return solver->threads;
}

struct masses {
  const sap_problem *problem;
  struct sap_workspace *w;
  atomic_int wrong;
};

/* a thread's share of the trees */
static void invert_masses(void *context, int32_t task, int32_t thread) {
  struct masses *all = context;
  const struct sap_workspace *w = all->w;
  const int64_t n_trees = all->problem->n_trees, n = w->sharing.n_threads;
  (void)thread;
  if (sap_invert_mass(all->problem, (int32_t)(n_trees * task / n),
                      (int32_t)(n_trees * (task + 1) / n), w->graph.tree_position, w->kernels, w->S,
                      w->is_diagonal, NULL) != SAP_OK) {
    all->wrong = 1;
  }
}

/* sap_invert_mass() of all trees; of several faults the first is named */
static sap_status invert_mass(sap_solver *solver, const sap_problem *problem, sap_error *error) {
  struct sap_workspace *w = &solver->work;
  struct sap_threads *threads = rouse(solver);
  if (threads) {
    struct masses all = {problem, w, 0};
    const struct sap_loop loop = {invert_masses, &all, w->sharing.n_threads};
    sap_threads_run(threads, &loop);
    if (!all.wrong) {
      return SAP_OK;
    }
  }
  return sap_invert_mass(problem, 0, problem->n_trees, w->graph.tree_position, w->kernels, w->S,
                         w->is_diagonal, error);
}

/* which rule is broken, where one is */
static sap_status find_fault(sap_solver *solver, const sap_problem *complete, const double *v_guess,
                             sap_error *error) {
  const sap_sizes *sizes = &solver->work.graph.sizes;
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
static int others_are_finite(const struct sap_workspace *w, const double *v) {
  const int any = w->reduction.tree || w->graph.n_nodes < w->graph.n_trees;
  return !any || sap_first_non_finite(w->graph.sizes.nv, v) < 0;
}

/* Checks all but the numbers that solving an island checks, and makes the workspace fit the
 * problem: *complete is the problem with what `physical` gave. */
static sap_status prepare(sap_solver *solver, const sap_problem *problem,
                          const struct sap_regularization *physical, int reduce,
                          sap_problem *complete, int32_t *reused, double *symbolic_seconds,
                          sap_error *error) {
  struct sap_workspace *w = &solver->work;
  sap_sizes sizes;
  *complete = *problem;
  w->records.n = 0;
  w->pool.soft = solver->settings.soft_norm * solver->settings.soft_norm;
  const int has_contacts = w->has_graph && sap_graph_has_contacts(&w->graph, problem);
  sap_status status = SAP_OK;
  if (has_contacts && problem->n_contacts == w->graph.n_triples && w->graph.sizes.n_rows == 0 &&
      problem->n_groups == 0) {
    sizes = w->graph.sizes;
  } else {
    status = sap_problem_sizes(problem, &sizes, error);
  }
  sap_reduction_clear(&w->reduction, problem);
  if (status == SAP_OK) {
    status = sap_check_groups_given(problem, error);
  }
  if (status == SAP_OK) {
    status = sap_check_barriers_given(problem, physical ? physical->parameters : NULL, error);
  }
  if (status == SAP_OK) {
    status = sap_triples_list(&w->triples, problem, &w->memory);
  }
  if (status == SAP_OK && reduce) {
    status =
        sap_reduction_find(&w->reduction, problem, &w->triples, w->kernels, w->vectors, &w->memory);
  }
  if (status == SAP_OK) {
    const double start = sap_seconds();
    status = sap_workspace_prepare(w, problem, &sizes, has_contacts, &solver->settings, reused);
    *symbolic_seconds = sap_seconds() - start;
  }
  w->has_masses = physical || w->reduction.tree;
  if (status == SAP_OK && w->has_masses) {
    status = invert_mass(solver, problem, error);
  }
  if (status == SAP_OK && physical) {
    complete->R_t = physical->R_t;
    complete->R_n = physical->R_n;
    complete->v_hat_n = physical->v_hat_n;
    const struct sap_masses masses = {w->kernels, w->graph.tree_A, w->S, w->rows};
    status = sap_regularize_with(problem, &sizes, physical, &masses, error);
    if (status == SAP_OK && w->triples.has_walls && physical->parameters->delta) {
      complete->kappa = w->kappa;
      status = sap_barrier_energy(problem, physical->parameters, physical->R_n, w->kappa, error);
    }
  }
  if (status == SAP_OK) {
    status = sap_check_given(complete, error);
  }
  if (status == SAP_OK && !others_are_finite(w, problem->v_star)) {
    status = find_fault(solver, complete, NULL, error);
  }
  return status;
}

sap_status sap_solver_load(sap_solver *solver, const sap_problem *problem, sap_error *error) {
  struct sap_workspace *w = &solver->work;
  sap_problem complete;
  int32_t reused;
  double seconds;
  const sap_status status = prepare(solver, problem, NULL, 0, &complete, &reused, &seconds, error);
  int valid = status != SAP_OK || sap_first_non_finite(w->graph.sizes.nv, problem->v_star) < 0;
  for (int32_t i = 0; status == SAP_OK && i < w->graph.n_islands; ++i) {
    valid &= sap_workspace_bind(w, &w->graph.island[i], &complete);
  }
  return valid ? status : find_fault(solver, &complete, NULL, error);
}

static sap_status run(sap_solver *solver, const sap_problem *problem,
                      const struct sap_regularization *physical, const double *v_guess,
                      sap_solution *solution, sap_error *error) {
  struct sap_workspace *w = &solver->work;
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
                        .barrier_scale = solution->barrier_scale};
  sap_problem complete;
  sap_status status = prepare(solver, problem, physical, solver->settings.islands, &complete,
                              &found.symbolic_reused, &found.symbolic_seconds, error);
  if (status == SAP_OK && v_guess && !others_are_finite(w, v_guess)) {
    status = find_fault(solver, &complete, v_guess, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  found.n_islands = w->graph.n_islands;
  const struct sap_job job = {&complete, v_guess, &solver->settings};
  if (!sap_islands_solve(w, rouse(solver), &job, &found)) {
    return find_fault(solver, &complete, v_guess, error);
  }
  /* trees that no constraint touches move freely */
  const int any = w->graph.n_nodes < problem->n_trees;
  for (int32_t t = 0; any && t < problem->n_trees; ++t) {
    if (w->graph.tree_position[t] < 0) {
      const int64_t first = w->graph.tree_v[t];
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
  const struct sap_regularization physical = {parameters, R_t, R_n, v_hat_n, NULL};
  return sap_solver_solve_regularized(solver, problem, &physical, v_guess, solution, error);
}
