/* Reports the regions of the laws at the linearized point, and the distances to other ones. */
#include "solver/derivatives/places.h"

void sap_sensitivity_regions(const sap_sensitivity *s, int8_t *regions, double *distance,
                             double *group_distance) {
  const struct sap_workspace *w = sap_sensitivity_work(s);
  const struct sap_graph *graph = &s->solver->plan.graph;
  for (int32_t k = 0; s->ready && k < graph->n_islands; ++k) {
    const struct sap_island *island = &graph->island[k];
    for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
      const int32_t step = 1 + sap_laws[law]->takes_pairs;
      for (int32_t i = island->law_begin[law]; i < island->law_begin[law + 1]; i += step) {
        struct sap_partials partials;
        sap_laws[law]->partials(&w->pool, i, &partials);
        if (sap_laws[law]->takes_rows) {
          const struct sap_triple_rows *rows = sap_triple_rows_at_place(s, i);
          for (int32_t r = 0; group_distance && r < rows->n; ++r) {
            group_distance[rows->place + r] = partials.distance[r];
          }
          continue;
        }
        if (regions) {
          regions[graph->triple[i]] = w->pool.contact.region[i];
        }
        if (distance) {
          distance[graph->triple[i]] = partials.distance[0];
        }
      }
    }
  }
}
