#include "sap/direction.h"

void sap_newton_system(struct sap_workspace *w, const struct sap_island *island) {
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dv[i] = -w->gradient[i];
  }
}

void sap_sticking_system(struct sap_workspace *w, const struct sap_island *island) {
  /* gamma = y and G = R^-1 for the touching contacts */
  struct sap_contact_pool *contacts = &w->contacts;
  for (int64_t i = island->contact_begin; i < island->contact_end; ++i) {
    const double sticks = contacts->v_hat[2][i] > 0;
    contacts->G[SAP_G_11][i] = contacts->G[SAP_G_22][i] = sticks * contacts->inverse_R_t[i];
    contacts->G[SAP_G_NN][i] = sticks * contacts->inverse_R_n[i];
    contacts->G[SAP_G_12][i] = contacts->G[SAP_G_1N][i] = contacts->G[SAP_G_2N][i] = 0;
    for (int r = 0; r < 3; ++r) {
      contacts->gamma[r][i] = sticks * contacts->y[r][i];
    }
  }
  w->jacobian_loops->multiply_transposed(&w->J, island, contacts->gamma, w->dv);
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dv[i] -= w->momentum[i];
  }
}

void sap_dual_predict(struct sap_workspace *w, const struct sap_island *island) {
  w->loops->predict(&w->contacts, island->contact_begin, island->contact_end);
}

void sap_dual_blend(struct sap_workspace *w, const struct sap_island *island) {
  w->loops->blend(&w->contacts, island->contact_begin, island->contact_end);
}
