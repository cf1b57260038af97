#include "sapwood.h"

#include <math.h>

#include "base/fail.h"
#include "step/dissipation_time.h"

static sap_status check_lengths(const struct sap_elements *e, const struct sap_forest *forest,
                                sap_error *error) {
  static const char *const names[] = {
      "n_limits", "n_tendons",        "n_equalities", "n_controllers",
      "n_flexes", "n_tendon_entries", "nq",           "n_outputs"};
  const int32_t lengths[] = {e->n_limits, e->n_tendons,        e->n_equalities, e->n_controllers,
                             e->n_flexes, e->n_tendon_entries, e->nq,           e->n_outputs};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    if (lengths[i] < 0) {
      return sap_invalid(error, names[i], -1, lengths[i], "must be >= 0");
    }
  }
  if (e->n_flexes > forest->n_geoms) {
    return sap_invalid(error, "n_flexes", -1, e->n_flexes, "must be <= n_geoms");
  }
  return SAP_OK;
}

/* ---- values --------------------------------------------------------------------------------- */

static sap_status check_positive(const char *name, int64_t n, const double *x, sap_error *error) {
  for (int64_t i = 0; i < n; ++i) {
    if (!(x[i] > 0.0)) {
      return sap_invalid(error, name, i, x[i], "must be > 0");
    }
  }
  return SAP_OK;
}

static sap_status check_not_negative(const char *name, int64_t n, const double *x,
                                     sap_error *error) {
  for (int64_t i = 0; i < n; ++i) {
    if (!(x[i] >= 0.0) || isinf(x[i])) {
      return sap_invalid(error, name, i, x[i], "must be finite and >= 0");
    }
  }
  return SAP_OK;
}

static sap_status check_times(const char *name, int64_t n, const double *x, sap_error *error) {
  for (int64_t i = 0; i < n; ++i) {
    if (!sap_is_dissipation_time(x[i])) {
      return sap_invalid(error, name, i, x[i], "must be finite and >= 0, or SAP_TIME_STEP");
    }
  }
  return SAP_OK;
}

static sap_status check_numbers(const char *name, int64_t n, const double *x, sap_error *error) {
  for (int64_t i = 0; i < n; ++i) {
    if (isnan(x[i])) {
      return sap_invalid(error, name, i, x[i], "must be a number");
    }
  }
  return SAP_OK;
}

/* Checks lower <= 0 <= upper. */
static sap_status check_bounds(const char *name, int64_t n, const double *x, sap_error *error) {
  for (int64_t i = 0; i < n; ++i) {
    if (!(x[2 * i] <= 0.0)) {
      return sap_invalid(error, name, 2 * i, x[2 * i], "must be <= 0");
    }
    if (!(x[2 * i + 1] >= 0.0)) {
      return sap_invalid(error, name, 2 * i + 1, x[2 * i + 1], "must be >= 0");
    }
  }
  return SAP_OK;
}

/* ---- indices -------------------------------------------------------------------------------- */

/* Checks pairs of trees: the two differ, and the second is -1 if the first is < 0. */
static sap_status check_trees(const char *name, int64_t n, const int32_t *tree, int32_t least,
                              const struct sap_forest *forest, sap_error *error) {
  for (int64_t i = 0; i < n; ++i) {
    const int32_t a = tree[2 * i], b = tree[2 * i + 1];
    if (a < least || a >= forest->n_trees) {
      return sap_invalid(error, name, 2 * i, a, "must be a tree or -1");
    }
    if (b < -1 || b >= forest->n_trees || (b >= 0 && (a < 0 || a == b))) {
      return sap_invalid(error, name, 2 * i + 1, b, "must be another tree than the first, or -1");
    }
  }
  return SAP_OK;
}

static int in_one_tree(const struct sap_forest *forest, int32_t dof, int32_t count) {
  for (int32_t t = 0; t < forest->n_trees; ++t) {
    const int32_t first = forest->tree_dofadr[t], end = first + forest->tree_dofnum[t];
    if (dof >= first && dof < end) {
      return dof <= end - count;
    }
  }
  return 0;
}

static sap_status check_frictions(const struct sap_elements *e, const struct sap_forest *forest,
                                  sap_error *error) {
  for (int32_t i = 0; i < forest->nv && e->dof_frictionloss; ++i) {
    if (!(e->dof_frictionloss[i] >= 0.0)) {
      return sap_invalid(error, "dof_frictionloss", i, e->dof_frictionloss[i], "must be >= 0");
    }
  }
  return SAP_OK;
}

static sap_status check_limits(const struct sap_elements *e, const struct sap_forest *forest,
                               sap_error *error) {
  for (int32_t i = 0; i < e->n_limits; ++i) {
    const int ball = e->limit_ball[i] != 0;
    if (e->limit_qposadr[i] < 0 || e->limit_qposadr[i] > e->nq - (ball ? 4 : 1)) {
      return sap_invalid(error, "limit_qposadr", i, e->limit_qposadr[i],
                         "must be an index into qpos");
    }
    if (!in_one_tree(forest, e->limit_dofadr[i], ball ? 3 : 1)) {
      return sap_invalid(error, "limit_dofadr", i, e->limit_dofadr[i], "must be dofs of one tree");
    }
  }
  sap_status status = check_numbers("limit_range", 2 * (int64_t)e->n_limits, e->limit_range, error);
  if (status == SAP_OK) {
    status = check_positive("limit_k", e->n_limits, e->limit_k, error);
  }
  if (status == SAP_OK) {
    status = check_times("limit_tau_d", e->n_limits, e->limit_tau_d, error);
  }
  return status;
}

static sap_status check_tendons(const struct sap_elements *e, const struct sap_forest *forest,
                                sap_error *error) {
  for (int32_t i = 0; i < e->n_tendons; ++i) {
    const int32_t start = e->ten_J_rowadr[i], count = e->ten_J_rownnz[i];
    if (start < 0 || start > e->n_tendon_entries) {
      return sap_invalid(error, "ten_J_rowadr", i, start, "must be an index into ten_J");
    }
    if (count < 0 || count > e->n_tendon_entries - start) {
      return sap_invalid(error, "ten_J_rownnz", i, count, "must be >= 0 and end inside ten_J");
    }
  }
  sap_status status = check_trees("tendon_tree", e->n_tendons, e->tendon_tree, -1, forest, error);
  if (status == SAP_OK) {
    status = check_numbers("tendon_range", 2 * (int64_t)e->n_tendons, e->tendon_range, error);
  }
  if (status == SAP_OK) {
    status = check_positive("tendon_k", e->n_tendons, e->tendon_k, error);
  }
  if (status == SAP_OK) {
    status = check_times("tendon_tau_d", e->n_tendons, e->tendon_tau_d, error);
  }
  return status;
}

static sap_status check_equalities(const struct sap_elements *e, const struct sap_forest *forest,
                                   sap_error *error) {
  for (int32_t i = 0; i < e->n_equalities; ++i) {
    const int32_t kind = e->equality_kind[i];
    if (kind < SAP_EQUALITY_ROWS || kind > SAP_EQUALITY_SCALAR) {
      return sap_invalid(error, "equality_kind", i, kind, "must be a known kind");
    }
  }
  sap_status status =
      check_trees("equality_tree", e->n_equalities, e->equality_tree, -1, forest, error);
  if (status == SAP_OK) {
    status = check_positive("equality_k", 2 * (int64_t)e->n_equalities, e->equality_k, error);
  }
  if (status == SAP_OK) {
    status = check_times("equality_tau_d", e->n_equalities, e->equality_tau_d, error);
  }
  if (status == SAP_OK) {
    status = check_positive("equality_scale", e->n_equalities, e->equality_scale, error);
  }
  return status;
}

static sap_status check_controllers(const struct sap_elements *e, const struct sap_forest *forest,
                                    sap_error *error) {
  for (int32_t i = 0; i < e->n_controllers; ++i) {
    const double *gain = e->controller_gains + 2 * (int64_t)i;
    if (e->controller_output[i] < 0 || e->controller_output[i] >= e->n_outputs) {
      return sap_invalid(error, "controller_output", i, e->controller_output[i],
                         "must be an output");
    }
    if (e->controller_dof[i] < -1 || e->controller_dof[i] >= forest->nv) {
      return sap_invalid(error, "controller_dof", i, e->controller_dof[i], "must be a dof or -1");
    }
    if (gain[0] == 0.0 && gain[1] == 0.0) {
      return sap_invalid(error, "controller_gains", 2 * (int64_t)i, 0.0, "must not both be 0");
    }
  }
  const int64_t n = e->n_controllers;
  sap_status status = check_trees("controller_tree", n, e->controller_tree, 0, forest, error);
  if (status == SAP_OK) {
    status = check_not_negative("controller_gains", 2 * n, e->controller_gains, error);
  }
  if (status == SAP_OK) {
    status = check_bounds("controller_range", n, e->controller_range, error);
  }
  if (status == SAP_OK) {
    status = check_bounds("controller_total", n, e->controller_total, error);
  }
  return status;
}

sap_status sap_elements_check(const struct sap_elements *elements, const struct sap_forest *forest,
                              sap_error *error) {
  static sap_status (*const checks[])(const struct sap_elements *, const struct sap_forest *,
                                      sap_error *) = {check_lengths,    check_frictions,
                                                      check_limits,     check_tendons,
                                                      check_equalities, check_controllers};
  sap_status status = SAP_OK;
  for (size_t i = 0; i < sizeof checks / sizeof *checks && status == SAP_OK; ++i) {
    status = checks[i](elements, forest, error);
  }
  return status;
}
