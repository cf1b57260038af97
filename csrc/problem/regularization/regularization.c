/* From physical parameters to R and v_hat: section IX. */
#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/memory.h"
#include "base/fail.h"
#include "constraints/kinds/release_row.h"
#include "linalg/kernels.h"
#include "problem/regularization/loads.h"
#include "problem/problem_check.h"
#include "problem/regularization/regularization.h"

sap_status sap_check_scalars(double dt, double sigma, double beta, sap_delassus delassus,
                             sap_error *error) {
  const struct {
    const char *name;
    double value;
    int zero_allowed;
  } scalars[] = {{"dt", dt, 0}, {"sigma", sigma, 0}, {"beta", beta, 1}};
  for (size_t s = 0; s < sizeof scalars / sizeof *scalars; ++s) {
    const double x = scalars[s].value;
    if (!isfinite(x) || x < 0 || (x == 0 && !scalars[s].zero_allowed)) {
      return sap_invalid(
          error, scalars[s].name, -1, x,
          scalars[s].zero_allowed ? "must be finite and >= 0" : "must be finite and > 0");
    }
  }
  if (delassus != SAP_DELASSUS_BLOCK && delassus != SAP_DELASSUS_DIAGONAL) {
    return sap_invalid(error, "delassus", -1, delassus, "must be a sap_delassus");
  }
  return SAP_OK;
}

static sap_status check_body_masses(int64_t n, const double *body_w, sap_error *error) {
  for (int64_t i = 0; i < 2 * n; ++i) {
    if (!(isfinite(body_w[i]) && body_w[i] >= 0)) {
      return sap_invalid(error, "body_w", i, body_w[i], "must be finite and >= 0");
    }
  }
  return SAP_OK;
}

/* all that sap_regularize() checks but trees and A */
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
      /* k may be infinite: rigid, which section IX-A turns into near-rigid */
      status = sap_invalid(error, "k", i, p->k[i], "must be > 0");
    } else if (!isfinite(p->tau_d[i]) || p->tau_d[i] < 0) {
      status = sap_invalid(error, "tau_d", i, p->tau_d[i], "must be finite and >= 0");
    } else if (p->release && !(p->release[i] > 0)) {
      status = sap_invalid(error, "release", i, p->release[i], "must be > 0");
    }
  }
  if (status == SAP_OK && p->free_change) {
    status = sap_check_finite("free_change", sizes->nv, p->free_change, error);
  }
  if (status == SAP_OK && p->free_change && !(p->load_speed > 0)) {
    status = sap_invalid(error, "load_speed", -1, p->load_speed, "must be > 0");
  }
  if (status == SAP_OK && p->body_w) {
    status = check_body_masses(n, p->body_w, error);
  }
  return status == SAP_OK ? sap_check_finite("J", sizes->nJ, problem->J, error) : status;
}

/* W (3, 3) += J diag(A)^-1 J^T of n_rows <= 3 rows */
static void add_diagonal_estimate(int32_t n, const double *A, int32_t n_rows, const double *J,
                                  double W[9]) {
  for (int32_t r = 0; r < n_rows; ++r) {
    for (int32_t c = 0; c < n_rows; ++c) {
      for (int32_t j = 0; j < n; ++j) {
        W[3 * r + c] += J[(int64_t)r * n + j] * J[(int64_t)c * n + j] / A[(int64_t)j * (n + 1)];
      }
    }
  }
}

void sap_add_delassus(const struct sap_masses *masses, sap_delassus delassus, int32_t n,
                      const double *A, int32_t tree, int32_t n_rows, const double *J, double W[9]) {
  const int64_t block = masses->tree_A[tree];
  if (delassus == SAP_DELASSUS_DIAGONAL) {
    add_diagonal_estimate(n, A + block, n_rows, J, W);
    return;
  }
  masses->loops->add_gram(n, masses->strips + masses->tree_v[tree], masses->S + block, n_rows, J,
                          W);
}

double sap_inverse_mass(const double W[9], int32_t n_rows) {
  double sum = 0;
  for (int i = 0; i < 9; ++i) {
    sum += W[i] * W[i];
  }
  return sqrt(sum) / n_rows;
}

static double dot(int32_t n, const double *x, const double *y) {
  double sum = 0;
  for (int32_t i = 0; i < n; ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}

/* w of contact i, whose J begins at *J, which goes on to the next one; and its load P_i, where
 * loads are known */
static double contact_mass(const sap_problem *problem, const sap_parameters *p,
                           const struct sap_masses *masses, int32_t i, const double **J,
                           double *load) {
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
      const double a = dot(n, *J + 2 * (int64_t)n, p->free_change + masses->tree_v[trees[side]]);
      *load = fmax(*load, sap_side_load(-a, sap_inverse_mass(of_side, 3), w_body));
    }
    *J += 3 * (int64_t)n;
  }
  return sap_inverse_mass(W, 3);
}

/* w (n_contacts), and the loads (n_contacts) where they are known, else 0: P where the largest one
 * makes any contact stiffer, else P_i, which then make none */
static sap_status find_masses(const sap_problem *problem, const sap_parameters *p,
                              const struct sap_masses *masses, double *w, double *load,
                              sap_error *error) {
  const double *J = problem->J;
  double largest_w = 0, largest_load = 0;
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    load[i] = 0;
    w[i] = contact_mass(problem, p, masses, i, &J, load + i);
    if (!(w[i] > 0 && isfinite(w[i]))) {
      return sap_fail_whole(error, SAP_INVALID_ARGUMENT, SAP_ERROR_CONSTRAINT, "J", i, w[i],
                            "must give an effective mass");
    }
    largest_w = fmax(largest_w, w[i]);
    largest_load = fmax(largest_load, load[i]);
  }
  const double R_nr = sap_near_rigid(p->beta) * largest_w;
  if (largest_load > 0 && R_nr * largest_load > p->load_speed) {
    sap_spread_loads(problem, p->phi0, masses->island, masses->load, load);
  }
  return SAP_OK;
}

sap_status sap_regularize_contacts(const sap_problem *problem, const sap_sizes *sizes,
                                   const sap_parameters *p, const struct sap_masses *masses,
                                   double *R_t, double *R_n, double *v_hat_n, sap_error *error) {
  sap_status status = check_parameters(problem, sizes, p, error);
  if (status == SAP_OK) {
    status = find_masses(problem, p, masses, R_t, R_n, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    const double w = R_t[i], load = R_n[i];
    const double time = p->dt + p->tau_d[i]; /* s */
    const double R_nr = sap_near_rigid(p->beta) * w;
    const double near_rigid = load > 0 ? sap_loaded_R(R_nr, load, p->load_speed) : R_nr;
    R_n[i] = fmax(near_rigid, 1 / (p->dt * p->k[i] * time)); /* (21) */
    R_t[i] = p->sigma * w;                                   /* (22) */
    v_hat_n[i] = -p->phi0[i] / time;
    if (p->release && v_hat_n[i] > p->release[i] && isinf(p->k[i])) {
      const double *body_w = p->body_w ? p->body_w + 2 * (int64_t)i : NULL;
      R_n[i] *= body_w ? fmax(1, (body_w[0] + body_w[1]) / w) : 1;
      sap_hold_back(p->release[i], INFINITY, &R_n[i], &v_hat_n[i]);
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

/* what the energy of contact i follows from */
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

/* what is written must be what the group points at, where it has rows */
static sap_status check_target(const sap_constraints *group, const sap_group_regularization *to,
                               sap_error *error) {
  const double *const of[] = {group->R, group->v_hat, group->lower, group->upper};
  const double *const written[] = {to->R, to->v_hat, to->lower, to->upper};
  static const char *const names[] = {"R", "v_hat", "lower", "upper"};
  const int n = group->n == 0 ? 0 : to->lower || to->upper ? 4 : 2;
  for (int i = 0; i < n; ++i) {
    if (!written[i] || written[i] != of[i]) {
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
    sap_of_group(status, g, error);
  }
  return status;
}

/* ---- with masses of its own ------------------------------------------------------------------ */

static void carve(struct sap_masses *masses, struct sap_arena *arena, int32_t n_trees,
                  const sap_sizes *sizes) {
  masses->S = sap_arena_take(arena, (size_t)sizes->nA, sizeof(double));
  masses->strips = sap_arena_take(arena, (size_t)sizes->nv, sizeof(uint64_t));
  masses->tree_A = sap_arena_take(arena, (size_t)n_trees, sizeof(int64_t));
  masses->tree_v = sap_arena_take(arena, (size_t)n_trees, sizeof(int64_t));
  masses->inverse = sap_arena_take(arena, (size_t)sizes->nv, sizeof(double));
  masses->island = sap_arena_take(arena, (size_t)n_trees, sizeof(int32_t));
  masses->load = sap_arena_take(arena, (size_t)n_trees, sizeof(double));
}

sap_status sap_masses_find(struct sap_masses *masses, const sap_problem *problem,
                           struct sap_block *block, const sap_allocator *allocator,
                           sap_error *error) {
  sap_problem trees = *problem;
  trees.n_contacts = trees.n_groups = 0;
  trees.spin = NULL;
  sap_sizes sizes;
  const sap_status status = sap_problem_sizes(&trees, &sizes, error);
  if (status != SAP_OK) {
    return status;
  }
  struct sap_arena arena = {NULL, 0};
  carve(masses, &arena, problem->n_trees, &sizes);
  if (!sap_block_reserve(block, arena.used, allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  arena = (struct sap_arena){block->base, 0};
  carve(masses, &arena, problem->n_trees, &sizes);
  masses->kernels = sap_kernels_best();
  masses->loops = sap_vector_loops_of(sap_kernels_best_set());
  int64_t offset = 0, v = 0;
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    masses->tree_A[t] = offset;
    masses->tree_v[t] = v;
    masses->inverse[v] = 0;
    v += problem->tree_nv[t];
    offset += (int64_t)problem->tree_nv[t] * problem->tree_nv[t];
  }
  return sap_invert_mass(problem, 0, problem->n_trees, NULL, masses->S, masses->strips, NULL,
                         error);
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
