#include "constraints/laws/torsional.h"

double sap_torsional_cost_difference(const struct sap_radial *law,
                                     const struct sap_torsional_state *a,
                                     const struct sap_torsional_state *b,
                                     const double dy_t[SAP_TORSIONAL], double dy_n) {
  /* |y_b| - |y_a| = (y_b - y_a)^T (y_b + y_a)/(|y_b| + |y_a|) */
  double product = 0;
  for (int k = 0; k < SAP_TORSIONAL; ++k) {
    product += dy_t[k] * (b->y_t[k] + a->y_t[k]);
  }
  const double length_sum = a->radial.y[0] + b->radial.y[0];
  const double dy[3] = {length_sum > 0 ? product / length_sum : 0, 0, dy_n};
  return law->cone ? sap_contact_cost_difference(&law->contact, &a->radial, &b->radial, dy)
                   : sap_disk_cost_difference(&law->contact, law->b, &a->radial, &b->radial, dy);
}
