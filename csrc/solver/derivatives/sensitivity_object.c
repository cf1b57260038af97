#include "solver/derivatives/sensitivity_object.h"

#include <math.h>

#include "base/finite.h"
#include "base/fail.h"
#include "problem/problem_check.h"
#include "solver/derivatives/linearize.h"

/* ---- life ---- */

sap_status sap_sensitivity_create(sap_sensitivity **sensitivity, const sap_settings *settings,
                                  const sap_allocator *allocator, sap_error *error) {
  *sensitivity = NULL;
  sap_settings chosen = settings ? *settings : sap_settings_default();
  const sap_allocator memory = sap_allocator_or_default(allocator);
  sap_status status = sap_settings_check(&chosen, error);
  if (status != SAP_OK) {
    return status;
  }
  /* only the laws of the settings matter; the solver always runs with islands on one thread */
  chosen.islands = chosen.threads = 1;
  chosen.record_history = 0;
  sap_solver *solver;
  status = sap_solver_create(&solver, &chosen, &memory, error);
  if (status != SAP_OK) {
    return status;
  }
  sap_sensitivity *made = memory.allocate(sizeof *made, memory.context);
  if (!made) {
    sap_solver_destroy(solver);
    return SAP_OUT_OF_MEMORY;
  }
  *made = (sap_sensitivity){.memory = memory, .solver = solver};
  *sensitivity = made;
  return SAP_OK;
}

void sap_sensitivity_destroy(sap_sensitivity *s) {
  if (s) {
    const sap_allocator memory = s->memory;
    sap_solver_destroy(s->solver);
    sap_block_release(&s->block, &memory);
    memory.release(s, memory.context);
  }
}

static void carve(void *context, struct sap_arena *arena) {
  struct sap_sensitivity *s = context;
  const struct sap_plan *plan = &s->solver->plan;
  const size_t scalars = (size_t)plan->graph.tree.n_scalars;
  const size_t contacts = (size_t)plan->triples.n_contacts;
  for (int r = 0; r < 3; ++r) {
    double **const by_place[] = {&s->z[r], &s->x[r], &s->by[0][r], &s->by[1][r], &s->by[2][r]};
    sap_pool_take(arena, plan->triples.n, sizeof by_place / sizeof *by_place, by_place);
  }
  s->n_coupled = sap_arena_take(arena, (size_t)plan->graph.n_islands, sizeof(int32_t));
  const size_t coupled = plan->friction == SAP_FRICTION_COULOMB ? scalars : 0;
  s->solution = sap_arena_take(arena, coupled, sizeof(double));
  s->target = sap_arena_take(arena, coupled, sizeof(double));
  s->correction = sap_arena_take(arena, coupled, sizeof(double));
  int32_t widest = 0;
  for (int32_t t = 0; s->has_parameters && t < plan->graph.n_trees; ++t) {
    widest = plan->graph.tree_nv[t] > widest ? plan->graph.tree_nv[t] : widest;
  }
  for (int side = 0; side < 2; ++side) {
    s->X[side] = sap_arena_take(arena, 3 * (size_t)widest, sizeof(double));
    s->Y[side] = sap_arena_take(arena, 3 * (size_t)widest, sizeof(double));
  }
  double **const by_contact[] = {&s->R_t, &s->R_n, &s->v_hat_n, &s->kappa};
  for (size_t k = 0; k < sizeof by_contact / sizeof *by_contact; ++k) {
    *by_contact[k] = sap_arena_take(arena, contacts, sizeof(double));
  }
  s->groups = sap_arena_take(arena, (size_t)s->problem.n_groups, sizeof *s->groups);
  for (int k = 0; k < 4; ++k) {
    s->rows[k] = sap_arena_take(arena, (size_t)plan->graph.sizes.n_rows, sizeof(double));
  }
}

/* ---- linearization ---- */

/* Checks that lagged friction has known bounds. */
static sap_status check_bounds(const struct sap_sensitivity *s, sap_error *error) {
  const int lagged = s->solver->settings.friction == SAP_FRICTION_LAGGED;
  for (int32_t i = 0; lagged && i < s->problem.n_contacts; ++i) {
    const double b = s->problem.friction_bound ? s->problem.friction_bound[i] : NAN;
    if (isnan(b)) {
      return sap_invalid(error, "friction_bound", i, b,
                         "must be known where derivatives of lagged friction are");
    }
  }
  return SAP_OK;
}

/* Checks that no row is released or stiffened by a load, which has other derivatives. */
static sap_status check_release(const struct sap_sensitivity *s, sap_error *error) {
  if (s->parameters.free_change) {
    return sap_invalid(error, "free_change", -1, NAN, "must not be given where derivatives are");
  }
  const sap_group_regularization *groups = s->parameters.groups;
  int released = s->parameters.release != NULL;
  for (int32_t g = 0; groups && g < s->problem.n_groups; ++g) {
    released |= groups[g].parameters.release != NULL;
  }
  return released
             ? sap_invalid(error, "release", -1, NAN, "must not be given where derivatives are")
             : SAP_OK;
}

/* Finds the partials of every triple by the common constants. */
static void find_partials(struct sap_sensitivity *s, const struct sap_island *island) {
  const struct sap_workspace *w = sap_sensitivity_work(s);
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t step = 1 + sap_laws[law]->takes_pairs;
    for (int32_t i = island->law_begin[law]; i < island->law_begin[law + 1]; i += step) {
      struct sap_partials partials;
      sap_laws[law]->partials(&w->pool, i, &partials);
      for (int c = 0; c < SAP_COMMON; ++c) {
        for (int r = 0; r < 3 * step; ++r) {
          s->by[c][r % 3][i + r / 3] = partials.by[c][r];
        }
      }
    }
  }
}

static sap_status lay_out(struct sap_sensitivity *s, const sap_problem *problem, const double *v,
                          sap_error *error) {
  struct sap_plan *plan = &s->solver->plan;
  sap_status status = sap_solver_lay_out(s->solver, problem, NULL, error);
  if (status == SAP_OK) {
    status = check_bounds(s, error);
  }
  if (status == SAP_OK) {
    status = check_release(s, error);
  }
  if (status == SAP_OK) {
    status = sap_check_finite("v", plan->graph.sizes.nv, v, error);
  }
  if (status == SAP_OK && s->has_parameters) {
    plan->has_masses = 1;
    status = sap_invert_mass(problem, 0, problem->n_trees, plan->graph.tree_position,
                             plan->masses.S, plan->masses.strips, plan->is_diagonal, error);
  }
  if (status == SAP_OK && !sap_block_carve(&s->block, carve, s, &s->memory)) {
    status = SAP_OUT_OF_MEMORY;
  }
  return status;
}

sap_status sap_sensitivity_linearize(sap_sensitivity *s, const sap_problem *problem,
                                     const sap_parameters *parameters, const double *v,
                                     const double *barrier_scale, sap_linear_point *point,
                                     sap_error *error) {
  struct sap_workspace *w = sap_sensitivity_work(s);
  const struct sap_graph *graph = &s->solver->plan.graph;
  s->ready = 0;
  s->problem = *problem;
  s->has_parameters = parameters != NULL;
  s->parameters = parameters ? *parameters : (sap_parameters){0};
  const sap_status status = lay_out(s, problem, v, error);
  if (status != SAP_OK) {
    return status;
  }
  s->masses = s->solver->plan.masses;
  double gradient = 0, momentum = 0, impulse = 0;
  *point = (sap_linear_point){.tree = -1};
  for (int32_t i = 0; i < graph->n_islands; ++i) {
    const struct sap_island *island = &graph->island[i];
    struct sap_evaluation at;
    if (!sap_evaluate_at(w, island, problem, v, barrier_scale, &at)) {
      return sap_solver_fault(s->solver, problem, NULL, error);
    }
    const int32_t tree = sap_sensitivity_factor(s, island);
    find_partials(s, island);
    point->tree = point->tree < 0 ? tree : point->tree;
    point->n_coupled += s->n_coupled[i];
    gradient += at.gradient * at.gradient;
    momentum += at.momentum * at.momentum;
    impulse += at.impulse * at.impulse;
  }
  point->momentum_error = sap_momentum_error(sqrt(gradient), sqrt(fmax(momentum, impulse)));
  s->tree = point->tree;
  s->ready = 1;
  return SAP_OK;
}

sap_status sap_sensitivity_check(const struct sap_sensitivity *s, sap_error *error) {
  if (!s->ready) {
    return sap_invalid(error, "sensitivity", -1, NAN, "needs a problem that was linearized");
  }
  if (s->tree >= 0) {
    return sap_fail_whole(error, SAP_NOT_POSITIVE_DEFINITE, SAP_ERROR_TREE, "H", s->tree, NAN,
                          "is singular to round-off");
  }
  return SAP_OK;
}

void sap_sensitivity_gradient(const sap_sensitivity *s, double *gradient) {
  const struct sap_workspace *w = sap_sensitivity_work(s);
  for (int32_t i = 0; s->ready && i < w->graph->n_islands; ++i) {
    sap_workspace_scatter(w, &w->graph->island[i], w->gradient, gradient);
  }
}

struct sap_chain sap_sensitivity_chain(const struct sap_sensitivity *s, int frozen) {
  return (struct sap_chain){.problem = &s->problem,
                            .parameters = &s->parameters,
                            .masses = &s->masses,
                            .frozen = frozen,
                            .X = {s->X[0], s->X[1]},
                            .Y = {s->Y[0], s->Y[1]}};
}
