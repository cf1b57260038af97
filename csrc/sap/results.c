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

/* three components of each contact; where there are none asked for, nothing */
static void write_vectors(const int32_t *contact, int32_t begin, int32_t end, double *const from[3],
                          double *to) {
  for (int32_t place = begin; to && place < end; ++place) {
    double *x = to + 3 * (int64_t)contact[place];
    x[0] = from[0][place];
    x[1] = from[1][place];
    x[2] = from[2][place];
  }
}

static void write_contacts(const struct sap_workspace *w, int32_t begin, int32_t end,
                           const sap_solution *solution) {
  const int32_t *contact = w->graph.triple;
  write_vectors(contact, begin, end, w->pool.gamma, solution->gamma);
  write_vectors(contact, begin, end, w->pool.v_c, solution->v_c);
  for (int32_t place = begin; solution->regions && place < end; ++place) {
    solution->regions[contact[place]] = w->pool.region[place];
  }
  for (int32_t place = begin; solution->barrier_scale && place < end; ++place) {
    solution->barrier_scale[contact[place]] = 1;
  }
}

/* what was made of kappa */
static int32_t write_barriers(const struct sap_workspace *w, const struct sap_island *island,
                              const sap_solution *solution) {
  const int32_t *range = &island->law_begin[SAP_LAW_BARRIER];
  int32_t deep = 0;
  for (int32_t place = range[0]; place < range[1]; ++place) {
    const double scale = sqrt(w->pool.kappa[place] / w->pool.kappa_problem[place]);
    deep += scale > 1;
    if (solution->barrier_scale) {
      solution->barrier_scale[w->graph.triple[place]] = scale;
    }
  }
  return deep;
}

int32_t sap_results_write(const struct sap_workspace *w, const struct sap_island *island,
                          const sap_solution *solution) {
  write_contacts(w, island->law_begin[SAP_LAW_CONTACT], island->law_begin[SAP_LAW_BARRIER + 1],
                 solution);
  for (int32_t place = island->law_begin[SAP_LAW_CLAMP];
       place < island->law_begin[SAP_LAW_CLAMP + 1]; ++place) {
    write_rows(w, place, &w->triples.rows[w->graph.triple[place] - w->triples.n_contacts],
               solution);
  }
  sap_workspace_scatter(w, island, w->v, solution->v);
  return write_barriers(w, island, solution);
}
