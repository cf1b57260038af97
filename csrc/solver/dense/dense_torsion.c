#include "solver/dense/dense_torsion.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "constraints/laws/torsional.h"
#include "problem/products/round_off.h"

int sap_dense_torsion_take(struct sap_dense_contact *contact, const sap_spin *spin, int32_t index,
                           const double *J) {
  const double *mu = spin->mu + 3 * (int64_t)index;
  const struct sap_contact *law = &contact->law;
  int valid = law->mu > 0;
  contact->spin.J = J;
  contact->spin.index = index;
  for (int r = 0; r < 3; ++r) {
    const double scale = contact->spin.scale[r] = mu[r] / law->mu;
    valid &= (mu[r] >= 0) & isfinite(scale * scale * law->inverse_R_t);
  }
  return valid;
}

double sap_dense_torsion_evaluate(struct sap_dense_contact *contact,
                                  const struct sap_vector_loops *loops, int32_t n, const double *v,
                                  const double y[3], double *impulse) {
  struct sap_dense_torsion *spin = &contact->spin;
  const struct sap_radial law = {contact->law, 0, contact->bound};
  double y_t[SAP_TORSIONAL] = {y[0], y[1]}, gamma_t[SAP_TORSIONAL], gamma_n;
  loops->multiply_rows(3, n, spin->J, v, spin->v_c);
  for (int r = 0; r < 3; ++r) {
    y_t[2 + r] = -spin->scale[r] * spin->v_c[r] * contact->law.inverse_R_t;
  }
  const struct sap_torsional_state at = sap_torsional_at_impulse(&law, y_t, y[2]);
  sap_torsional_impulse(&law, &at, gamma_t, &gamma_n);
  contact->at = at.radial;
  contact->gamma[0] = gamma_t[0];
  contact->gamma[1] = gamma_t[1];
  contact->gamma[2] = gamma_n;
  for (int r = 0; r < 3; ++r) {
    spin->gamma[r] = spin->scale[r] * gamma_t[2 + r];
  }
  loops->add_rows(3, n, contact->J, contact->gamma, impulse);
  loops->add_rows(3, n, spin->J, spin->gamma, impulse);
  return sap_torsional_cost(&law, &at);
}

/* Adds the errors by |dgamma|_R <= |dy|_R over all rows, as in torsional_law.c. */
static void add_errors(const struct sap_dense_contact *contact,
                       const struct sap_vector_loops *loops, int32_t n, const double *v,
                       double terms, double *e) {
  const struct sap_contact *law = &contact->law;
  const struct sap_dense_torsion *spin = &contact->spin;
  double dy_R = 0, reach[3], turning[3]; /* |J| |v| */
  loops->multiply_absolute(3, n, contact->J, v, reach);
  loops->multiply_absolute(3, n, spin->J, v, turning);
  for (int r = 0; r < 3; ++r) {
    const double own = (n + 2) * sap_u * reach[r] +
                       4 * DBL_EPSILON * (fabs(contact->v_c[r]) + fabs(law->v_hat[r]));
    const double rate = (n + 2) * sap_u * turning[r] + 8 * DBL_EPSILON * fabs(spin->v_c[r]);
    const double scaled = spin->scale[r] * rate;
    dy_R += own * own * (r < 2 ? law->inverse_R_t : law->inverse_R_n) +
            scaled * scaled * law->inverse_R_t;
  }
  const double tangential = sqrt(dy_R * law->inverse_R_t), normal = sqrt(dy_R * law->inverse_R_n);
  const double rounding = 16 * DBL_EPSILON + terms * sap_u;
  double own[3], about[3];
  for (int r = 0; r < 3; ++r) {
    own[r] = (r < 2 ? tangential : normal) + rounding * fabs(contact->gamma[r]);
    about[r] = spin->scale[r] * tangential + rounding * fabs(spin->gamma[r]);
  }
  loops->add_absolute_rows(3, n, contact->J, own, e);
  loops->add_absolute_rows(3, n, spin->J, about, e);
}

double sap_dense_torsion_certify(const struct sap_dense_contact *contact,
                                 const struct sap_vector_loops *loops, int32_t n, const double *v,
                                 double terms, double *e) {
  const struct sap_contact *law = &contact->law;
  const struct sap_dense_torsion *spin = &contact->spin;
  add_errors(contact, loops, n, v, terms, e);
  const double g_n = contact->v_c[2] - law->v_hat[2] + law->R_n * contact->gamma[2];
  double gamma[SAP_TORSIONAL] = {contact->gamma[0], contact->gamma[1]};
  double g[SAP_TORSIONAL] = {contact->v_c[0] - law->v_hat[0], contact->v_c[1] - law->v_hat[1]};
  for (int r = 0; r < 3; ++r) {
    gamma[2 + r] = sap_torsional_unscale(spin->scale[r], spin->gamma[r]);
    g[2 + r] = spin->scale[r] * spin->v_c[r];
  }
  for (int k = 0; k < SAP_TORSIONAL; ++k) {
    g[k] += law->R_t * gamma[k];
  }
  const double slip = sqrt(sap_torsional_dot(g, g));
  return fabs(g_n * contact->gamma[2]) + fabs(sap_torsional_dot(g, gamma) + contact->bound * slip);
}

void sap_dense_torsion_write(const struct sap_dense_torsion *spin, const sap_solution *solution) {
  const int64_t first = 3 * (int64_t)spin->index;
  if (solution->spin_gamma) {
    memcpy(solution->spin_gamma + first, spin->gamma, sizeof spin->gamma);
  }
  if (solution->spin_v_c) {
    memcpy(solution->spin_v_c + first, spin->v_c, sizeof spin->v_c);
  }
}
