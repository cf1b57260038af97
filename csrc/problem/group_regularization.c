/* From physical parameters to the R, v_hat and bounds of a group: the kinds of constraints/kinds.h
 * say how, from the inverse mass of their rows. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/status.h"
#include "base/vector.h"
#include "constraints/kinds.h"
#include "problem/groups.h"
#include "problem/regularization.h"

static sap_status check_parameters(const sap_constraints *group, const sap_group_parameters *p,
                                   sap_error *error) {
  const struct sap_kind_entry *kind = sap_kinds[group->kind];
  int64_t n_rows = group->size ? 0 : group->n;
  for (int32_t c = 0; group->size && c < group->n; ++c) {
    n_rows += group->size[c];
  }
  for (int32_t k = 0; k < kind->n_parameters && n_rows > 0; ++k) {
    const struct sap_parameter *parameter = &kind->parameter[k];
    const double *x = p->value ? p->value[k] : NULL;
    if (!x) {
      return sap_invalid(error, parameter->name, -1, NAN, "must be given");
    }
    const int64_t i = sap_first_broken(parameter->rule, n_rows, x);
    if (i >= 0) {
      return sap_invalid(error, parameter->name, i, x[i], sap_rule_text(parameter->rule));
    }
  }
  for (int64_t i = 0; i < n_rows && p->release; ++i) {
    if (!(p->release[i] > 0)) {
      return sap_invalid(error, "release", i, p->release[i], sap_rule_text(SAP_POSITIVE));
    }
  }
  return SAP_OK;
}

/* of the rows [row, row + n) of each constraint, up to three, into rows of three */
static void copy_rows(const double *J, int32_t n, int32_t row, int32_t n_rows, double *to) {
  for (int32_t r = 0; r < 3; ++r) {
    for (int32_t j = 0; j < n; ++j) {
      to[r * n + j] = r < n_rows ? J[(row + r) * (int64_t)n + j] : 0;
    }
  }
}

/* J A_t^-1 J^T of one row, mostly zeros where it is of one joint: |S J^T|^2, column by column of
 * S */
static double row_delassus(sap_delassus delassus, int32_t n, const double *A, const double *S,
                           const double *J, double *y) {
  double sum = 0;
  if (delassus == SAP_DELASSUS_DIAGONAL) {
    for (int32_t j = 0; j < n; ++j) {
      sum += J[j] * J[j] / A[(int64_t)j * (n + 1)];
    }
    return sum;
  }
  int32_t first = 0; /* above it y is zero, as S is lower triangular */
  while (first < n && J[first] == 0) {
    ++first;
  }
  memset(y + first, 0, sizeof *y * (size_t)(n - first));
  for (int32_t j = first; j < n; ++j) {
    if (J[j] != 0) {
      const double *column = S + (int64_t)j * n;
      for (int32_t i = j; i < n; ++i) {
        y[i] += J[j] * column[i];
      }
    }
  }
  for (int32_t i = first; i < n; ++i) {
    sum += y[i] * y[i];
  }
  return sum;
}

/* J A_t^-1 J^T of a row that has one entry, of velocity `dof` */
static double entry_delassus(const sap_problem *problem, const struct sap_masses *masses,
                             sap_delassus delassus, int32_t tree, int32_t dof, double J) {
  const int32_t n = problem->tree_nv[tree];
  const int64_t block = masses->tree_A[tree];
  if (delassus == SAP_DELASSUS_DIAGONAL) {
    return J * J / problem->A[block + (int64_t)dof * (n + 1)];
  }
  double *inverse = masses->inverse + masses->tree_v[tree];
  if (inverse[0] == 0) {
    masses->loops->square_columns(n, masses->S + block, inverse);
  }
  return J * J * inverse[dof];
}

/* |W_ii|_F/n of the rows [row, row + n) of a constraint, whose J begins at J */
static double inverse_mass(const sap_problem *problem, const struct sap_masses *masses,
                           sap_delassus delassus, const int32_t trees[2], const double *J,
                           int32_t size, int32_t row, int32_t n) {
  double W[9] = {0};
  for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
    const int32_t n_t = problem->tree_nv[trees[side]];
    const int64_t block = masses->tree_A[trees[side]];
    if (n == 1) {
      W[0] += row_delassus(delassus, n_t, problem->A + block, masses->S + block,
                           J + row * (int64_t)n_t, masses->rows);
    } else {
      copy_rows(J, n_t, row, n, masses->rows);
      sap_add_delassus(masses->kernels, delassus, n_t, problem->A + block, masses->S + block, 1,
                       masses->rows, W);
    }
    J += (int64_t)size * n_t;
  }
  return n == 1 ? W[0] : sap_inverse_mass(W, n); /* sqrt(w^2) is w */
}

/* 1/R is finite above it */
static const double least_R = 0x1p-1024;

/* what came of the parameters of row i */
static sap_status check_row(const struct sap_kind_entry *kind, int64_t i, const double *parameter,
                            double sigma, const struct sap_row *row, sap_error *error) {
  if (!(row->R > least_R && row->R <= DBL_MAX)) {
    static const char rule[] = "must give a finite R > 0 with dt, beta and the rest of its row";
    return kind->stiffness < 0 ? sap_invalid(error, "sigma", -1, sigma, rule)
                               : sap_invalid(error, kind->parameter[kind->stiffness].name, i,
                                             parameter[kind->stiffness], rule);
  }
  if (!isfinite(row->v_hat)) {
    return sap_invalid(error, kind->parameter[kind->target].name, i, parameter[kind->target],
                       "must give a finite v_hat with dt and the rest of its row");
  }
  if (!(row->lower <= row->upper && row->lower <= DBL_MAX && row->upper >= -DBL_MAX)) {
    return sap_invalid(error, "force_lower", i, row->lower,
                       "must be <= force_upper, and not both infinite on one side");
  }
  return SAP_OK;
}

/* why constraint c has no effective mass w */
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

sap_status sap_regularize_rows(const sap_problem *problem, const sap_constraints *group,
                               const sap_group_regularization *physical,
                               const struct sap_masses *masses, sap_error *error) {
  const sap_group_parameters *p = &physical->parameters;
  sap_status checked = sap_check_scalars(p->dt, p->sigma, p->beta, p->delassus, error);
  if (checked == SAP_OK) {
    checked = check_parameters(group, p, error);
  }
  if (checked != SAP_OK) {
    return checked;
  }
  const struct sap_kind_entry *kind = sap_kinds[group->kind];
  const double *J = group->J;
  int64_t i = 0;
  for (int32_t c = 0; c < group->n; ++c) {
    const int32_t size = sap_rows_of(group, c);
    const int32_t trees[2] = {group->tree_a[c], group->tree_b[c]};
    const int32_t dof = sap_dof_of(group, c);
    double w = 0;
    for (int32_t r = 0; r < size; ++r, ++i) {
      if (r % 3 == 0) {
        const int32_t n = size - r < 3 ? size - r : 3;
        w = dof >= 0 ? entry_delassus(problem, masses, p->delassus, trees[0], dof, J[0])
                     : inverse_mass(problem, masses, p->delassus, trees, J, size, r, n);
        if (!(w > 0 && isfinite(w))) {
          return refuse_mass(problem, group, c, w, error);
        }
      }
      double parameter[SAP_MOST_PARAMETERS];
      for (int32_t k = 0; k < kind->n_parameters; ++k) {
        parameter[k] = p->value[k][i];
      }
      const double R_1 = w / sap_four_pi_squared, R_nr = p->beta * p->beta * R_1;
      const struct sap_row_step step = {.dt = p->dt,
                                        .R_nr = R_nr,
                                        .R_t = p->sigma * w,
                                        .R_1 = sap_larger(R_nr, R_1),
                                        .release = p->release ? p->release[i] : INFINITY};
      const struct sap_row row = kind->row(parameter, &step);
      const sap_status status = check_row(kind, i, parameter, p->sigma, &row, error);
      if (status != SAP_OK) {
        return status;
      }
      physical->R[i] = row.R;
      physical->v_hat[i] = row.v_hat;
      if (physical->lower) {
        physical->lower[i] = row.lower;
        physical->upper[i] = row.upper;
      }
    }
    J += dof >= 0 ? 1
                  : size * ((int64_t)problem->tree_nv[trees[0]] +
                            (trees[1] < 0 ? 0 : problem->tree_nv[trees[1]]));
  }
  return SAP_OK;
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
