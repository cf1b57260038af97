#include "problem/groups.h"

#include <float.h>
#include <math.h>

#include "base/finite.h"
#include "base/fail.h"
#include "constraints/kinds/kinds.h"
#include "problem/capacity.h"

const char sap_regularization_rule[] = "must be 0, or positive and finite with a finite inverse";
const char sap_compliance_rule[] =
    "must be > 0, except in solves without rigid cores, torsional friction, soft_norm and "
    "unknown bounds of friction";

sap_status sap_measure_group(const sap_problem *problem, const sap_constraints *group,
                             int64_t *n_rows, int64_t *nJ, sap_error *error) {
  *n_rows = *nJ = 0;
  if ((unsigned)group->kind >= SAP_N_KINDS) {
    return sap_invalid(error, "kind", -1, group->kind, "must be a sap_kind");
  }
  if (group->n < 0) {
    return sap_invalid(error, "n", -1, group->n, "must be >= 0");
  }
  if (group->n > 0 && (!group->tree_a || !group->tree_b)) {
    return sap_invalid(error, group->tree_a ? "tree_b" : "tree_a", -1, NAN, "must be given");
  }
  const int32_t most = sap_kinds[group->kind]->most_rows;
  for (int32_t i = 0; i < group->n; ++i) {
    const int32_t a = group->tree_a[i], b = group->tree_b[i];
    const int32_t size = sap_rows_of(group, i);
    if (size < 1 || size > most) {
      return sap_invalid(error, "size", i, size, most == 1 ? "must be 1" : "must be from 1 to 6");
    }
    if (a < 0 || a >= problem->n_trees) {
      return sap_invalid(error, "tree_a", i, a, "must be the index of a tree");
    }
    if (b < -1 || b >= problem->n_trees) {
      return sap_invalid(error, "tree_b", i, b, "must be the index of a tree, or -1");
    }
    if (a == b) {
      return sap_invalid(error, "tree_b", i, b,
                         "must differ from tree_a (-1 where both sides are one tree)");
    }
    const int32_t dof = sap_dof_of(group, i);
    if (dof < -1 || dof >= problem->tree_nv[a]) {
      return sap_invalid(error, "dof", i, dof, "must be a velocity of tree_a, or -1");
    }
    if (dof >= 0 && (size > 1 || b >= 0)) {
      return sap_invalid(error, "dof", i, dof,
                         "must be -1 where there are several rows, or two trees");
    }
    *n_rows += size;
    *nJ += dof >= 0 ? 1 : size * ((int64_t)problem->tree_nv[a] + (b < 0 ? 0 : problem->tree_nv[b]));
  }
  return SAP_OK;
}

sap_status sap_group_sizes(const sap_problem *problem, sap_sizes *sizes, sap_error *error) {
  if (problem->n_groups < 0) {
    return sap_invalid(error, "n_groups", -1, problem->n_groups, "must be >= 0");
  }
  if (problem->n_groups > 0 && !problem->groups) {
    return sap_invalid(error, "groups", -1, NAN, "must be given");
  }
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    int64_t n_rows, nJ;
    const sap_status status = sap_measure_group(problem, &problem->groups[g], &n_rows, &nJ, error);
    if (status != SAP_OK) {
      return sap_set_error_group(status, g, error);
    }
    sizes->n_rows += n_rows;
    if (problem->n_contacts + sizes->n_rows > SAP_MOST_ENTRIES) {
      return sap_set_error_group(sap_invalid(error, "n", -1, problem->groups[g].n,
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
        return sap_set_error_group(sap_invalid(error, arrays[a].name, -1, NAN, "must be given"), g,
                                   error);
      }
    }
  }
  return SAP_OK;
}

static sap_status check(const sap_problem *problem, const sap_constraints *group, int compliant,
                        sap_error *error) {
  int64_t n_rows, nJ;
  sap_status status = sap_measure_group(problem, group, &n_rows, &nJ, error);
  if (status == SAP_OK) {
    status = sap_check_finite("J", nJ, group->J, error);
  }
  if (status == SAP_OK) {
    status = sap_check_finite("v_hat", n_rows, group->v_hat, error);
  }
  for (int64_t i = 0; i < n_rows && status == SAP_OK; ++i) {
    const double R = group->R[i];
    if (!sap_is_regularization(R)) {
      status = sap_invalid(error, "R", i, R, sap_regularization_rule);
    } else if (R == 0 && compliant) {
      status = sap_invalid(error, "R", i, R, sap_compliance_rule);
    } else if (!(group->upper[i] >= -DBL_MAX)) {
      status = sap_invalid(error, "upper", i, group->upper[i], "must be above -infinity");
    } else if (!(group->lower[i] <= group->upper[i] && group->lower[i] <= DBL_MAX)) {
      status = sap_invalid(error, "lower", i, group->lower[i],
                           "must be finite or -infinity, and <= upper");
    }
  }
  return status;
}

sap_status sap_check_groups(const sap_problem *problem, int compliant, sap_error *error) {
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_status status = check(problem, &problem->groups[g], compliant, error);
    if (status != SAP_OK) {
      return sap_set_error_group(status, g, error);
    }
  }
  return SAP_OK;
}
