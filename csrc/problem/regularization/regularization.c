/* This file computes R and v_hat from physical parameters: section IX. */
#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/fail.h"
#include "constraints/kinds/release_row.h"
#include "constraints/kinds/slip_sigma.h"
#include "problem/regularization/loads.h"
#include "problem/problem_check.h"
#include "problem/regularization/regularization.h"

/* ratio of R_n of an impact to R_nr: the speed of separation is v_hat_n to 1e-3 */
static const double impact_share = 0.01;

static sap_status check_body_masses(int64_t n, const double *body_w, sap_error *error) {
  for (int64_t i = 0; i < 2 * n; ++i) {
    if (!(isfinite(body_w[i]) && body_w[i] >= 0)) {
      return sap_invalid(error, "body_w", i, body_w[i], "must be finite and >= 0");
    }
  }
  return SAP_OK;
}

/* Returns 1 if sigma depends on loads. */
static int slips_under_load(const sap_parameters *p) {
  return p->free_change && p->slip_ratio && p->slip_speed > 0;
}

/* Checks everything that sap_regularize() checks except trees and A. */
static sap_status check_parameters(const sap_problem *problem, const sap_sizes *sizes,
                                   const sap_parameters *p, sap_error *error) {
  sap_status status = sap_check_scalars(p->dt, p->sigma, p->beta, p->delassus, error);
  if (status != SAP_OK) {
    return status;
  }
  const int64_t n = problem->n_contacts;
  if (n > 0 && (!p->k || !p->tau_d)) {
    return sap_invalid(error, p->k ? "tau_d" : "k", -1, NAN, "must be given");
  }
  status = sap_check_finite("phi0", n, p->phi0, error);
  for (int64_t i = 0; i < n && status == SAP_OK; ++i) {
    if (!(p->k[i] > 0)) {
      /* an infinite k is rigid, which section IX-A turns into near-rigid */
      status = sap_invalid(error, "k", i, p->k[i], "must be > 0");
    } else if (!isfinite(p->tau_d[i]) || p->tau_d[i] < 0) {
      status = sap_invalid(error, "tau_d", i, p->tau_d[i], "must be finite and >= 0");
    } else if (p->release && !(p->release[i] > 0)) {
      status = sap_invalid(error, "release", i, p->release[i], "must be > 0");
    } else if (p->slip_ratio && !(p->slip_ratio[i] >= 0)) {
      status = sap_invalid(error, "slip_ratio", i, p->slip_ratio[i], "must be >= 0");
    } else if (p->rebound && !(p->rebound[i] >= 0 && isfinite(p->rebound[i]))) {
      status = sap_invalid(error, "rebound", i, p->rebound[i], "must be finite and >= 0");
    }
  }
  if (status == SAP_OK && p->free_change) {
    status = sap_check_finite("free_change", sizes->nv, p->free_change, error);
  }
  if (status == SAP_OK && p->free_change && n > 0) {
    status = problem->v_star ? sap_check_finite("v_star", sizes->nv, problem->v_star, error)
                             : sap_invalid(error, "v_star", -1, NAN, "must be given");
  }
  if (status == SAP_OK && p->free_change && !(p->load_speed > 0)) {
    status = sap_invalid(error, "load_speed", -1, p->load_speed, "must be > 0");
  }
  if (status == SAP_OK && p->free_change && !(p->slip_speed >= 0 && isfinite(p->slip_speed))) {
    status = sap_invalid(error, "slip_speed", -1, p->slip_speed, "must be finite and >= 0");
  }
  if (status == SAP_OK && slips_under_load(p) && n > 0) {
    status = problem->mu ? sap_check_finite("mu", n, problem->mu, error)
                         : sap_invalid(error, "mu", -1, NAN, "must be given");
  }
  if (status == SAP_OK && p->body_w) {
    status = check_body_masses(n, p->body_w, error);
  }
  return status == SAP_OK && n > 0 && !problem->J
             ? sap_invalid(error, "J", -1, NAN, "must be given")
             : status;
}

static double dot(int32_t n, const double *x, const double *y) {
  double sum = 0;
  for (int32_t i = 0; i < n; ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}

/* Returns w of contact i, whose J begins at *J, which advances to the next one; finds its load P_i
 * and -J_n v* if loads are known. */
static double contact_mass(const sap_problem *problem, const sap_parameters *p,
                           const struct sap_masses *masses, int32_t i, const double **J,
                           double *load, double *approach) {
  const int32_t trees[2] = {problem->tree_a[i], problem->tree_b[i]};
  double W[9] = {0};
  for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
    const int32_t n = problem->tree_nv[trees[side]];
    double of_side[9];
    memcpy(of_side, W, sizeof W);
    sap_add_delassus(masses, p->delassus, n, problem->A, trees[side], 3, *J, W);
    if (p->free_change) {
      for (int k = 0; k < 9; ++k) {
        of_side[k] = W[k] - of_side[k];
      }
      const double w_body = p->body_w ? p->body_w[2 * (int64_t)i + side] : 0;
      const double *J_n = *J + 2 * (int64_t)n;
      const int64_t v = masses->tree_v[trees[side]];
      const double a = dot(n, J_n, p->free_change + v);
      *approach -= dot(n, J_n, problem->v_star + v);
      *load = fmax(*load, sap_side_load(-a, sap_inverse_mass(of_side, 3), w_body));
    }
    *J += 3 * (int64_t)n;
  }
  return sap_inverse_mass(W, 3);
}

/* Reports why contact i has no effective mass w. */
static sap_status refuse_mass(const sap_problem *problem, int64_t nJ, int32_t i, double w,
                              sap_error *error) {
  const sap_status status = sap_check_finite("J", nJ, problem->J, error);
  return status != SAP_OK ? status
                          : sap_fail_whole(error, SAP_INVALID_ARGUMENT, SAP_ERROR_CONSTRAINT, "J",
                                           i, w, "must give an effective mass");
}

/* Finds w (n_contacts), and the loads and -J_n v* (n_contacts) if they are known, else 0. Loads are
 * P if the largest one makes any contact stiffer or changes any sigma, else P_i, which then do
 * neither. */
static sap_status find_masses(const sap_problem *problem, int64_t nJ, const sap_parameters *p,
                              const struct sap_masses *masses, double *w, double *load,
                              double *approach, sap_error *error) {
  const double *J = problem->J;
  double largest_w = 0, largest_load = 0, largest_mu = 0;
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    load[i] = approach[i] = 0;
    w[i] = contact_mass(problem, p, masses, i, &J, load + i, approach + i);
    if (!(w[i] > 0 && isfinite(w[i]))) {
      return refuse_mass(problem, nJ, i, w[i], error);
    }
    largest_w = fmax(largest_w, w[i]);
    largest_load = fmax(largest_load, load[i]);
    largest_mu = fmax(largest_mu, slips_under_load(p) ? problem->mu[i] : 0);
  }
  const double pull = largest_w * largest_load;
  const double creep = p->sigma * largest_mu * pull;
  if (largest_load > 0 && (sap_near_rigid(p->beta) * pull > p->load_speed ||
                           sap_creep_share(creep, p->slip_speed) < 1)) {
    sap_spread_loads(problem, p->phi0, masses->island, masses->load, load);
  }
  return SAP_OK;
}

/* Returns sigma of contact i, with w and its load. */
static double find_sigma(const sap_problem *problem, const sap_parameters *p, int32_t i, double w,
                         double load) {
  if (!p->slip_ratio) {
    return p->sigma;
  }
  const double creep = slips_under_load(p) ? p->sigma * w * problem->mu[i] * load : 0;
  return sap_sigma_under_load(p->sigma, p->slip_ratio[i], sap_creep_share(creep, p->slip_speed));
}

sap_status sap_regularize_contacts(const sap_problem *problem, const sap_sizes *sizes,
                                   const sap_parameters *p, const struct sap_masses *masses,
                                   double *R_t, double *R_n, double *v_hat_n, sap_error *error) {
  sap_status status = check_parameters(problem, sizes, p, error);
  if (status == SAP_OK) {
    status = find_masses(problem, sizes->nJ, p, masses, R_t, R_n, v_hat_n, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    const double w = R_t[i], load = R_n[i], approach = v_hat_n[i];
    const double time = p->dt + p->tau_d[i]; /* s */
    v_hat_n[i] = -p->phi0[i] / time;
    const double R_nr = sap_near_rigid(p->beta) * w;
    const double most = fmax(load, sap_impact_load(v_hat_n[i], approach, w));
    const double near_rigid = most > 0 ? sap_loaded_R(R_nr, most, p->load_speed) : R_nr;
    R_n[i] = fmax(near_rigid, 1 / (p->dt * p->k[i] * time)); /* (21) */
    R_t[i] = find_sigma(problem, p, i, w, load) * w;         /* (22) */
    if (p->release && v_hat_n[i] > p->release[i] && isinf(p->k[i])) {
      const double *body_w = p->body_w ? p->body_w + 2 * (int64_t)i : NULL;
      R_n[i] *= body_w ? fmax(1, (body_w[0] + body_w[1]) / w) : 1;
      sap_hold_back(p->release[i], INFINITY, &R_n[i], &v_hat_n[i]);
    }
    if (p->rebound && p->rebound[i] > v_hat_n[i] && p->rebound[i] > 0 && isinf(p->k[i])) {
      R_n[i] = impact_share * R_nr;
      v_hat_n[i] = p->rebound[i];
    }
    if (!(R_n[i] > 0 && isfinite(R_n[i]) && R_t[i] > 0 && isfinite(R_t[i]) &&
          isfinite(v_hat_n[i]))) {
      return sap_invalid(
          error, "k", i, p->k[i],
          "must give finite R and v_hat > 0 with these dt, tau_d, phi0, sigma and beta");
    }
  }
  return SAP_OK;
}

/* Checks the parameters of the energy of contact i. */
static sap_status check_barrier(const sap_parameters *p, int32_t i, sap_error *error) {
  if (!p->delta || !p->tau_d) {
    return sap_invalid(error, p->delta ? "tau_d" : "delta", -1, NAN,
                       "must be given where a contact has a core");
  }
  if (!(p->dt > 0 && isfinite(p->dt))) {
    return sap_invalid(error, "dt", -1, p->dt, "must be finite and > 0");
  }
  if (!(p->tau_d[i] >= 0 && isfinite(p->tau_d[i]))) {
    return sap_invalid(error, "tau_d", i, p->tau_d[i], "must be finite and >= 0");
  }
  if (!(p->delta[i] > 0 && isfinite(p->delta[i]))) {
    return sap_invalid(error, "delta", i, p->delta[i], "must be finite and > 0");
  }
  return SAP_OK;
}

sap_status sap_barrier_energy(const sap_problem *problem, const sap_parameters *p,
                              const double *R_n, double *kappa, sap_error *error) {
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    kappa[i] = INFINITY;
    if (!problem->barrier || problem->barrier[i] == SAP_BARRIER_NONE) {
      continue;
    }
    const sap_status status = check_barrier(p, i, error);
    if (status != SAP_OK) {
      return status;
    }
    const double speed = p->delta[i] / (p->dt + p->tau_d[i]);
    kappa[i] = speed * speed / R_n[i];
    if (!(kappa[i] > 0 && isfinite(kappa[i]) && isfinite(1 / kappa[i]))) {
      return sap_invalid(error, "delta", i, p->delta[i],
                         "must give a finite energy > 0 with these dt, tau_d and R_n");
    }
  }
  return SAP_OK;
}

/* Checks that a group with rows points at the arrays that its regularization writes. */
static sap_status check_target(const sap_constraints *group, const sap_group_regularization *to,
                               sap_error *error) {
  const double *const expected[] = {group->R, group->v_hat, group->lower, group->upper};
  const double *const written[] = {to->R, to->v_hat, to->lower, to->upper};
  static const char *const names[] = {"R", "v_hat", "lower", "upper"};
  const int n = group->n == 0 ? 0 : to->lower || to->upper ? 4 : 2;
  for (int i = 0; i < n; ++i) {
    if (!written[i] || written[i] != expected[i]) {
      return sap_fail(error, SAP_INVALID_ARGUMENT, names[i], -1, NAN,
                      "must be the array that its regularization writes");
    }
  }
  return SAP_OK;
}

sap_status sap_regularize_with(const sap_problem *problem, const sap_sizes *sizes,
                               const struct sap_regularization *physical,
                               const struct sap_masses *masses, sap_error *error) {
  sap_status status =
      sap_regularize_contacts(problem, sizes, physical->parameters, masses, physical->R_t,
                              physical->R_n, physical->v_hat_n, error);
  const sap_group_regularization *groups = physical->parameters->groups;
  if (groups && sizes->n_rows > 0) {
    memset(masses->inverse, 0, (size_t)sizes->nv * sizeof *masses->inverse);
  }
  for (int32_t g = 0; groups && g < problem->n_groups && status == SAP_OK; ++g) {
    status = check_target(&problem->groups[g], &groups[g], error);
    if (status == SAP_OK) {
      status = sap_regularize_rows(problem, &problem->groups[g], &groups[g], masses, error);
    }
    sap_set_error_group(status, g, error);
  }
  return status;
}

sap_status sap_regularize(const sap_problem *problem, const sap_parameters *parameters, double *R_t,
                          double *R_n, double *v_hat_n, const sap_allocator *allocator,
                          sap_error *error) {
  sap_sizes sizes;
  sap_status status = sap_problem_sizes(problem, &sizes, error);
  if (status != SAP_OK) {
    return status;
  }
  const sap_allocator memory = sap_allocator_or_default(allocator);
  const struct sap_regularization physical = {parameters, R_t, R_n, v_hat_n};
  struct sap_block block = {0};
  struct sap_masses masses;
  status = sap_masses_find(&masses, problem, &block, &memory, error);
  if (status == SAP_OK) {
    status = sap_regularize_with(problem, &sizes, &physical, &masses, error);
  }
  sap_block_release(&block, &memory);
  return status;
}
