#include "model/jacobian.h"

int32_t sap_moving_body(const struct sap_forest *forest, int32_t body) {
  return forest->body_weldid[body];
}

int32_t sap_moving_tree(const struct sap_forest *forest, int32_t body) {
  const int32_t moving = forest->body_weldid[body];
  return forest->body_dofnum[moving] > 0 ? forest->body_treeid[moving] : -1;
}

void sap_jacobian_add(const struct sap_forest *forest, int32_t body, double sign,
                      const double *axes, const double *p, const double *cdof,
                      const double *subtree_com, double *J) {
  const int32_t moving = forest->body_weldid[body], tree = forest->body_treeid[moving];
  const int32_t first = forest->tree_dofadr[tree], columns = forest->tree_dofnum[tree];
  const double *c = subtree_com + 3 * (int64_t)forest->body_rootid[moving];
  const double r[3] = {p[0] - c[0], p[1] - c[1], p[2] - c[2]};

  for (int32_t i = forest->body_dofadr[moving] + forest->body_dofnum[moving] - 1; i >= 0;
       i = forest->dof_parentid[i]) {
    /* velocity of the point per unit of qdot_i */
    const double *w = cdof + 6 * (int64_t)i, *u = w + 3;
    const double v[3] = {u[0] + w[1] * r[2] - w[2] * r[1], u[1] + w[2] * r[0] - w[0] * r[2],
                         u[2] + w[0] * r[1] - w[1] * r[0]};
    double *column = J + (i - first);
    for (int row = 0; row < 3; ++row) {
      const double *axis = axes + 3 * row;
      column[(int64_t)row * columns] += sign * (axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2]);
    }
  }
}
