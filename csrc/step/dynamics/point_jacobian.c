#include "step/dynamics/point_jacobian.h"

struct sap_motion sap_motion_of_geom(const struct sap_forest *forest, int32_t geom) {
  const int32_t body = forest->body_weldid[forest->geom_bodyid[geom]];
  if (forest->body_dofnum[body] == 0) {
    return (struct sap_motion){.tree = -1};
  }
  const int32_t tree = forest->body_treeid[body];
  struct sap_motion motion = {.tree = tree,
                              .first = forest->tree_dofadr[tree],
                              .columns = forest->tree_dofnum[tree],
                              .last = forest->body_dofadr[body] + forest->body_dofnum[body] - 1,
                              .root = forest->body_rootid[body]};
  int32_t i = motion.last;
  while (i > motion.first && forest->dof_parentid[i] == i - 1) {
    --i;
  }
  motion.six =
      motion.columns == SAP_SIX && i == motion.first && motion.last == motion.first + SAP_SIX - 1;
  return motion;
}

void sap_transpose_six(const double *restrict cdof, double *restrict transposed) {
  for (int j = 0; j < SAP_SIX; ++j) {
    for (int k = 0; k < SAP_SIX; ++k) {
      transposed[SAP_SIX * k + j] = cdof[SAP_SIX * j + k];
    }
  }
}

void sap_jacobian_six(const double *restrict axes, const double *restrict r,
                      const double *restrict transposed, double *restrict J) {
  const double *w = transposed, *u = transposed + 3 * SAP_SIX;
  double x[SAP_SIX], y[SAP_SIX], z[SAP_SIX];
  for (int j = 0; j < SAP_SIX; ++j) {
    x[j] = u[j] + w[SAP_SIX + j] * r[2] - w[2 * SAP_SIX + j] * r[1];
    y[j] = u[SAP_SIX + j] + w[2 * SAP_SIX + j] * r[0] - w[j] * r[2];
    z[j] = u[2 * SAP_SIX + j] + w[j] * r[1] - w[SAP_SIX + j] * r[0];
  }
  for (int j = 0; j < SAP_SIX; ++j) {
    J[j] = axes[0] * x[j] + axes[1] * y[j] + axes[2] * z[j];
  }
  for (int j = 0; j < SAP_SIX; ++j) {
    J[SAP_SIX + j] = axes[3] * x[j] + axes[4] * y[j] + axes[5] * z[j];
  }
  for (int j = 0; j < SAP_SIX; ++j) {
    J[2 * SAP_SIX + j] = axes[6] * x[j] + axes[7] * y[j] + axes[8] * z[j];
  }
}

void sap_jacobian_turn(const struct sap_forest *forest, const struct sap_motion *motion,
                       const double *axes, const double *cdof, double *J) {
  const int64_t columns = motion->columns;
  for (int32_t i = motion->last; i >= 0; i = forest->dof_parentid[i]) {
    const double *w = cdof + 6 * (int64_t)i;
    double *column = J + (i - motion->first);
    for (int row = 0; row < 3; ++row) {
      const double *axis = axes + 3 * row;
      column[row * columns] += axis[0] * w[0] + axis[1] * w[1] + axis[2] * w[2];
    }
  }
}

void sap_jacobian_add(const struct sap_forest *forest, const struct sap_motion *motion,
                      const double *axes, const double *p, const double *cdof,
                      const double *subtree_com, double *J) {
  const double *c = subtree_com + 3 * (int64_t)motion->root;
  const double r[3] = {p[0] - c[0], p[1] - c[1], p[2] - c[2]};
  const int64_t columns = motion->columns;
  for (int32_t i = motion->last; i >= 0; i = forest->dof_parentid[i]) {
    /* velocity of the point per unit of qdot_i */
    const double *w = cdof + 6 * (int64_t)i, *u = w + 3;
    const double v[3] = {u[0] + w[1] * r[2] - w[2] * r[1], u[1] + w[2] * r[0] - w[0] * r[2],
                         u[2] + w[0] * r[1] - w[1] * r[0]};
    double *column = J + (i - motion->first);
    for (int row = 0; row < 3; ++row) {
      const double *axis = axes + 3 * row;
      column[row * columns] += axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2];
    }
  }
}
