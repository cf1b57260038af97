#include "problem/groups.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "constraints/kinds.h"
#include "problem/problem.h"

static sap_status invalid(sap_error *error, const char *argument, int64_t index, double value,
                          const char *rule) {
  sap_fail(error, SAP_INVALID_ARGUMENT, argument, index, value, rule);
  return SAP_INVALID_ARGUMENT; /* the analyzer does not look into sap_fail() */
}

/* an error of group g */
static sap_status of_group(sap_status status, int32_t g, sap_error *error) {
  if (status != SAP_OK && error) {
    error->group = g;
  }
  return status;
}

/* rows and entries of J of one group, or what is wrong with its indices */
static sap_status measure(const sap_problem *problem, const sap_constraints *group, int64_t *n_rows,
                          int64_t *nJ, sap_error *error) {
  *n_rows = *nJ = 0;
  if ((unsigned)group->kind >= SAP_N_KINDS) {
    return invalid(error, "kind", -1, group->kind, "must be a sap_kind");
  }
  if (group->n < 0) {
    return invalid(error, "n", -1, group->n, "must be >= 0");
  }
  if (group->n > 0 && (!group->tree_a || !group->tree_b)) {
    return invalid(error, group->tree_a ? "tree_b" : "tree_a", -1, NAN, "must be given");
  }
  const int32_t most = sap_kinds[group->kind]->most_rows;
  for (int32_t i = 0; i < group->n; ++i) {
    const int32_t a = group->tree_a[i], b = group->tree_b[i];
    const int32_t size = sap_rows_of(group, i);
    if (size < 1 || size > most) {
      return invalid(error, "size", i, size, most == 1 ? "must be 1" : "must be from 1 to 6");
    }
    if (a < 0 || a >= problem->n_trees) {
      return invalid(error, "tree_a", i, a, "must be the index of a tree");
    }
    if (b < -1 || b >= problem->n_trees) {
      return invalid(error, "tree_b", i, b, "must be the index of a tree, or -1");
    }
    if (a == b) {
      return invalid(error, "tree_b", i, b,
                     "must differ from tree_a (-1 where both sides are one tree)");
    }
    *n_rows += size;
    *nJ += size * ((int64_t)problem->tree_nv[a] + (b < 0 ? 0 : problem->tree_nv[b]));
  }
  return SAP_OK;
}

sap_status sap_group_sizes(const sap_problem *problem, sap_sizes *sizes, sap_error *error) {
  /* keeps every index of the solver within 32 bits */
  enum { LIMIT = 1 << 28 };
  if (problem->n_groups < 0) {
    return invalid(error, "n_groups", -1, problem->n_groups, "must be >= 0");
  }
  if (problem->n_groups > 0 && !problem->groups) {
    return invalid(error, "groups", -1, NAN, "must be given");
  }
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    int64_t n_rows, nJ;
    const sap_status status = measure(problem, &problem->groups[g], &n_rows, &nJ, error);
    if (status != SAP_OK) {
      return of_group(status, g, error);
    }
    sizes->n_rows += n_rows;
    if (problem->n_contacts + sizes->n_rows > LIMIT) {
      return of_group(invalid(error, "n", -1, problem->groups[g].n,
                              "contacts and rows must be at most 2^28 together"),
                      g, error);
    }
  }
  return SAP_OK;
}

sap_status sap_check_groups_given(const sap_problem *problem, sap_error *error) {
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    const struct {
      const char *name;
      const double *x;
    } arrays[] = {{"J", group->J},
                  {"R", group->R},
                  {"v_hat", group->v_hat},
                  {"lower", group->lower},
                  {"upper", group->upper}};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays && group->n > 0; ++a) {
      if (!arrays[a].x) {
        return of_group(invalid(error, arrays[a].name, -1, NAN, "must be given"), g, error);
      }
    }
  }
  return SAP_OK;
}

static sap_status check(const sap_problem *problem, const sap_constraints *group,
                        sap_error *error) {
  int64_t n_rows, nJ;
  sap_status status = measure(problem, group, &n_rows, &nJ, error);
  if (status == SAP_OK) {
    status = sap_check_finite("J", nJ, group->J, error);
  }
  if (status == SAP_OK) {
    status = sap_check_finite("v_hat", n_rows, group->v_hat, error);
  }
  for (int64_t i = 0; i < n_rows && status == SAP_OK; ++i) {
    const double R = group->R[i];
    if (!(R > 0 && isfinite(R) && isfinite(1 / R))) {
      status = invalid(error, "R", i, R, "must be > 0 and finite, with a finite inverse");
    } else if (!(group->upper[i] >= -DBL_MAX)) {
      status = invalid(error, "upper", i, group->upper[i], "must be above -infinity");
    } else if (!(group->lower[i] <= group->upper[i] && group->lower[i] <= DBL_MAX)) {
      status =
          invalid(error, "lower", i, group->lower[i], "must be finite or -infinity, and <= upper");
    }
  }
  return status;
}

sap_status sap_check_groups(const sap_problem *problem, sap_error *error) {
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_status status = check(problem, &problem->groups[g], error);
    if (status != SAP_OK) {
      return of_group(status, g, error);
    }
  }
  return SAP_OK;
}

/* ---- regularization ------------------------------------------------------------------------- */

static int holds(enum sap_rule rule, double x) {
  switch (rule) {
    case SAP_FINITE: return isfinite(x);
    case SAP_NON_NEGATIVE: return isfinite(x) && x >= 0;
    case SAP_POSITIVE: return x > 0;
    case SAP_BOUND: return !isnan(x);
    default: return x >= 0;
  }
}

static sap_status check_parameters(const sap_constraints *group, int64_t n_rows,
                                   const sap_group_parameters *p, sap_error *error) {
  static const char *const rules[] = {[SAP_FINITE] = "must be finite",
                                      [SAP_NON_NEGATIVE] = "must be finite and >= 0",
                                      [SAP_POSITIVE] = "must be > 0",
                                      [SAP_BOUND] = "must not be NaN",
                                      [SAP_BOUND_ABOVE] = "must be >= 0"};
  const struct sap_kind_entry *kind = sap_kinds[group->kind];
  for (int32_t k = 0; k < kind->n_parameters; ++k) {
    const struct sap_parameter *parameter = &kind->parameter[k];
    const double *x = p->value[k];
    if (n_rows > 0 && !x) {
      return invalid(error, parameter->name, -1, NAN, "must be given");
    }
    for (int64_t i = 0; i < n_rows; ++i) {
      if (!holds(parameter->rule, x[i])) {
        return invalid(error, parameter->name, i, x[i], rules[parameter->rule]);
      }
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
      sap_add_delassus(masses->kernels, delassus, n_t, problem->A + block, masses->S + block,
                       masses->rows, W);
    }
    J += (int64_t)size * n_t;
  }
  return n == 1 ? W[0] : sap_inverse_mass(W, n); /* sqrt(w^2) is w */
}

/* what came of the parameters of row i */
static sap_status check_row(const struct sap_kind_entry *kind, int64_t i, const double *parameter,
                            double sigma, const struct sap_row *row, sap_error *error) {
  if (!(row->R > 0 && isfinite(row->R) && isfinite(1 / row->R))) {
    static const char rule[] = "must give a finite R > 0 with dt, beta and the rest of its row";
    return kind->stiffness < 0 ? invalid(error, "sigma", -1, sigma, rule)
                               : invalid(error, kind->parameter[kind->stiffness].name, i,
                                         parameter[kind->stiffness], rule);
  }
  if (!isfinite(row->v_hat)) {
    return invalid(error, kind->parameter[kind->target].name, i, parameter[kind->target],
                   "must give a finite v_hat with dt and the rest of its row");
  }
  if (!(row->lower <= row->upper && row->lower <= DBL_MAX && row->upper >= -DBL_MAX)) {
    return invalid(error, "force_lower", i, row->lower,
                   "must be <= force_upper, and not both infinite on one side");
  }
  return SAP_OK;
}

/* checks of all that the rows of a group follow from, but trees and A */
static sap_status check_group(const sap_problem *problem, const sap_constraints *group,
                              const sap_group_parameters *parameters, sap_error *error) {
  int64_t n_rows, nJ;
  sap_status status = measure(problem, group, &n_rows, &nJ, error);
  if (status == SAP_OK) {
    status = sap_check_scalars(parameters->dt, parameters->sigma, parameters->beta,
                               parameters->delassus, error);
  }
  if (status == SAP_OK) {
    status = check_parameters(group, n_rows, parameters, error);
  }
  if (status == SAP_OK) {
    status = sap_check_finite("J", nJ, group->J, error);
  }
  return status;
}

sap_status sap_regularize_rows(const sap_problem *problem, const sap_constraints *group,
                               const struct sap_group_regularization *physical,
                               const struct sap_masses *masses, sap_error *error) {
  const sap_group_parameters *p = &physical->parameters;
  const sap_status checked = check_group(problem, group, p, error);
  if (checked != SAP_OK) {
    return checked;
  }
  const struct sap_kind_entry *kind = sap_kinds[group->kind];
  const double *J = group->J;
  int64_t i = 0;
  for (int32_t c = 0; c < group->n; ++c) {
    const int32_t size = sap_rows_of(group, c);
    const int32_t trees[2] = {group->tree_a[c], group->tree_b[c]};
    double w = 0;
    for (int32_t r = 0; r < size; ++r, ++i) {
      if (r % 3 == 0) {
        const int32_t n = size - r < 3 ? size - r : 3;
        w = inverse_mass(problem, masses, p->delassus, trees, J, size, r, n);
        if (!(w > 0 && isfinite(w))) {
          return invalid(error, "J", c, w,
                         "the rows of this constraint must give an effective mass");
        }
      }
      double parameter[SAP_MOST_PARAMETERS];
      for (int32_t k = 0; k < kind->n_parameters; ++k) {
        parameter[k] = p->value[k][i];
      }
      const struct sap_row_step step = {p->dt, p->beta * p->beta * w / sap_four_pi_squared,
                                        p->sigma * w};
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
    J += size *
         ((int64_t)problem->tree_nv[trees[0]] + (trees[1] < 0 ? 0 : problem->tree_nv[trees[1]]));
  }
  return SAP_OK;
}

sap_status sap_regularize_group(const sap_problem *problem, const sap_constraints *group,
                                const sap_group_parameters *parameters, double *R, double *v_hat,
                                double *lower, double *upper, const sap_allocator *allocator,
                                sap_error *error) {
  const struct sap_group_regularization physical = {*parameters, R, v_hat, lower, upper};
  const sap_allocator memory = sap_allocator_or_default(allocator);
  struct sap_block block = {0};
  struct sap_masses masses;
  sap_status status = sap_masses_find(&masses, problem, &block, &memory, error);
  if (status == SAP_OK) {
    status = sap_regularize_rows(problem, group, &physical, &masses, error);
  }
  sap_block_release(&block, &memory);
  return status;
}
