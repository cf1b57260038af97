#include "solver/coulomb/reversals.h"

#include <math.h>

#include "solver/solver_tuning.h"

/* Did the slip of a contact that slides turn round in the last step? */
static int is_reversed(const struct sap_workspace *w, int32_t i) {
  const struct sap_pool *p = &w->pool;
  double product = 0, before = 0, now = 0;
  for (int r = 0; r < 2; ++r) {
    const double first = w->coulomb.start.v_c[r][i] - p->v_hat[r][i];
    const double last = p->v_c[r][i] - p->v_hat[r][i];
    product += first * last;
    before += first * first;
    now += last * last;
  }
  const int slides = p->contact.slip[0][i] != 0 || p->contact.slip[1][i] != 0;
  return slides && p->contact.bound[i] > 0 && product < -sap_reversal * sqrt(before * now);
}

/* Gives contact i of a patch the linear law of stiction. */
static void stick(struct sap_workspace *w, const struct sap_patch *patch, int32_t i, double *b) {
  const struct sap_pool *p = &w->pool;
  const int32_t *scalar = w->graph->tree.node_scalar;
  for (int r = 0; r < 2; ++r) {
    const double change = p->y[r][i] - p->gamma[r][i];
    for (int high = 0; high < (patch->high < 0 ? 1 : 2); ++high) {
      const struct sap_packed_row row = sap_packed_row(&w->J, patch, high, i, r);
      double *to = b + scalar[high ? patch->high : patch->low];
      for (int32_t j = 0; j < row.n; ++j) {
        to[j] += change * row.J[j];
      }
    }
    p->gamma[r][i] = p->y[r][i];
    p->contact.slip[r][i] = 0;
  }
  p->G[SAP_G_11][i] = p->G[SAP_G_22][i] = p->contact.inverse_R_t[i];
  p->G[SAP_G_12][i] = 0;
}

void sap_stick_reversed(struct sap_workspace *w, const struct sap_island *island, double *b) {
  for (int32_t k = island->patch_begin; k < island->patch_end; ++k) {
    const struct sap_patch *patch = &w->graph->patch[k];
    for (int32_t i = patch->begin; patch->law == SAP_LAW_DISK && i < patch->end; ++i) {
      if (is_reversed(w, i)) {
        stick(w, patch, i, b);
      }
    }
  }
}
