/* The phases of an iteration, timed one by one in the order in which a solve runs them, island by
 * island. */
#include <float.h>
#include <stdlib.h>

#include "base/clock.h"
#include "solver/newton/direction.h"
#include "solver/solver_object.h"

/* columns of the result */
enum { LAW, GRADIENT, ASSEMBLY, FACTORIZATION, SOLVES, DIRECTION, TRIAL, PHASES };

int benchmark_phase_count(void) { return PHASES; }

/* least time of each phase so far; reading the clock costs `clock` */
struct laps {
  double clock, since;
  double *least;
};

static void begin(struct laps *laps) { laps->since = sap_seconds(); }

static void lap(struct laps *laps, int phase) {
  const double seconds = sap_seconds() - laps->since - laps->clock;
  if (seconds < laps->least[phase]) {
    laps->least[phase] = seconds > 0 ? seconds : 0;
  }
  begin(laps);
}

static double cost_of_clock(void) {
  double least = DBL_MAX;
  for (int i = 0; i < 1000; ++i) {
    const double start = sap_seconds(), seconds = sap_seconds() - start;
    least = seconds < least ? seconds : least;
  }
  return least;
}

/* one iteration from the velocity that w->v holds, which stays as it is; 0 where H broke down */
static int iterate(struct sap_workspace *w, const struct sap_island *island, struct laps *laps) {
  begin(laps);
  w->plan->laws[SAP_LAW_CONTACT]->evaluate(&w->pool, island->triple_begin, island->triple_end);
  lap(laps, LAW);
  sap_evaluate(w, island, w->pool.friction);
  lap(laps, GRADIENT);
  sap_newton_system(w, island);
  begin(laps);
  sap_assemble(w, island, SAP_DOUBLE);
  lap(laps, ASSEMBLY);
  if (sap_factor_run(&w->plan->factor, island->index, NULL) >= 0) {
    return 0;
  }
  lap(laps, FACTORIZATION);
  sap_factor_solve(&w->plan->factor, island->index, w->dv);
  lap(laps, SOLVES);
  const struct sap_line line = sap_line_make(w, island, w->pool.friction);
  sap_line_advance(&line, 0);
  lap(laps, DIRECTION);
  sap_line_at(&line, 1);
  lap(laps, TRIAL);
  return 1;
}

/* a problem over arrays of the caller, to be given back by free(); NULL without memory */
sap_problem *benchmark_problem(int32_t n_trees, int32_t n_contacts, const int32_t *tree_nv,
                               const double *A, const double *v_star, const int32_t *tree_a,
                               const int32_t *tree_b, const double *J, const double *mu,
                               const double *R_t, const double *R_n, const double *v_hat_n,
                               const double *v_hat_t) {
  sap_problem *problem = malloc(sizeof *problem);
  if (problem) {
    *problem = (sap_problem){
        .n_trees = n_trees,
        .n_contacts = n_contacts,
        .tree_nv = tree_nv,
        .A = A,
        .v_star = v_star,
        .tree_a = tree_a,
        .tree_b = tree_b,
        .J = J,
        .mu = mu,
        .R_t = R_t,
        .R_n = R_n,
        .v_hat_n = v_hat_n,
        .v_hat_t = v_hat_t,
    };
  }
  return problem;
}

void benchmark_problem_release(sap_problem *problem) { free(problem); }

/* seconds (n_islands, PHASES) of one evaluation, direction or trial at v (nv), least of `repeat`.
 * GRADIENT is what an evaluation takes beyond the law. 0, or a sap_status. */
int benchmark_phases(const sap_problem *problem, const double *v, int32_t n_islands, int repeat,
                     double *seconds) {
  sap_solver *solver = NULL;
  sap_status status = sap_solver_create(&solver, NULL, NULL, NULL);
  if (status == SAP_OK) {
    status = sap_solver_load(solver, problem, NULL);
  }
  if (status == SAP_OK && solver->plan.graph.n_islands != n_islands) {
    status = SAP_INVALID_ARGUMENT;
  }
  if (status == SAP_OK) {
    struct sap_workspace *w = solver->work;
    struct laps laps = {.clock = cost_of_clock()};
    for (int32_t i = 0; i < n_islands && status == SAP_OK; ++i) {
      laps.least = seconds + (int64_t)i * PHASES;
      for (int p = 0; p < PHASES; ++p) {
        laps.least[p] = DBL_MAX;
      }
      sap_workspace_gather(w, &w->plan->graph.island[i], v, w->v);
      sap_refresh(w, &w->plan->graph.island[i]);
      for (int r = 0; r < repeat && status == SAP_OK; ++r) {
        status = iterate(w, &w->plan->graph.island[i], &laps) ? SAP_OK : SAP_NOT_POSITIVE_DEFINITE;
      }
      laps.least[GRADIENT] -= laps.least[LAW];
    }
  }
  sap_solver_destroy(solver);
  return (int)status;
}

/* rows below and columns of every panel of the factor in `sizes` (most, 2), and their islands
 * (most); returns the number of panels */
int32_t benchmark_panels(const sap_problem *problem, int32_t most, int32_t *sizes,
                         int32_t *islands) {
  sap_solver *solver = NULL;
  int32_t n = 0;
  if (sap_solver_create(&solver, NULL, NULL, NULL) == SAP_OK &&
      sap_solver_load(solver, problem, NULL) == SAP_OK) {
    const struct sap_junction_tree *tree = &solver->plan.graph.tree;
    for (int32_t c = 0; c < tree->n_components; ++c) {
      for (int32_t s = tree->component[c].supernode_begin; s < tree->component[c].supernode_end;
           ++s, ++n) {
        if (n < most) {
          sizes[2 * n] = tree->supernode[s].n_rows;
          sizes[2 * n + 1] = tree->supernode[s].n_cols;
          islands[n] = c;
        }
      }
    }
  }
  sap_solver_destroy(solver);
  return n;
}
