#include "step/derivatives/linear_inverse.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/fail.h"
#include "step/step_tuning.h"

/* Writes A^-1 of a tree that no constraint moves. Returns 0 if it is not positive definite. */
static int invert_tree(const struct sap_linear_inverse *inverse, struct sap_gather *gather,
                       int32_t tree, int64_t begin) {
  const int32_t first = gather->forest->tree_dofadr[tree], n = gather->forest->tree_dofnum[tree];
  const double *S = sap_free_motion_inverse(&gather->free_motion, tree, begin);
  for (int32_t j = 0; S && j < n; ++j) {
    double *row = inverse->matrix + (int64_t)(first + j) * inverse->nv + first;
    memset(row, 0, sizeof *row * (size_t)n);
    row[j] = 1.0;
    sap_free_motion_multiply(&gather->free_motion, tree, S, row);
  }
  return S != NULL;
}

/* Marks the trees that a constraint moves. */
static void mark_moved(const struct sap_linear_inverse *inverse, const sap_problem *p) {
  memset(inverse->is_moved, 0, (size_t)p->n_trees);
  for (int32_t c = 0; c < p->n_contacts; ++c) {
    inverse->is_moved[p->tree_a[c]] = 1;
    inverse->is_moved[p->tree_b[c] < 0 ? p->tree_a[c] : p->tree_b[c]] = 1;
  }
  for (int32_t g = 0; g < p->n_groups; ++g) {
    const sap_constraints *group = p->groups + g;
    for (int32_t c = 0; c < group->n; ++c) {
      inverse->is_moved[group->tree_a[c]] = 1;
      inverse->is_moved[group->tree_b[c] < 0 ? group->tree_a[c] : group->tree_b[c]] = 1;
    }
  }
}

/* Finds A^-1 of the trees that no constraint moves. */
static sap_status invert_others(const struct sap_linear_inverse *inverse, struct sap_gather *gather,
                                sap_error *error) {
  const sap_forest *forest = gather->forest;
  int64_t begin = 0;
  for (int32_t t = 0; t < forest->n_trees; ++t) {
    const int64_t n = forest->tree_dofnum[t];
    if (!inverse->is_moved[t] && !invert_tree(inverse, gather, t, begin)) {
      return sap_fail_whole(error, SAP_NOT_POSITIVE_DEFINITE, SAP_ERROR_TREE, "A", t, NAN,
                            "must be positive definite");
    }
    begin += n * n;
  }
  return SAP_OK;
}

/* Writes x = H^-1 b of the trees that constraints move, and 0 elsewhere. */
static sap_status solve(struct sap_linear_inverse *inverse, const double *b, double *x,
                        sap_error *error) {
  sap_coupling coupling;
  const sap_status status = sap_sensitivity_solve(inverse->sensitivity, b, x, &coupling, error);
  if (status == SAP_OK && !(coupling.residual <= sap_linear_residual)) {
    return sap_fail(error, SAP_INVALID_ARGUMENT, "friction", -1, NAN,
                    "the system of Coulomb's friction is singular to round-off at the solution");
  }
  return status;
}

sap_status sap_linear_inverse_find(struct sap_linear_inverse *inverse, struct sap_gather *gather,
                                   int whole, sap_error *error) {
  const int32_t nv = inverse->nv;
  memset(inverse->unit, 0, sizeof(double) * (size_t)nv);
  inverse->is_whole = whole;
  for (int32_t j = 0; j < nv && whole; ++j) {
    inverse->unit[j] = 1.0;
    const sap_status status = solve(inverse, inverse->unit, inverse->column, error);
    if (status != SAP_OK) {
      return status;
    }
    inverse->unit[j] = 0.0;
    for (int32_t i = 0; i < nv; ++i) {
      inverse->matrix[(int64_t)i * nv + j] = inverse->column[i];
    }
  }
  mark_moved(inverse, &gather->problem);
  return invert_others(inverse, gather, error);
}

/* Subtracts the product with the block of H^-1 of n velocities from `first` on. */
static void subtract_product(const struct sap_linear_inverse *inverse, int32_t first, int32_t n,
                             const double *dF, double *dv) {
  for (int32_t i = first; i < first + n; ++i) {
    const double *row = inverse->matrix + (int64_t)i * inverse->nv;
    dv[i] -= sap_vector_dot(n, row + first, dF + first);
  }
}

sap_status sap_linear_inverse_apply(struct sap_linear_inverse *inverse, const double *dF,
                                    double *dv, sap_error *error) {
  const sap_forest *forest = inverse->forest;
  memset(dv, 0, sizeof *dv * (size_t)inverse->nv);
  if (inverse->is_whole || inverse->nv == 0) {
    subtract_product(inverse, 0, inverse->nv, dF, dv);
    return SAP_OK;
  }
  const sap_status status = solve(inverse, dF, dv, error);
  for (int32_t i = 0; i < inverse->nv; ++i) {
    dv[i] = -dv[i];
  }
  for (int32_t t = 0; t < forest->n_trees; ++t) {
    if (!inverse->is_moved[t]) {
      subtract_product(inverse, forest->tree_dofadr[t], forest->tree_dofnum[t], dF, dv);
    }
  }
  return status;
}
