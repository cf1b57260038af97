#include "step/derivatives/held_slip.h"

#include <math.h>
#include <string.h>

#include "constraints/kinds/slip_sigma.h"
#include "step/step_tuning.h"

/* Keeps the slip ratio of the centre, 0 or at least 1 where sigma is constant, or holds another. In
 * between it makes 1/sigma linear in the slip: differences then have no curvature, even if they are
 * as wide as the slip. */
static void hold_ratio(double sigma, int keep, double *centre, double *ratio) {
  if (keep) {
    *centre = sigma * *ratio > sap_least_sigma ? *ratio : 0.0;
    *ratio = *centre;
  } else if (*centre == 0.0 || *centre >= 1.0) {
    *ratio = *centre;
  } else {
    *ratio = *centre / fmax(2.0 - *ratio / *centre, sap_least_sigma_share);
  }
}

void sap_hold_slip(const struct sap_held_slip *held, struct sap_gather *gather, int keep) {
  const struct sap_element_gather *e = &gather->elements;
  const double sigma = gather->parameters.sigma;
  const int32_t n =
      gather->problem.n_contacts < held->n_contacts ? gather->problem.n_contacts : held->n_contacts;
  for (int32_t i = 0; i < n && gather->slip_speed > 0.0; ++i) {
    const size_t bytes = 2 * sizeof(int32_t);
    if (keep || memcmp(held->geom + 2 * (int64_t)i, gather->contacts[i].geom, bytes) == 0) {
      hold_ratio(sigma, keep, held->contact + i, gather->slip_ratio + i);
    }
  }
  for (int32_t g = 0; g < e->n_groups; ++g) {
    const int64_t end = e->first_row[g + 1] <= held->n_rows ? e->first_row[g + 1] : 0;
    for (int64_t i = e->first_row[g]; i < end && e->groups[g].kind == SAP_DRY_FRICTION; ++i) {
      hold_ratio(sigma, keep, held->row + i, e->value[1] + i);
    }
  }
}
