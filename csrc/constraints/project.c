#include <stddef.h>

#include "constraints/laws/rigid_core.h"
#include "constraints/laws/disk.h"

/* Writes G (3, 3). */
static void write_hessian(const double g[SAP_G_ENTRIES], double *G) {
  const int entry[9] = {SAP_G_11, SAP_G_12, SAP_G_1N, SAP_G_12, SAP_G_22,
                        SAP_G_2N, SAP_G_1N, SAP_G_2N, SAP_G_NN};
  for (int k = 0; k < 9; ++k) {
    G[k] = g[entry[k]];
  }
}

/* Writes the results of contact i into the arrays that are not NULL. */
static void write_law(int64_t i, const double impulse[3], const double g[SAP_G_ENTRIES], double l,
                      int8_t at, double *gamma, double *G, double *cost, int8_t *region) {
  for (int r = 0; gamma && r < 3; ++r) {
    gamma[3 * i + r] = impulse[r];
  }
  if (G) {
    write_hessian(g, G + 9 * i);
  }
  if (cost) {
    cost[i] = l;
  }
  if (region) {
    region[i] = at;
  }
}

/* Applies a barrier to the results of the compliant law; returns the cost. */
static double apply_barrier(const struct sap_barrier_shape *barrier, double cost, double gamma[3],
                            double G[SAP_G_ENTRIES]) {
  const struct sap_barrier_factors f =
      sap_barrier_at(barrier, sqrt(2 * cost * barrier->inverse_kappa));
  /* phi is infinite outside of the domain */
  const double phi = f.phi < INFINITY ? f.phi : NAN;
  const double rise = cost > 0 ? f.rise / (2 * cost) : 0;
  const int row[SAP_G_ENTRIES] = {0, 0, 1, 0, 1, 2}, column[SAP_G_ENTRIES] = {0, 1, 1, 2, 2, 2};
  for (int e = 0; e < SAP_G_ENTRIES; ++e) {
    G[e] = phi * G[e] + rise * (gamma[row[e]] * gamma[column[e]]);
  }
  for (int r = 0; r < 3; ++r) {
    gamma[r] *= phi;
  }
  return f.beta * cost;
}

void sap_project_barrier(int64_t n, const double *y, const double *mu, const double *R_t,
                         const double *R_n, double soft_norm, const int8_t *barrier,
                         const double *kappa, const double *barrier_lambda,
                         const sap_barrier_table *table, double *gamma, double *G, double *cost,
                         int8_t *region) {
  for (int64_t i = 0; i < n; ++i) {
    const struct sap_contact c = sap_contact_make(mu[i], R_t[i], R_n[i], soft_norm, 0, 0, 0);
    const struct sap_contact_state at =
        sap_contact_at_impulse(&c, y[3 * i], y[3 * i + 1], y[3 * i + 2]);
    double impulse[3], g[SAP_G_ENTRIES], l = sap_contact_cost(&c, &at);
    sap_contact_impulse(&c, &at, impulse);
    sap_contact_hessian(&c, &at, g);
    if (barrier && barrier[i] != SAP_BARRIER_NONE) {
      const struct sap_barrier_shape shape = {(sap_barrier)barrier[i], 1 / kappa[i],
                                              barrier[i] == SAP_BARRIER_EXP ? barrier_lambda[i] : 0,
                                              table};
      l = apply_barrier(&shape, l, impulse, g);
    }
    write_law(i, impulse, g, l, sap_contact_region(&at), gamma, G, cost, region);
  }
}

void sap_project(int64_t n, const double *y, const double *mu, const double *R_t, const double *R_n,
                 double soft_norm, double *gamma, double *G, double *cost, int8_t *region) {
  sap_project_barrier(n, y, mu, R_t, R_n, soft_norm, NULL, NULL, NULL, NULL, gamma, G, cost,
                      region);
}

void sap_project_disk(int64_t n, const double *y, const double *bound, const double *R_t,
                      const double *R_n, double soft_norm, double *gamma, double *G, double *cost,
                      int8_t *region) {
  for (int64_t i = 0; i < n; ++i) {
    const struct sap_contact c = sap_contact_make(0, R_t[i], R_n[i], soft_norm, 0, 0, 0);
    const struct sap_contact_state at =
        sap_disk_at_impulse(&c, bound[i], y[3 * i], y[3 * i + 1], y[3 * i + 2]);
    double impulse[3], g[SAP_G_ENTRIES];
    sap_disk_impulse(&at, bound[i], impulse);
    sap_disk_hessian(&c, &at, bound[i], g);
    write_law(i, impulse, g, sap_disk_cost(&c, &at, bound[i]), sap_contact_region(&at), gamma, G,
              cost, region);
  }
}
