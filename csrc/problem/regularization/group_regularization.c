/* This file computes R, v_hat and bounds of a group from physical parameters and the inverse mass
 * of its rows, by the kinds of constraints/kinds/kinds.h. */
#include <float.h>
#include <math.h>

#include "base/finite.h"
#include "base/fail.h"
#include "constraints/kinds/row_run.h"
#include "problem/groups.h"
#include "problem/regularization/regularization.h"

static int64_t count_rows(const sap_constraints *group) {
  int64_t n_rows = group->size ? 0 : group->n;
  for (int32_t c = 0; group->size && c < group->n; ++c) {
    n_rows += group->size[c];
  }
  return n_rows;
}

static sap_status check_given(const struct sap_kind_entry *kind, const sap_group_parameters *p,
                              int64_t n_rows, sap_error *error) {
  for (int32_t k = 0; k < kind->n_parameters && n_rows > 0; ++k) {
    if (!p->value || !p->value[k]) {
      return sap_invalid(error, kind->parameter[k].name, -1, NAN, "must be given");
    }
  }
  return SAP_OK;
}

static sap_status check_values(const char *name, enum sap_rule rule, int64_t n, const double *x,
                               sap_error *error) {
  const int64_t i = x ? sap_first_broken(rule, n, x) : -1;
  return i < 0 ? SAP_OK : sap_invalid(error, name, i, x[i], sap_rule_text(rule));
}

/* Reports the first parameter that breaks its rule. */
static sap_status check_parameters(const struct sap_kind_entry *kind, const sap_group_parameters *p,
                                   int64_t n_rows, sap_error *error) {
  sap_status status = SAP_OK;
  for (int32_t k = 0; k < kind->n_parameters && status == SAP_OK; ++k) {
    const struct sap_parameter *parameter = &kind->parameter[k];
    status = check_values(parameter->name, parameter->rule, n_rows, p->value[k], error);
  }
  if (status == SAP_OK) {
    status = check_values("release", SAP_POSITIVE, n_rows, p->release, error);
  }
  if (status == SAP_OK) {
    status = check_values("release_impulse", SAP_POSITIVE, n_rows, p->release_impulse, error);
  }
  return status == SAP_OK
             ? check_values("slip_speed", SAP_SYMMETRIC_BOUND, n_rows, p->slip_speed, error)
             : status;
}

/* Returns J A_t^-1 J^T of a row with one entry, of velocity `dof`. */
static double entry_delassus(const sap_problem *problem, const struct sap_masses *masses,
                             sap_delassus delassus, int32_t tree, int32_t dof, double J) {
  const int32_t n = problem->tree_nv[tree];
  const int64_t block = masses->tree_A[tree];
  if (delassus == SAP_DELASSUS_DIAGONAL) {
    return J * J / problem->A[block + (int64_t)dof * (n + 1)];
  }
  double *inverse = masses->inverse + masses->tree_v[tree];
  if (inverse[0] == 0) {
    masses->loops->square_columns(n, masses->strips + masses->tree_v[tree], masses->S + block,
                                  inverse);
  }
  return J * J * inverse[dof];
}

/* Returns |W_ii|_F/n of the rows [row, row + n), n <= 3, of a constraint whose J begins at J. */
static double inverse_mass(const sap_problem *problem, const struct sap_masses *masses,
                           sap_delassus delassus, const int32_t trees[2], const double *J,
                           int32_t size, int32_t row, int32_t n) {
  double W[9] = {0};
  for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
    const int32_t n_t = problem->tree_nv[trees[side]];
    sap_add_delassus(masses, delassus, n_t, problem->A, trees[side], n, J + row * (int64_t)n_t, W);
    J += (int64_t)size * n_t;
  }
  return n == 1 ? W[0] : sap_inverse_mass(W, n); /* sqrt(w^2) is w */
}

/* Reports why the parameters of row i give an invalid row. */
static sap_status refuse_row(const struct sap_kind_entry *kind, int64_t i,
                             const sap_group_parameters *p, const struct sap_row *row,
                             sap_error *error) {
  if (!sap_row_has_R(row)) {
    static const char rule[] = "must give a finite R > 0 with dt, beta and the rest of its row";
    return kind->stiffness < 0 ? sap_invalid(error, "sigma", -1, p->sigma, rule)
                               : sap_invalid(error, kind->parameter[kind->stiffness].name, i,
                                             p->value[kind->stiffness][i], rule);
  }
  if (!isfinite(row->v_hat)) {
    return sap_invalid(error, kind->parameter[kind->target].name, i, p->value[kind->target][i],
                       "must give a finite v_hat with dt and the rest of its row");
  }
  return sap_invalid(error, "force_lower", i, row->lower,
                     "must be <= force_upper, and not both infinite on one side");
}

/* Reports why constraint c has no effective mass w. */
static sap_status refuse_mass(const sap_problem *problem, const sap_constraints *group, int32_t c,
                              double w, sap_error *error) {
  int64_t n_rows, nJ;
  sap_status status = sap_measure_group(problem, group, &n_rows, &nJ, error);
  if (status == SAP_OK) {
    status = sap_check_finite("J", nJ, group->J, error);
  }
  return status != SAP_OK ? status
                          : sap_fail_whole(error, SAP_INVALID_ARGUMENT, SAP_ERROR_CONSTRAINT, "J",
                                           c, w, "must give an effective mass");
}

static int is_effective(double mass) { return (mass > 0) & (mass <= DBL_MAX); }

/* Finds w of every row, which is common to each batch of up to three rows of a constraint. */
static sap_status find_masses(const sap_problem *problem, const sap_constraints *group,
                              sap_delassus delassus, const struct sap_masses *masses, double *w,
                              sap_error *error) {
  const double *J = group->J;
  for (int32_t c = 0; c < group->n; ++c) {
    const int32_t trees[2] = {group->tree_a[c], group->tree_b[c]}, dof = sap_dof_of(group, c);
    if (dof >= 0) {
      *w = entry_delassus(problem, masses, delassus, trees[0], dof, *J++);
      if (!is_effective(*w++)) {
        return refuse_mass(problem, group, c, w[-1], error);
      }
      continue;
    }
    const int32_t size = sap_rows_of(group, c);
    for (int32_t r = 0; r < size; r += 3) {
      const int32_t n = size - r < 3 ? size - r : 3;
      const double mass = inverse_mass(problem, masses, delassus, trees, J, size, r, n);
      if (!is_effective(mass)) {
        return refuse_mass(problem, group, c, mass, error);
      }
      for (int32_t k = 0; k < n; ++k) {
        *w++ = mass;
      }
    }
    J += size *
         ((int64_t)problem->tree_nv[trees[0]] + (trees[1] < 0 ? 0 : problem->tree_nv[trees[1]]));
  }
  return SAP_OK;
}

sap_status sap_regularize_rows(const sap_problem *problem, const sap_constraints *group,
                               const sap_group_regularization *physical,
                               const struct sap_masses *masses, sap_error *error) {
  const sap_group_parameters *p = &physical->parameters;
  const struct sap_kind_entry *kind = sap_kinds[group->kind];
  const struct sap_row_run run = {.n = count_rows(group),
                                  .parameter = p->value,
                                  .release = p->release,
                                  .release_impulse = p->release_impulse,
                                  .slip_speed = p->slip_speed,
                                  .dt = p->dt,
                                  .sigma = p->sigma,
                                  .beta = p->beta,
                                  .R = physical->R,
                                  .v_hat = physical->v_hat,
                                  .lower = physical->lower,
                                  .upper = physical->upper};
  struct sap_row broken;
  int64_t filled = 0;
  sap_status status = sap_check_scalars(p->dt, p->sigma, p->beta, p->delassus, error);
  if (status == SAP_OK) {
    status = check_given(kind, p, run.n, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  status = find_masses(problem, group, p->delassus, masses, physical->R, error);
  if (status == SAP_OK) {
    filled = kind->rows(&run, &broken);
  }
  if (status == SAP_OK && filled == run.n) {
    return SAP_OK;
  }
  const sap_status broken_rule = check_parameters(kind, p, run.n, error);
  return broken_rule != SAP_OK ? broken_rule
         : status != SAP_OK    ? status
                               : refuse_row(kind, filled, p, &broken, error);
}

sap_status sap_regularize_group(const sap_problem *problem, const sap_constraints *group,
                                const sap_group_parameters *parameters, double *R, double *v_hat,
                                double *lower, double *upper, const sap_allocator *allocator,
                                sap_error *error) {
  const sap_group_regularization physical = {*parameters, R, v_hat, lower, upper};
  const sap_allocator memory = sap_allocator_or_default(allocator);
  struct sap_block block = {0};
  struct sap_masses masses;
  sap_status status = sap_masses_find(&masses, problem, &block, &memory, error);
  int64_t n_rows, nJ;
  if (status == SAP_OK) {
    status = sap_measure_group(problem, group, &n_rows, &nJ, error);
  }
  if (status == SAP_OK && nJ > 0 && !group->J) {
    status = sap_invalid(error, "J", -1, NAN, "must be given");
  }
  if (status == SAP_OK) {
    status = sap_regularize_rows(problem, group, &physical, &masses, error);
  }
  sap_block_release(&block, &memory);
  return status;
}
