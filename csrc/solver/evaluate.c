/* Evaluates the cost and its derivatives at a given velocity, with the trees that no contact
 * touches. It serves tests, studies and tools; the solver itself works island by island. */
#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/fail.h"
#include "problem/problem_check.h"
#include "solver/newton/direction.h"
#include "solver/coulomb/friction.h"
#include "solver/derivatives/linearize.h"
#include "solver/solver_object.h"
#include "solver/write_results.h"

/* Returns (x - x_0)^T A (y - y_0) over the trees that no contact touches; x_0 and y_0 may be NULL
 * for 0. Writes A (y - y_0) to `row` (nv) unless it is NULL. */
static double free_product(const struct sap_workspace *w, const sap_problem *problem,
                           const double *x, const double *x_0, const double *y, const double *y_0,
                           double *row) {
  const struct sap_graph *graph = w->graph;
  double product = 0;
  for (int32_t t = 0; t < graph->n_trees; ++t) {
    if (graph->tree_position[t] >= 0) {
      continue;
    }
    const int32_t n = graph->tree_nv[t];
    const double *A = problem->A + graph->tree_A[t];
    const int64_t s = graph->tree_v[t];
    for (int64_t i = s; i < s + n; ++i, A += n) {
      double sum = 0;
      for (int32_t j = 0; j < n; ++j) {
        sum += A[j] * (y[s + j] - (y_0 ? y_0[s + j] : 0));
      }
      product += sum * (x[i] - (x_0 ? x_0[i] : 0));
      if (row) {
        row[i] = sum;
      }
    }
  }
  return product;
}

/* Writes the direction v* - v of the same trees. */
static void free_direction(const struct sap_workspace *w, const sap_problem *problem,
                           const double *v, double *direction) {
  const struct sap_graph *graph = w->graph;
  for (int32_t t = 0; t < graph->n_trees; ++t) {
    const int64_t end = graph->tree_v[t] + graph->tree_nv[t];
    for (int64_t i = graph->tree_v[t]; graph->tree_position[t] < 0 && i < end; ++i) {
      direction[i] = problem->v_star[i] - v[i];
    }
  }
}

/* Copies a lower block of the assembled H to both triangles of a dense matrix (nv, nv). */
static void copy_block(const struct sap_workspace *w, struct sap_place place, int32_t row,
                       int32_t column, double *hessian) {
  const struct sap_graph *graph = w->graph;
  const int32_t row_tree = graph->node_tree[row], column_tree = graph->node_tree[column];
  const int64_t nv = graph->sizes.nv;
  for (int32_t j = 0; j < graph->tree_nv[column_tree]; ++j) {
    for (int32_t i = row == column ? j : 0; i < graph->tree_nv[row_tree]; ++i) {
      const double h =
          w->plan->factor.values[place.offset + (size_t)j * (size_t)place.ld + (size_t)i];
      const int64_t r = graph->tree_v[row_tree] + i, c = graph->tree_v[column_tree] + j;
      hessian[r * nv + c] = h;
      hessian[c * nv + r] = h;
    }
  }
}

static void copy_hessian(const struct sap_workspace *w, const sap_problem *problem,
                         double *hessian) {
  const struct sap_graph *graph = w->graph;
  const int64_t nv = graph->sizes.nv;
  for (int64_t i = 0; i < nv * nv; ++i) {
    hessian[i] = 0;
  }
  for (int32_t t = 0; t < graph->n_trees; ++t) {
    const int32_t node = graph->tree_position[t], n = graph->tree_nv[t];
    if (node >= 0) {
      copy_block(w, w->plan->factor.diagonal[node], node, node, hessian);
      continue;
    }
    for (int32_t i = 0; i < n; ++i) {
      memcpy(hessian + (graph->tree_v[t] + i) * nv + graph->tree_v[t],
             problem->A + graph->tree_A[t] + (int64_t)i * n, (size_t)n * sizeof(double));
    }
  }
  for (int32_t e = 0; e < graph->n_edges; ++e) {
    copy_block(w, w->plan->factor.edge[e], graph->edge_high[e], graph->edge_low[e], hessian);
  }
}

/* Finds dv = -H^-1 g of an island; NaN if H broke down. */
static void find_direction(struct sap_workspace *w, const struct sap_island *island, int stands) {
  sap_newton_system(w, island);
  if (stands) {
    sap_linearized_solve(w, island, w->dv);
  }
  for (int32_t i = island->scalar_begin; !stands && i < island->scalar_end; ++i) {
    w->dv[i] = NAN;
  }
}

/* Does one island have all trees? */
static int is_one_island(const struct sap_graph *graph) {
  const struct sap_island *island = graph->island;
  return graph->n_islands == 1 && island->scalar_end - island->scalar_begin == graph->sizes.nv;
}

/* Lays out a problem to evaluate it at v, after a check of both. */
static sap_status prepare(sap_solver *solver, const sap_problem *problem, const double *v,
                          sap_error *error) {
  const struct sap_workspace *w = solver->work;
  /* islands keep the rules before anything is written; one that has all trees is bound below */
  sap_status status = sap_solver_lay_out(solver, problem, NULL, error);
  if (status == SAP_OK && !is_one_island(w->graph)) {
    status = sap_solver_load(solver, problem, error);
  }
  return status == SAP_OK ? sap_check_finite("v", w->graph->sizes.nv, v, error) : status;
}

sap_status sap_solver_regularize(sap_solver *solver, const sap_problem *problem,
                                 const sap_parameters *parameters, double *R_t, double *R_n,
                                 double *v_hat_n, sap_error *error) {
  const struct sap_regularization physical = {parameters, R_t, R_n, v_hat_n};
  return sap_solver_lay_out(solver, problem, &physical, error);
}

sap_status sap_solver_gradient(sap_solver *solver, const sap_problem *problem, const double *v,
                               double *gradient, sap_error *error) {
  struct sap_workspace *w = solver->work;
  free_product(w, problem, v, problem->v_star, v, problem->v_star, gradient);
  for (int32_t i = 0; i < w->graph->n_islands; ++i) {
    const struct sap_island *island = &w->graph->island[i];
    struct sap_evaluation at;
    if (!sap_evaluate_at(w, island, problem, v, NULL, &at)) {
      return sap_solver_fault(solver, problem, NULL, error);
    }
    sap_workspace_scatter(w, island, w->gradient, gradient);
  }
  return SAP_OK;
}

sap_status sap_solver_evaluate(sap_solver *solver, const sap_problem *problem, const double *v,
                               double *cost, double *gradient, double *hessian, double *direction,
                               sap_error *error) {
  struct sap_workspace *w = solver->work;
  const sap_status status = prepare(solver, problem, v, error);
  if (status != SAP_OK) {
    return status;
  }
  const struct sap_graph *graph = w->graph;
  const double *v_star = problem->v_star;
  double sum = 0.5 * free_product(w, problem, v, v_star, v, v_star, gradient);
  if (direction) {
    free_direction(w, problem, v, direction);
  }
  for (int32_t i = 0; i < graph->n_islands; ++i) {
    const struct sap_island *island = &graph->island[i];
    struct sap_linearization linear = {.tree = -1};
    const int valid = hessian || direction
                          ? sap_linearize(w, island, problem, v, NULL, &linear)
                          : sap_evaluate_at(w, island, problem, v, NULL, &linear.at);
    if (!valid) {
      return sap_solver_fault(solver, problem, NULL, error);
    }
    sum += linear.at.cost;
    if (gradient) {
      sap_workspace_scatter(w, island, w->gradient, gradient);
    }
    if (direction) {
      find_direction(w, island, linear.tree < 0);
      sap_workspace_scatter(w, island, w->dv, direction);
    }
    if (hessian) {
      sap_assemble(w, island, SAP_DOUBLE); /* H replaces its factor */
    }
  }
  if (cost) {
    *cost = sum;
  }
  if (hessian) {
    copy_hessian(w, problem, hessian);
  }
  return SAP_OK;
}

sap_status sap_solver_impulses(sap_solver *solver, const sap_problem *problem, const double *v,
                               const sap_solution *solution, sap_error *error) {
  struct sap_workspace *w = solver->work;
  const sap_status status = prepare(solver, problem, v, error);
  if (status != SAP_OK) {
    return status;
  }
  for (int64_t i = 0; i < w->graph->sizes.nv; ++i) {
    solution->v[i] = v[i];
  }
  for (int32_t i = 0; i < w->graph->n_islands; ++i) {
    const struct sap_island *island = &w->graph->island[i];
    struct sap_evaluation at;
    if (!sap_evaluate_at(w, island, problem, v, NULL, &at)) {
      return sap_solver_fault(solver, problem, NULL, error);
    }
    sap_results_write(w, island, solution);
  }
  return SAP_OK;
}

sap_status sap_solver_along_line(sap_solver *solver, const sap_problem *problem, const double *v,
                                 const double *dv, int32_t n, const double *alpha,
                                 double *difference, double *slope, double *curvature,
                                 sap_error *error) {
  struct sap_workspace *w = solver->work;
  sap_status status = sap_solver_load(solver, problem, error);
  const struct {
    const char *name;
    int64_t n;
    const double *x;
  } arrays[] = {{"v", w->graph->sizes.nv, v}, {"dv", w->graph->sizes.nv, dv}, {"alpha", n, alpha}};
  for (int a = 0; a < 3 && status == SAP_OK; ++a) {
    status = sap_check_finite(arrays[a].name, arrays[a].n, arrays[a].x, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  const double linear = free_product(w, problem, dv, NULL, v, problem->v_star, NULL);
  const double quadratic = free_product(w, problem, dv, NULL, dv, NULL, NULL);
  for (int32_t k = 0; k < n; ++k) {
    difference[k] = alpha[k] * (linear + 0.5 * alpha[k] * quadratic);
    slope[k] = linear + alpha[k] * quadratic;
    curvature[k] = quadratic;
  }
  for (int32_t i = 0; i < w->graph->n_islands; ++i) {
    const struct sap_island *island = &w->graph->island[i];
    sap_workspace_gather(w, island, v, w->v);
    sap_workspace_gather(w, island, dv, w->dv);
    sap_refresh(w, island);
    sap_evaluate_bounded(w, island);
    const struct sap_line line = sap_line_make(w, island, w->plan->friction);
    for (int32_t k = 0; k < n; ++k) {
      const struct sap_line_point point = sap_line_at(&line, alpha[k]);
      difference[k] += sap_line_difference(&line, alpha[k]);
      slope[k] += point.slope;
      curvature[k] += point.curvature;
    }
  }
  return SAP_OK;
}
