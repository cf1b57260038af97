#include "solver/derivatives/linearize.h"

#include "solver/coulomb/friction.h"

int sap_evaluate_at(struct sap_workspace *w, const struct sap_island *island,
                    const sap_problem *problem, const double *v, const double *barrier_scale,
                    struct sap_evaluation *at) {
  if (!sap_workspace_bind(w, island, problem)) {
    return 0;
  }
  const struct sap_origin origin = sap_graph_origin(w->graph, &w->plan->triples);
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    if (barrier_scale && sap_laws[law]->recall) {
      sap_laws[law]->recall(&w->pool, range[0], range[1], &origin, barrier_scale);
    }
  }
  sap_workspace_gather(w, island, v, w->v);
  sap_refresh(w, island);
  *at = sap_evaluate_bounded(w, island);
  return 1;
}

int sap_linearize(struct sap_workspace *w, const struct sap_island *island,
                  const sap_problem *problem, const double *v, const double *barrier_scale,
                  struct sap_linearization *linearization) {
  if (!sap_evaluate_at(w, island, problem, v, barrier_scale, &linearization->at)) {
    return 0;
  }
  linearization->tree = sap_linearized_factor(w, island);
  return 1;
}

int32_t sap_linearized_factor(struct sap_workspace *w, const struct sap_island *island) {
  sap_assemble(w, island, SAP_DOUBLE);
  const int32_t node = sap_factor_run(&w->plan->factor, island->index, NULL);
  return node < 0 ? -1 : w->graph->node_tree[node];
}

void sap_linearized_solve(const struct sap_workspace *w, const struct sap_island *island,
                          double *x) {
  sap_factor_solve(&w->plan->factor, island->index, x);
}
