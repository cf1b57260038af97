#include "solver/newton/feasible.h"

#include <math.h>

#include "solver/newton/direction.h"
#include "solver/solver_tuning.h"

int32_t sap_fit_barriers(struct sap_workspace *w, const struct sap_island *island, double least) {
  int32_t raised = 0;
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    if (sap_laws[law]->fit) {
      raised += sap_laws[law]->fit(&w->pool, range[0], range[1], least);
    }
  }
  return raised;
}

/* Returns a step along the line that stays clear of the wall; 0 after overflow. */
static double step_inside(const struct sap_line *line) {
  double alpha = 1;
  for (int k = 0; k < SAP_MOST_WALLS; ++k) {
    if (sap_line_at(line, alpha).slope < INFINITY) {
      return alpha < 1 ? sap_clear_of_wall * alpha : 1;
    }
    alpha = sap_line_wall(line, alpha);
  }
  return 0;
}

/* Moves v to where contacts stick to their moving surfaces. v stays if H breaks down. */
static void follow_surfaces(struct sap_workspace *w, const struct sap_island *island,
                            sap_friction friction) {
  sap_stick_system(w, island);
  sap_assemble(w, island, SAP_DOUBLE);
  if (sap_factor_run(&w->plan->factor, island->index, w->dv) < 0) {
    const struct sap_line line = sap_line_make(w, island, friction);
    sap_line_advance(&line, 1);
  }
}

int32_t sap_start_inside(struct sap_workspace *w, const struct sap_island *island,
                         sap_friction friction) {
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dv[i] = w->v[i];
    w->v[i] = 0;
  }
  sap_refresh(w, island);
  sap_evaluate(w, island, friction);
  if (sap_fit_barriers(w, island, 1) == 0) {
    const struct sap_line line = sap_line_make(w, island, friction);
    sap_line_advance(&line, step_inside(&line));
    return 0;
  }
  sap_evaluate(w, island, friction);
  follow_surfaces(w, island, friction);
  sap_evaluate(w, island, friction);
  return sap_fit_barriers(w, island, 1);
}
