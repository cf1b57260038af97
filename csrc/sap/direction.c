#include "sap/direction.h"

#include <math.h>

void sap_newton_system(struct sap_workspace *w, const struct sap_island *island) {
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dv[i] = -w->gradient[i];
  }
}

void sap_sticking_system(struct sap_workspace *w, const struct sap_island *island) {
  /* gamma = y and G = R^-1 for the touching contacts */
  struct sap_contact_pool *contacts = &w->contacts;
  double *const *y = contacts->dv_c;
  for (int64_t i = island->contact_begin; i < island->contact_end; ++i) {
    const double sticks = contacts->v_hat[2][i] > 0;
    contacts->G[SAP_G_11][i] = contacts->G[SAP_G_22][i] = sticks * contacts->inverse_R_t[i];
    contacts->G[SAP_G_NN][i] = sticks * contacts->inverse_R_n[i];
    contacts->G[SAP_G_12][i] = contacts->G[SAP_G_1N][i] = contacts->G[SAP_G_2N][i] = 0;
    for (int r = 0; r < 3; ++r) {
      y[r][i] = sticks * contacts->y[r][i];
    }
  }
  w->jacobian_loops->multiply_transposed(&w->J, island, y, w->dv);
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dv[i] -= w->momentum[i];
  }
}

void sap_turn_reset(struct sap_workspace *w, const struct sap_island *island) {
  for (int64_t i = island->contact_begin; i < island->contact_end; ++i) {
    w->turn[i] = 0;
    w->slip_before[2 * i] = w->slip_before[2 * i + 1] = 0;
  }
}

void sap_turn_follow(struct sap_workspace *w, const struct sap_island *island, int add) {
  struct sap_contact_pool *contacts = &w->contacts;
  for (int64_t i = island->contact_begin; i < island->contact_end; ++i) {
    const double t_1 = contacts->slip[0][i], t_2 = contacts->slip[1][i];
    double *before = w->slip_before + 2 * i;
    const int slides = contacts->region[i] == SAP_SLIDING;
    const double lengths =
        (t_1 * t_1 + t_2 * t_2) * (before[0] * before[0] + before[1] * before[1]);
    const double turned = lengths > 0 ? 1 - (t_1 * before[0] + t_2 * before[1]) / sqrt(lengths) : 1;
    w->turn[i] = slides ? fmax(0.4 * w->turn[i], fmin(fmax(turned, 0), 1)) : 0;
    if (add && slides) {
      const struct sap_contact contact = sap_pool_get(contacts, (int32_t)i);
      const struct sap_contact_state at =
          sap_contact_at_impulse(&contact, contacts->y[0][i], contacts->y[1][i], contacts->y[2][i]);
      const double extra = w->turn[i] * sap_contact_across(&contact, &at);
      contacts->G[SAP_G_11][i] += extra * t_1 * t_1;
      contacts->G[SAP_G_12][i] += extra * t_1 * t_2;
      contacts->G[SAP_G_22][i] += extra * t_2 * t_2;
    }
    before[0] = t_1;
    before[1] = t_2;
  }
}
