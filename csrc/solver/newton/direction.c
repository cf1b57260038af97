#include "solver/newton/direction.h"

#include "solver/solver_tuning.h"

enum sap_precision sap_choose_precision(const struct sap_island *island,
                                        const sap_settings *settings) {
  const int single = settings->mixed_precision &&
                     island->scalar_end - island->scalar_begin >= SAP_SINGLE_VELOCITIES &&
                     !sap_has_rigid_core(island);
  return single ? SAP_SINGLE : SAP_DOUBLE;
}

void sap_newton_system(struct sap_workspace *w, const struct sap_island *island) {
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dv[i] = -w->gradient[i];
  }
}

void sap_stick_system(struct sap_workspace *w, const struct sap_island *island) {
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    sap_laws[law]->stick(&w->pool, range[0], range[1]);
  }
  w->plan->jacobian_loops->multiply_transposed(&w->J, island, w->pool.gamma, w->dv);
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dv[i] -= w->momentum[i];
  }
}

void sap_dual_predict(struct sap_workspace *w, const struct sap_island *island,
                      sap_friction friction) {
  struct sap_pool view, *pool = sap_pool_with(&w->pool, friction, &view);
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    w->plan->laws[law]->predict(pool, range[0], range[1]);
  }
}

void sap_dual_blend(struct sap_workspace *w, const struct sap_island *island,
                    sap_friction friction) {
  struct sap_pool view, *pool = sap_pool_with(&w->pool, friction, &view);
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    w->plan->laws[law]->blend(pool, range[0], range[1]);
  }
}
