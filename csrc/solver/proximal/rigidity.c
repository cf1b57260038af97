#include "solver/proximal/rigidity.h"

#include <math.h>

#include "constraints/kinds/kinds.h"

/* Writes 1/A_jj (nv), and the first velocity of each tree (n_trees). */
static void invert_diagonal(const sap_problem *problem, double *inverse, int64_t *first) {
  const double *A = problem->A;
  int64_t v = 0;
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    const int32_t n = problem->tree_nv[t];
    first[t] = v;
    for (int32_t j = 0; j < n; ++j, ++v) {
      inverse[v] = 1 / A[(int64_t)j * (n + 1)];
    }
    A += (int64_t)n * n;
  }
}

/* Returns J diag(A)^-1 J^T of one row. */
static double row_mass(int32_t n, const double *J, const double *inverse) {
  double sum = 0;
  for (int32_t j = 0; j < n; ++j) {
    sum += J[j] * J[j] * inverse[j];
  }
  return sum;
}

/* Rows of a constraint on their way through J. */
struct rows {
  const sap_problem *problem;
  const double *inverse;
  const int64_t *first;
  const double *J;
};

/* Is one of the rows rigid, R (n_rows), by the limits of R over w (n_rows)? Advances J. */
static int is_rigid(struct rows *rows, int32_t n_rows, int32_t tree_a, int32_t tree_b,
                    const double *R, const double *limit) {
  const int32_t trees[2] = {tree_a, tree_b};
  double w[6] = {0};
  int rigid = 0;
  for (int side = 0; side < 2 && trees[side] >= 0; ++side) {
    const int32_t n = rows->problem->tree_nv[trees[side]];
    for (int32_t r = 0; r < n_rows; ++r, rows->J += n) {
      w[r] += row_mass(n, rows->J, rows->inverse + rows->first[trees[side]]);
    }
  }
  for (int32_t r = 0; r < n_rows; ++r) {
    rigid |= R[r] < limit[r] * w[r] || R[r] == 0;
  }
  return rigid;
}

static int has_rigid_group(struct rows *rows, const sap_constraints *group) {
  const double *R = group->R;
  const double of_all = group->kind == SAP_LIMIT ? sap_rigid : sap_rigid_two_sided;
  const double limit[6] = {of_all, of_all, of_all, of_all, of_all, of_all};
  rows->J = group->J;
  for (int32_t i = 0; i < group->n; ++i) {
    const int32_t n_rows = sap_rows_of(group, i), dof = sap_dof_of(group, i);
    if (dof >= 0) {
      const double J = *rows->J++;
      if (*R < of_all * (J * J * rows->inverse[rows->first[group->tree_a[i]] + dof]) || *R == 0) {
        return 1;
      }
    } else if (is_rigid(rows, n_rows, group->tree_a[i], group->tree_b[i], R, limit)) {
      return 1;
    }
    R += n_rows;
  }
  return 0;
}

static int has_proximal_laws(const sap_problem *problem, const sap_settings *settings) {
  if (settings->soft_norm > 0 || (problem->spin && problem->spin->n > 0)) {
    return 0;
  }
  const int lagged = settings->friction == SAP_FRICTION_LAGGED;
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    if ((problem->barrier && problem->barrier[i] != SAP_BARRIER_NONE) ||
        (lagged && !(problem->friction_bound && problem->friction_bound[i] >= 0))) {
      return 0;
    }
  }
  return 1;
}

int sap_is_rigid(const sap_problem *problem, const sap_settings *settings, double *inverse,
                 int64_t *first) {
  invert_diagonal(problem, inverse, first);
  static const double limit[3] = {sap_rigid_two_sided, sap_rigid_two_sided, sap_rigid};
  struct rows rows = {problem, inverse, first, problem->J};
  int rigid = 0;
  for (int32_t i = 0; i < problem->n_contacts && !rigid; ++i) {
    const double R[3] = {problem->R_t[i], problem->R_t[i], problem->R_n[i]};
    rigid = is_rigid(&rows, 3, problem->tree_a[i], problem->tree_b[i], R, limit);
  }
  for (int32_t g = 0; g < problem->n_groups && !rigid; ++g) {
    rigid = has_rigid_group(&rows, &problem->groups[g]);
  }
  return rigid && has_proximal_laws(problem, settings);
}
