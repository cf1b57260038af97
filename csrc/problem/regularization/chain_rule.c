#include "problem/regularization/chain_rule.h"

#include <math.h>

#include "constraints/kinds/kinds.h"
#include "constraints/kinds/slip_sigma.h"
#include "problem/regularization/regularization.h"

/* Returns an entry of an array, which may be NULL for zeros. */
static double entry(const double *x, int64_t i) { return x ? x[i] : 0; }

/* ---- the effective mass ---- */

static struct sap_inverse_mass_slope slope_of(const struct sap_chain *chain,
                                              const struct sap_row_set *rows, sap_delassus delassus,
                                              const double *J) {
  struct sap_inverse_mass_slope slope = {
      .rows = rows, .X = {chain->X[0], chain->X[1]}, .Y = {chain->Y[0], chain->Y[1]}};
  sap_inverse_mass_slope_find(&slope, chain->problem, chain->masses, delassus, J);
  return slope;
}

static void pull_mass(const struct sap_chain *chain, const struct sap_row_set *rows,
                      sap_delassus delassus, const double *J, double w_bar, double *J_bar,
                      double *A_bar) {
  if (chain->frozen || w_bar == 0 || (!J_bar && !A_bar)) {
    return;
  }
  const struct sap_inverse_mass_slope slope = slope_of(chain, rows, delassus, J);
  sap_inverse_mass_pull(&slope, chain->problem, chain->masses, delassus, w_bar, J_bar, A_bar);
}

static double push_mass(const struct sap_chain *chain, const struct sap_row_set *rows,
                        sap_delassus delassus, const double *J, const double *dJ,
                        const double *dA) {
  if (chain->frozen || (!dJ && !dA)) {
    return 0;
  }
  const struct sap_inverse_mass_slope slope = slope_of(chain, rows, delassus, J);
  return sap_inverse_mass_push(&slope, chain->problem, chain->masses, delassus, dJ, dA);
}

/* ---- contacts ---- */

/* Derivatives of R, v_hat_n and kappa of a contact. */
struct contact_slopes {
  double R_n_by_w, R_n_by_k, R_n_by_tau_d, R_n_by_dt;
  double R_t_by_w, R_t_by_sigma, R_t_by_slip_ratio;
  double v_hat_by_phi0, v_hat_by_time;
  double kappa_by_R_n, kappa_by_delta, kappa_by_time;
};

static int has_delta(const struct sap_chain *chain, int32_t i) {
  const int8_t *barrier = chain->problem->barrier;
  return chain->parameters->delta && barrier && barrier[i] != SAP_BARRIER_NONE;
}

static struct contact_slopes slopes_of(const struct sap_chain *chain, int32_t i) {
  const sap_problem *problem = chain->problem;
  const sap_parameters *p = chain->parameters;
  const double time = p->dt + p->tau_d[i], soft = 1 / (p->dt * p->k[i] * time);
  const double slip_ratio = p->slip_ratio ? p->slip_ratio[i] : INFINITY;
  const struct sap_sigma_slope slope = sap_slope_of_sigma(p->sigma, slip_ratio);
  const double w = problem->R_t[i] / slope.sigma_i;
  struct contact_slopes s = {.R_t_by_w = slope.sigma_i,
                             .R_t_by_sigma = w * slope.by_sigma,
                             .R_t_by_slip_ratio = w * slope.by_slip_ratio,
                             .v_hat_by_phi0 = -1 / time,
                             .v_hat_by_time = p->phi0[i] / (time * time)};
  if (problem->R_n[i] > soft) {
    s.R_n_by_w = sap_near_rigid(p->beta);
  } else {
    s.R_n_by_k = -soft / p->k[i];
    s.R_n_by_tau_d = -soft / time;
    s.R_n_by_dt = -soft / time - soft / p->dt;
  }
  if (has_delta(chain, i)) {
    const double kappa = problem->kappa[i];
    s.kappa_by_R_n = -kappa / problem->R_n[i];
    s.kappa_by_delta = 2 * kappa / p->delta[i];
    s.kappa_by_time = -2 * kappa / time;
  }
  return s;
}

struct sap_row_set sap_rows_of_contact(const sap_problem *problem, int32_t i, int64_t offset) {
  const int32_t a = problem->tree_a[i], b = problem->tree_b[i];
  const int64_t n_a = problem->tree_nv[a];
  return (struct sap_row_set){
      .n_rows = 3,
      .dof = -1,
      .side = {{a, offset, n_a}, {b, offset + 3 * n_a, b < 0 ? 0 : problem->tree_nv[b]}}};
}

static void pull_contacts(const struct sap_chain *chain, sap_differential *gradient) {
  const sap_problem *problem = chain->problem;
  const sap_parameters *p = chain->parameters;
  int64_t offset = 0;
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    const struct sap_row_set rows = sap_rows_of_contact(problem, i, offset);
    const struct contact_slopes s = slopes_of(chain, i);
    const double kappa_bar = has_delta(chain, i) ? gradient->kappa[i] : 0;
    const double R_n_bar = gradient->R_n[i] + kappa_bar * s.kappa_by_R_n;
    const double R_t_bar = gradient->R_t[i], v_bar = gradient->v_hat_n[i];
    const double by_time = v_bar * s.v_hat_by_time + kappa_bar * s.kappa_by_time;
    gradient->phi0[i] = v_bar * s.v_hat_by_phi0;
    gradient->k[i] = R_n_bar * s.R_n_by_k;
    gradient->tau_d[i] = R_n_bar * s.R_n_by_tau_d + by_time;
    gradient->dt += R_n_bar * s.R_n_by_dt + by_time;
    gradient->sigma += R_t_bar * s.R_t_by_sigma;
    if (p->slip_ratio) {
      gradient->slip_ratio[i] = R_t_bar * s.R_t_by_slip_ratio;
    }
    if (p->delta) {
      gradient->delta[i] = kappa_bar * s.kappa_by_delta;
    }
    pull_mass(chain, &rows, p->delassus, problem->J, R_n_bar * s.R_n_by_w + R_t_bar * s.R_t_by_w,
              gradient->J, gradient->A);
    offset += sap_length_of(&rows);
  }
}

static void push_contacts(const struct sap_chain *chain, const sap_differential *change,
                          const struct sap_derived *to) {
  const sap_problem *problem = chain->problem;
  const sap_parameters *p = chain->parameters;
  int64_t offset = 0;
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    const struct sap_row_set rows = sap_rows_of_contact(problem, i, offset);
    const struct contact_slopes s = slopes_of(chain, i);
    const double dtau_d = entry(change->tau_d, i), dtime = dtau_d + change->dt;
    const double dw = push_mass(chain, &rows, p->delassus, problem->J, change->J, change->A);
    const double dR_n = s.R_n_by_w * dw + s.R_n_by_k * entry(change->k, i) +
                        s.R_n_by_tau_d * dtau_d + s.R_n_by_dt * change->dt;
    to->R_n[i] += dR_n;
    to->R_t[i] += s.R_t_by_w * dw + s.R_t_by_sigma * change->sigma +
                  s.R_t_by_slip_ratio * entry(change->slip_ratio, i);
    to->v_hat_n[i] += s.v_hat_by_phi0 * entry(change->phi0, i) + s.v_hat_by_time * dtime;
    if (has_delta(chain, i)) {
      to->kappa[i] += s.kappa_by_R_n * dR_n + s.kappa_by_delta * entry(change->delta, i) +
                      s.kappa_by_time * dtime;
    }
    offset += sap_length_of(&rows);
  }
}

/* ---- rows of groups ---- */

struct sap_row_batch sap_row_batch_of(const sap_problem *problem, const sap_constraints *group,
                                      int32_t c, int32_t row, int64_t first, int64_t offset) {
  const int32_t size = sap_rows_of(group, c), a = group->tree_a[c], b = group->tree_b[c];
  const int32_t dof = sap_dof_of(group, c);
  const int64_t n_a = dof >= 0 ? 1 : problem->tree_nv[a], n_b = b < 0 ? 0 : problem->tree_nv[b];
  return (struct sap_row_batch){
      .rows = {.n_rows = size - row < 3 ? size - row : 3,
               .dof = dof,
               .side = {{a, offset + row * n_a, n_a}, {b, offset + size * n_a + row * n_b, n_b}}},
      .first = first + row};
}

void sap_row_slopes_find(const sap_constraints *group, const sap_group_parameters *p, int64_t i,
                         struct sap_row by[SAP_ROW_SLOPES]) {
  const struct sap_kind_entry *kind = sap_kinds[group->kind];
  double parameter[SAP_MOST_PARAMETERS];
  for (int32_t k = 0; k < kind->n_parameters; ++k) {
    parameter[k] = p->value[k][i];
  }
  /* if R is not the row's own, it is R_nr or follows from sigma */
  const struct sap_row_step step = {.dt = p->dt,
                                    .R_nr = group->R[i],
                                    .sigma = p->sigma,
                                    .w = NAN,
                                    .R = group->R[i],
                                    .release = INFINITY,
                                    .most = INFINITY};
  for (int k = 0; k < SAP_ROW_SLOPES; ++k) {
    by[k] = (struct sap_row){0};
  }
  kind->slopes(parameter, &step, by);
  for (int k = 0; k < SAP_ROW_SLOPES; ++k) {
    by[k].lower = isfinite(group->lower[i]) ? by[k].lower : 0;
    by[k].upper = isfinite(group->upper[i]) ? by[k].upper : 0;
  }
}

static void pull_batch(const struct sap_chain *chain, const sap_constraints *group,
                       const sap_group_parameters *p, const struct sap_row_batch *batch,
                       const sap_group_differential *bar, sap_differential *gradient) {
  const int32_t n_parameters = sap_kind_parameters(group->kind);
  double w_bar = 0;
  for (int64_t i = batch->first; i < batch->first + batch->rows.n_rows; ++i) {
    struct sap_row by[SAP_ROW_SLOPES];
    double x[SAP_ROW_SLOPES];
    sap_row_slopes_find(group, p, i, by);
    for (int k = 0; k < SAP_ROW_SLOPES; ++k) {
      x[k] = by[k].R * bar->R[i] + by[k].v_hat * bar->v_hat[i] + by[k].lower * bar->lower[i] +
             by[k].upper * bar->upper[i];
    }
    for (int32_t k = 0; k < n_parameters; ++k) {
      bar->value[k][i] = x[k];
    }
    gradient->dt += x[SAP_ROW_BY_DT];
    gradient->sigma += x[SAP_ROW_BY_SIGMA];
    w_bar += x[SAP_ROW_BY_R_NR] * sap_near_rigid(p->beta) + x[SAP_ROW_BY_W];
  }
  pull_mass(chain, &batch->rows, p->delassus, group->J, w_bar, bar->J, gradient->A);
}

static void push_batch(const struct sap_chain *chain, const sap_constraints *group,
                       const sap_group_parameters *p, const struct sap_row_batch *batch,
                       const sap_group_differential *group_change, const sap_differential *change,
                       const sap_group_differential *to) {
  const int32_t n_parameters = sap_kind_parameters(group->kind);
  const double dw = push_mass(chain, &batch->rows, p->delassus, group->J,
                              group_change ? group_change->J : NULL, change->A);
  for (int64_t i = batch->first; i < batch->first + batch->rows.n_rows; ++i) {
    struct sap_row by[SAP_ROW_SLOPES];
    double dx[SAP_ROW_SLOPES] = {0};
    sap_row_slopes_find(group, p, i, by);
    for (int32_t k = 0; group_change && group_change->value && k < n_parameters; ++k) {
      dx[k] = entry(group_change->value[k], i);
    }
    dx[SAP_ROW_BY_DT] = change->dt;
    dx[SAP_ROW_BY_R_NR] = sap_near_rigid(p->beta) * dw;
    dx[SAP_ROW_BY_W] = dw;
    dx[SAP_ROW_BY_SIGMA] = change->sigma;
    for (int k = 0; k < SAP_ROW_SLOPES; ++k) {
      to->R[i] += by[k].R * dx[k];
      to->v_hat[i] += by[k].v_hat * dx[k];
      to->lower[i] += by[k].lower * dx[k];
      to->upper[i] += by[k].upper * dx[k];
    }
  }
}

/* Applies the chain rule to the rows of group g, to `gradient`, or from `change` to `to`. */
static void chain_group(const struct sap_chain *chain, int32_t g, sap_differential *gradient,
                        const sap_differential *change, const sap_group_differential *to) {
  const sap_problem *problem = chain->problem;
  const sap_constraints *group = &problem->groups[g];
  const sap_group_parameters *p = &chain->parameters->groups[g].parameters;
  int64_t first = 0, offset = 0;
  for (int32_t c = 0; c < group->n; ++c) {
    int64_t length = 0;
    for (int32_t row = 0; row < sap_rows_of(group, c); row += 3) {
      const struct sap_row_batch batch = sap_row_batch_of(problem, group, c, row, first, offset);
      length += sap_length_of(&batch.rows);
      if (gradient) {
        pull_batch(chain, group, p, &batch, &gradient->groups[g], gradient);
      } else {
        push_batch(chain, group, p, &batch, change->groups ? &change->groups[g] : NULL, change, to);
      }
    }
    first += sap_rows_of(group, c);
    offset += length;
  }
}

/* Does group g follow from parameters? */
static int is_physical(const struct sap_chain *chain, int32_t g) {
  const sap_group_regularization *groups = chain->parameters->groups;
  return groups && groups[g].parameters.value && chain->problem->groups[g].n > 0;
}

/* ---- both directions ---- */

void sap_chain_pull(const struct sap_chain *chain, sap_differential *gradient) {
  if (chain->parameters->k) {
    pull_contacts(chain, gradient);
  }
  for (int32_t g = 0; g < chain->problem->n_groups; ++g) {
    if (is_physical(chain, g)) {
      chain_group(chain, g, gradient, NULL, NULL);
    }
  }
}

void sap_chain_push(const struct sap_chain *chain, const sap_differential *change,
                    const struct sap_derived *to) {
  if (chain->parameters->k) {
    push_contacts(chain, change, to);
  }
  for (int32_t g = 0; g < chain->problem->n_groups; ++g) {
    if (is_physical(chain, g)) {
      chain_group(chain, g, NULL, change, &to->groups[g]);
    }
  }
}
