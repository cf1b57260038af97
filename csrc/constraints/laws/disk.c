#include "constraints/laws/disk.h"

double sap_disk_cost_difference(const struct sap_contact *c, double b,
                                const struct sap_contact_state *from,
                                const struct sap_contact_state *to, const double dy[3]) {
  /* x_b^2 - x_a^2 = (x_b - x_a)(x_b + x_a) */
  const double gamma_n = from->gamma_n + to->gamma_n;
  const double dgamma_n =
      from->gamma_n > 0 && to->gamma_n > 0 ? dy[2] : to->gamma_n - from->gamma_n;
  const double normal = 0.5 * c->R_n * dgamma_n * gamma_n;
  const double y_t2 = dy[0] * (to->y[0] + from->y[0]) + dy[1] * (to->y[1] + from->y[1]);
  if (from->y_r <= b && to->y_r <= b) {
    return normal + 0.5 * c->R_t * y_t2;
  }
  /* the cost is that of sliding, b y_r - b^2/2, and (b - y_r)^2/2 more where it sticks: at one end
   * at most, and half of the difference at most */
  const double slides = b * (y_t2 / (from->y_r + to->y_r));
  const double at_from = fmax(b - from->y_r, 0), at_to = fmax(b - to->y_r, 0);
  return normal + c->R_t * (slides + 0.5 * (at_to * at_to - at_from * at_from));
}
