#include "step/derivatives/softer_law.h"

#include <string.h>

#include "step/derivatives/difference_bounds.h"

void sap_softer_law_find(struct sap_softer_law law, const struct sap_gather *gather) {
  const double *J = gather->problem.J, more = law.soften - 1.0;
  for (int32_t c = 0; c < law.n_contacts && more != 0.0; ++c) {
    const double *side_J[2];
    double v_c[3], *offset = law.offset + 3 * (int64_t)c;
    sap_contact_velocity(gather, law.v, c, &J, side_J, v_c);
    offset[0] = more * (gather->v_hat_t[2 * (int64_t)c] - v_c[0]);
    offset[1] = more * (gather->v_hat_t[2 * (int64_t)c + 1] - v_c[1]);
    offset[2] = more * (gather->v_hat_n[c] - v_c[2]);
  }
}

void sap_soften(struct sap_softer_law law, struct sap_gather *gather) {
  int32_t at = 0;
  for (int32_t c = 0; c < gather->problem.n_contacts && law.soften != 1.0; ++c) {
    int32_t i = at;
    while (i < law.n_contacts &&
           memcmp(law.geom + 2 * (int64_t)i, gather->contacts[c].geom, 2 * sizeof(int32_t)) != 0) {
      ++i;
    }
    if (i == law.n_contacts) {
      continue;
    }
    const double *offset = law.offset + 3 * (int64_t)i;
    gather->R_t[c] *= law.soften;
    gather->R_n[c] *= law.soften;
    gather->v_hat_t[2 * (int64_t)c] += offset[0];
    gather->v_hat_t[2 * (int64_t)c + 1] += offset[1];
    gather->v_hat_n[c] += offset[2];
    at = i + 1;
  }
}
