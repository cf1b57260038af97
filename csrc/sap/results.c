#include "sap/results.h"

#include <math.h>

static void write_rows(const struct sap_workspace *w, int32_t place,
                       const struct sap_triple_rows *rows, const sap_solution *solution) {
  for (int32_t r = 0; r < rows->n; ++r) {
    if (solution->group_gamma) {
      solution->group_gamma[rows->place + r] = w->pool.gamma[r][place];
    }
    if (solution->group_v_c) {
      solution->group_v_c[rows->place + r] = w->pool.v_c[r][place];
    }
  }
}

static void write_contact(const struct sap_workspace *w, int32_t place, int64_t i,
                          const sap_solution *solution) {
  for (int r = 0; r < 3; ++r) {
    solution->gamma[3 * i + r] = w->pool.gamma[r][place];
    if (solution->v_c) {
      solution->v_c[3 * i + r] = w->pool.v_c[r][place];
    }
  }
  if (solution->regions) {
    solution->regions[i] = w->pool.region[place];
  }
  if (solution->core_scale) {
    solution->core_scale[i] = 1;
  }
}

/* what was made of kappa */
static int32_t write_cores(const struct sap_workspace *w, const struct sap_island *island,
                           const sap_solution *solution) {
  const int32_t *range = &island->law_begin[SAP_LAW_CORE];
  int32_t deep = 0;
  for (int32_t place = range[0]; place < range[1]; ++place) {
    const double scale = sqrt(w->pool.kappa[place] / w->pool.kappa_problem[place]);
    deep += scale > 1;
    if (solution->core_scale) {
      solution->core_scale[w->graph.triple[place]] = scale;
    }
  }
  return deep;
}

int32_t sap_results_write(const struct sap_workspace *w, const struct sap_island *island,
                          const sap_solution *solution) {
  for (int32_t place = island->triple_begin; place < island->triple_end; ++place) {
    const int64_t i = w->graph.triple[place];
    if (i < w->triples.n_contacts) {
      write_contact(w, place, i, solution);
    } else {
      write_rows(w, place, &w->triples.rows[i - w->triples.n_contacts], solution);
    }
  }
  sap_workspace_scatter(w, island, w->v, solution->v);
  return write_cores(w, island, solution);
}
