#include "constraints/laws/contact.h"

double sap_contact_cost_difference(const struct sap_contact *c, const struct sap_contact_state *a,
                                   const struct sap_contact_state *b, const double dy[3]) {
  const int both_stick = a->sticks && b->sticks, both_slide = a->slides && b->slides;
  if (!both_stick && !both_slide) {
    return sap_contact_cost(c, b) - sap_contact_cost(c, a);
  }
  /* x_b^2 - x_a^2 = (x_b - x_a)(x_b + x_a), for y_t first */
  const double y_t2 = dy[0] * (b->y[0] + a->y[0]) + dy[1] * (b->y[1] + a->y[1]);
  if (both_stick) {
    return 0.5 * (c->R_t * y_t2 + c->R_n * dy[2] * (b->y[2] + a->y[2]));
  }
  const double y_r_sum = b->y_r + a->y_r;
  const double s = dy[2] + (y_r_sum > 0 ? c->mu_hat * y_t2 / y_r_sum : 0);
  return 0.5 * c->R_n * s * (b->gamma_n + a->gamma_n);
}
