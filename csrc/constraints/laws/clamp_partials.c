/* Of clamped rows (clamp.h), row by row. */
#include "constraints/laws/clamp.h"
#include "constraints/laws.h"
#include "constraints/partials.h"

void sap_clamp_partials(const struct sap_pool *p, int32_t i, struct sap_partials *to) {
  *to = (struct sap_partials){.distance = {0}};
  for (int r = 0; r < 3; ++r) {
    const double y = p->y[r][i], lower = p->clamp.lower[r][i], upper = p->clamp.upper[r][i];
    const double inverse_R = p->clamp.inverse_R[r][i];
    const int is_free = sap_clamp_is_free(y, p->gamma[r][i], lower, upper);
    to->by[SAP_BY_R][r] = is_free ? -y * inverse_R : 0;
    to->by[SAP_BY_LOWER][r] = !is_free && y <= lower;
    to->by[SAP_BY_UPPER][r] = !is_free && y > lower;
    to->distance[r] = p->clamp.R[r][i] * fmin(fabs(y - lower), fabs(y - upper));
  }
}
