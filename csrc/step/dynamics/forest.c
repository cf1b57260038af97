#include "sapwood.h"

#include <math.h>

#include "base/fail.h"
#include "step/dissipation_time.h"
#include "step/dynamics/roots.h"

int64_t sap_pair_key(const struct sap_forest *forest, int32_t geom1, int32_t geom2) {
  const int64_t low = geom1 < geom2 ? geom1 : geom2;
  const int64_t high = geom1 < geom2 ? geom2 : geom1;
  return low * forest->n_geoms + high;
}

static sap_status check_lengths(const struct sap_forest *f, sap_error *error) {
  static const char *const names[] = {"n_trees", "nv",      "n_bodies", "n_geoms",
                                      "nM",      "n_pairs", "nD"};
  const int32_t lengths[] = {f->n_trees, f->nv, f->n_bodies, f->n_geoms, f->nM, f->n_pairs, f->nD};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    if (lengths[i] < 0) {
      return sap_invalid(error, names[i], -1, lengths[i], "must be >= 0");
    }
  }
  return SAP_OK;
}

/* Checks that all arrays with entries are set. */
static sap_status check_given(const struct sap_forest *f, sap_error *error) {
  const struct {
    const char *name;
    const void *array;
    int32_t n;
  } arrays[] = {{"tree_dofadr", f->tree_dofadr, f->n_trees},
                {"tree_dofnum", f->tree_dofnum, f->n_trees},
                {"dof_parentid", f->dof_parentid, f->nv},
                {"damping", f->damping, f->nv},
                {"M_rownnz", f->M_rownnz, f->nv},
                {"M_rowadr", f->M_rowadr, f->nv},
                {"M_colind", f->M_colind, f->nM},
                {"body_weldid", f->body_weldid, f->n_bodies},
                {"body_rootid", f->body_rootid, f->n_bodies},
                {"body_dofadr", f->body_dofadr, f->n_bodies},
                {"body_dofnum", f->body_dofnum, f->n_bodies},
                {"body_treeid", f->body_treeid, f->n_bodies},
                {"geom_bodyid", f->geom_bodyid, f->n_geoms},
                {"stiffness", f->stiffness, f->n_geoms},
                {"dissipation_time", f->dissipation_time, f->n_geoms},
                {"friction", f->friction, f->n_geoms},
                {"pair_key", f->pair_key, f->n_pairs},
                {"delta", f->delta, f->barrier ? f->n_geoms : 0},
                {"barrier_lambda", f->barrier_lambda, f->barrier ? f->n_geoms : 0},
                {"D_rownnz", f->D_rownnz, f->nD > 0 ? f->nv : 0},
                {"D_rowadr", f->D_rowadr, f->nD > 0 ? f->nv : 0},
                {"D_colind", f->D_colind, f->nD}};
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; ++a) {
    if (arrays[a].n > 0 && !arrays[a].array) {
      return sap_invalid(error, arrays[a].name, -1, NAN, "must be given");
    }
  }
  return SAP_OK;
}

/* Checks that trees tile the dofs in order, and that parents lie before their children in the same
 * tree. */
static sap_status check_dofs(const struct sap_forest *f, sap_error *error) {
  int32_t next = 0;
  for (int32_t t = 0; t < f->n_trees; ++t) {
    const int32_t count = f->tree_dofnum[t];
    if (f->tree_dofadr[t] != next) {
      return sap_invalid(error, "tree_dofadr", t, f->tree_dofadr[t], "must follow the tree before");
    }
    if (count < 1 || count > f->nv - next) {
      return sap_invalid(error, "tree_dofnum", t, count, "must be >= 1 and sum to nv");
    }
    for (int32_t i = next; i < next + count; ++i) {
      const int32_t parent = f->dof_parentid[i];
      if (parent >= i || (parent < next && parent != -1)) {
        return sap_invalid(error, "dof_parentid", i, parent,
                           "must be -1 or an earlier dof of the tree");
      }
    }
    next += count;
  }
  if (next != f->nv) {
    return sap_invalid(error, "tree_dofnum", -1, next, "must sum to nv");
  }
  for (int64_t i = 0; i < (int64_t)f->nv * SAP_DAMPING_TERMS; ++i) {
    if (!isfinite(f->damping[i])) {
      return sap_invalid(error, "damping", i, f->damping[i], "must be finite");
    }
  }
  return SAP_OK;
}

/* Checks that roots with a quaternion have the dofs of a free joint or a ball. */
static sap_status check_quaternions(const struct sap_forest *f, sap_error *error) {
  for (int32_t i = 0; f->dof_quaternion && i < f->nv; ++i) {
    const int32_t first = f->dof_quaternion[i], count = sap_root_end(f, i) - i;
    if (first < -1) {
      return sap_invalid(error, "dof_quaternion", i, first, "must be an index into qpos, or -1");
    }
    if (first >= 0 && (f->dof_parentid[i] >= 0 || (count != 3 && count != 6))) {
      return sap_invalid(error, "dof_quaternion", i, first,
                         "must be -1 unless 3 or 6 dofs begin here");
    }
  }
  return SAP_OK;
}

/* Checks the kinds of rotations. */
static sap_status check_turning(const struct sap_forest *f, sap_error *error) {
  for (int32_t i = 0; f->dof_turns && i < f->nv; ++i) {
    if (f->dof_turns[i] < SAP_NOT_TURNING || f->dof_turns[i] > SAP_HELD_ROOT_TURNS) {
      return sap_invalid(error, "dof_turns", i, f->dof_turns[i], "must be a sap_turning");
    }
  }
  return SAP_OK;
}

/* Checks that each row of M stays inside its tree and ends on the diagonal. */
static sap_status check_mass_pattern(const struct sap_forest *f, sap_error *error) {
  for (int32_t t = 0; t < f->n_trees; ++t) {
    const int32_t first = f->tree_dofadr[t];
    for (int32_t i = first; i < first + f->tree_dofnum[t]; ++i) {
      const int32_t start = f->M_rowadr[i], count = f->M_rownnz[i];
      if (start < 0 || start > f->nM) {
        return sap_invalid(error, "M_rowadr", i, start, "must be an index into M");
      }
      if (count < 1 || count > f->nM - start) {
        return sap_invalid(error, "M_rownnz", i, count, "must be >= 1 and end inside M");
      }
      for (int32_t p = start; p < start + count - 1; ++p) {
        if (f->M_colind[p] < first || f->M_colind[p] >= i) {
          return sap_invalid(error, "M_colind", p, f->M_colind[p],
                             "must be an earlier dof of the tree");
        }
      }
      if (f->M_colind[start + count - 1] != i) {
        return sap_invalid(error, "M_colind", start + count - 1, f->M_colind[start + count - 1],
                           "must be the diagonal at the end of a row");
      }
    }
  }
  return SAP_OK;
}

/* Checks that each row of D stays inside its tree. */
static sap_status check_slope_pattern(const struct sap_forest *f, sap_error *error) {
  for (int32_t t = 0; t < f->n_trees && f->nD > 0; ++t) {
    const int32_t first = f->tree_dofadr[t], last = first + f->tree_dofnum[t];
    for (int32_t i = first; i < last; ++i) {
      const int32_t start = f->D_rowadr[i], count = f->D_rownnz[i];
      if (start < 0 || start > f->nD) {
        return sap_invalid(error, "D_rowadr", i, start, "must be an index into D");
      }
      if (count < 0 || count > f->nD - start) {
        return sap_invalid(error, "D_rownnz", i, count, "must be >= 0 and end inside D");
      }
      for (int32_t p = start; p < start + count; ++p) {
        if (f->D_colind[p] < first || f->D_colind[p] >= last) {
          return sap_invalid(error, "D_colind", p, f->D_colind[p], "must be a dof of the tree");
        }
      }
    }
  }
  return SAP_OK;
}

/* Checks that D has all pairs of dofs of each tree, if springs are implicit. */
static sap_status check_springs(const struct sap_forest *f, sap_error *error) {
  for (int32_t t = 0; f->tree_springs && t < f->n_trees; ++t) {
    const int8_t springs = f->tree_springs[t];
    if (springs != f->tree_springs[0] || (springs != 0 && springs != 1)) {
      return sap_invalid(error, "tree_springs", t, springs,
                         "must be 0 for all trees, or 1 for all");
    }
    const int32_t first = f->tree_dofadr[t], count = f->tree_dofnum[t];
    for (int32_t i = first; i < first + count && springs; ++i) {
      if (f->nD == 0 || f->D_rownnz[i] != count) {
        return sap_invalid(error, "D_rownnz", i, f->nD == 0 ? 0.0 : f->D_rownnz[i],
                           "must be the number of dofs of the tree where springs are implicit");
      }
      for (int32_t j = 0; j < count; ++j) {
        const int32_t p = f->D_rowadr[i] + j;
        if (f->D_colind[p] != first + j) {
          return sap_invalid(error, "D_colind", p, f->D_colind[p],
                             "must list the dofs of the tree where springs are implicit");
        }
      }
    }
  }
  return SAP_OK;
}

/* Checks that a body with dofs of its own lies in the tree of its last dof. */
static sap_status check_bodies(const struct sap_forest *f, sap_error *error) {
  for (int32_t b = 0; b < f->n_bodies; ++b) {
    const int32_t count = f->body_dofnum[b], first = f->body_dofadr[b], tree = f->body_treeid[b];
    if (f->body_weldid[b] < 0 || f->body_weldid[b] >= f->n_bodies) {
      return sap_invalid(error, "body_weldid", b, f->body_weldid[b], "must be a body");
    }
    if (f->body_rootid[b] < 0 || f->body_rootid[b] >= f->n_bodies) {
      return sap_invalid(error, "body_rootid", b, f->body_rootid[b], "must be a body");
    }
    if (count < 0 || count > f->nv) {
      return sap_invalid(error, "body_dofnum", b, count, "must be >= 0 and <= nv");
    }
    if (count == 0) {
      continue;
    }
    if (tree < 0 || tree >= f->n_trees) {
      return sap_invalid(error, "body_treeid", b, tree, "must be a tree where the body has dofs");
    }
    const int32_t tree_first = f->tree_dofadr[tree];
    if (first < tree_first || first > tree_first + f->tree_dofnum[tree] - count) {
      return sap_invalid(error, "body_dofadr", b, first, "must lie in the tree of the body");
    }
  }
  return SAP_OK;
}

static sap_status check_materials(const struct sap_forest *f, sap_error *error) {
  for (int32_t g = 0; g < f->n_geoms; ++g) {
    if (f->geom_bodyid[g] < 0 || f->geom_bodyid[g] >= f->n_bodies) {
      return sap_invalid(error, "geom_bodyid", g, f->geom_bodyid[g], "must be a body");
    }
    if (!(f->stiffness[g] > 0.0)) {
      return sap_invalid(error, "stiffness", g, f->stiffness[g], "must be > 0");
    }
    if (!sap_is_dissipation_time(f->dissipation_time[g])) {
      return sap_invalid(error, "dissipation_time", g, f->dissipation_time[g],
                         "must be finite and >= 0, or SAP_TIME_STEP");
    }
    if (!(f->friction[g] >= 0.0) || isinf(f->friction[g])) {
      return sap_invalid(error, "friction", g, f->friction[g], "must be finite and >= 0");
    }
    if (f->static_friction &&
        !(f->static_friction[g] >= f->friction[g] && isfinite(f->static_friction[g]))) {
      return sap_invalid(error, "static_friction", g, f->static_friction[g],
                         "must be finite and >= friction");
    }
    if (f->restitution && !(f->restitution[g] >= 0.0 && f->restitution[g] <= 1.0)) {
      return sap_invalid(error, "restitution", g, f->restitution[g], "must be in [0, 1]");
    }
    if (f->geom_width && !(f->geom_width[g] > 0.0)) {
      return sap_invalid(error, "geom_width", g, f->geom_width[g], "must be > 0");
    }
    if (f->geom_inverse_mass &&
        !(f->geom_inverse_mass[g] >= 0.0 && isfinite(f->geom_inverse_mass[g]))) {
      return sap_invalid(error, "geom_inverse_mass", g, f->geom_inverse_mass[g],
                         "must be finite and >= 0");
    }
  }
  for (int32_t g = 0; f->barrier && g < f->n_geoms; ++g) {
    if (f->barrier[g] < SAP_BARRIER_NONE || f->barrier[g] > SAP_BARRIER_EXP) {
      return sap_invalid(error, "barrier", g, f->barrier[g], "must be a sap_barrier");
    }
    if (f->barrier[g] != SAP_BARRIER_NONE && !(f->delta[g] > 0.0 && isfinite(f->delta[g]))) {
      return sap_invalid(error, "delta", g, f->delta[g], "must be finite and > 0");
    }
    if (f->barrier[g] != SAP_BARRIER_NONE &&
        !(f->barrier_lambda[g] > 0.0 && isfinite(f->barrier_lambda[g]))) {
      return sap_invalid(error, "barrier_lambda", g, f->barrier_lambda[g],
                         "must be finite and > 0");
    }
  }
  for (int32_t p = 0; p < f->n_pairs; ++p) {
    if (p > 0 && f->pair_key[p] <= f->pair_key[p - 1]) {
      return sap_invalid(error, "pair_key", p, (double)f->pair_key[p],
                         "must be strictly increasing");
    }
  }
  return SAP_OK;
}

sap_status sap_forest_check(const struct sap_forest *forest, sap_error *error) {
  static sap_status (*const checks[])(const struct sap_forest *, sap_error *) = {
      check_lengths,      check_given,         check_dofs,    check_quaternions, check_turning,
      check_mass_pattern, check_slope_pattern, check_springs, check_bodies,      check_materials};
  sap_status status = SAP_OK;
  for (size_t i = 0; i < sizeof checks / sizeof *checks && status == SAP_OK; ++i) {
    status = checks[i](forest, error);
  }
  return status;
}
