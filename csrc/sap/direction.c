#include "sap/direction.h"

#include <math.h>
#include <string.h>

/* dv = H^-1 dv with H from w->G */
static int32_t solve(struct sap_workspace *w, const struct sap_island *island) {
  sap_assemble(w, island);
  const int32_t node = sap_factor_run(&w->factor, island->index);
  if (node < 0) {
    sap_factor_solve(&w->factor, island->index, w->dv);
  }
  return node;
}

int32_t sap_newton_direction(struct sap_workspace *w, const struct sap_island *island) {
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dv[i] = -w->gradient[i];
  }
  return solve(w, island);
}

int32_t sap_sticking_direction(struct sap_workspace *w, const struct sap_island *island) {
  /* gamma = y and G = R^-1 for the touching contacts */
  double *y = w->dv_c;
  for (int64_t i = island->contact_begin; i < island->contact_end; ++i) {
    const struct sap_contact *contact = &w->contact[i];
    const double sticks = contact->v_hat[2] > 0;
    double *G = w->G + 9 * i;
    memset(G, 0, 9 * sizeof *G);
    for (int r = 0; r < 3; ++r) {
      G[4 * r] = sticks * (r < 2 ? contact->inverse_R_t : contact->inverse_R_n);
      y[3 * i + r] = G[4 * r] * (contact->v_hat[r] - w->v_c[3 * i + r]);
    }
  }
  sap_multiply_jacobian_transposed(w, island, y, w->dv);
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dv[i] -= w->momentum[i];
  }
  return solve(w, island);
}

void sap_turn_reset(struct sap_workspace *w, const struct sap_island *island) {
  for (int64_t i = island->contact_begin; i < island->contact_end; ++i) {
    w->turn[i] = 0;
    w->slip_before[2 * i] = w->slip_before[2 * i + 1] = 0;
  }
}

void sap_turn_follow(struct sap_workspace *w, const struct sap_island *island, int add) {
  for (int64_t i = island->contact_begin; i < island->contact_end; ++i) {
    const double *t = w->slip + 2 * i;
    double *before = w->slip_before + 2 * i;
    if (w->region[i] == SAP_SLIDING) {
      const double turned = 1 - (t[0] * before[0] + t[1] * before[1]);
      w->turn[i] = fmax(0.4 * w->turn[i], fmin(fmax(turned, 0), 1));
      if (add) {
        /* gamma_n/y_r t: the friction impulse over mu y_r */
        const struct sap_contact *contact = &w->contact[i];
        const struct sap_contact_state at = sap_contact_at_velocity(contact, w->v_c + 3 * i);
        const double across = at.y_r > 0 ? at.gamma_n / at.y_r : 0;
        const double extra = w->turn[i] * contact->mu * contact->inverse_R_t * across;
        double *G = w->G + 9 * i;
        G[0] += extra * t[0] * t[0];
        G[1] += extra * t[0] * t[1];
        G[3] += extra * t[0] * t[1];
        G[4] += extra * t[1] * t[1];
      }
    } else {
      w->turn[i] = 0;
    }
    before[0] = t[0];
    before[1] = t[1];
  }
}
