#include "solver/write_results.h"

int32_t sap_results_write(const struct sap_workspace *w, const struct sap_island *island,
                          const sap_solution *solution) {
  const struct sap_origin origin = sap_graph_origin(w->graph, &w->plan->triples);
  int32_t deep = 0;
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    deep += sap_laws[law]->write(&w->pool, range[0], range[1], &origin, solution);
  }
  sap_workspace_scatter(w, island, w->v, solution->v);
  return deep;
}

sap_solution sap_solution_default(void) { return (sap_solution){.v = NULL}; }
