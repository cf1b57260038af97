/* Contact Jacobians from the motion axes of the dofs.
 *
 * cdof holds per dof the spatial velocity (angular, linear) that it gives its body, seen at the subtree
 * centre of mass c of the body's tree. The point p of a body then moves with
 *
 *     v(p) = sum_i (cdof_i[3:6] + cdof_i[0:3] x (p - c)) qdot_i
 *
 * over the dofs i on the way from the body to the root: O(depth) work. */
#ifndef SAPWOOD_MODEL_JACOBIAN_H
#define SAPWOOD_MODEL_JACOBIAN_H

#include "model/forest.h"

/* J += sign * axes * dv(p)/dqdot for a body that moves: axes (3, 3) row-major directions, J (3, columns)
 * row-major with the columns of the body's tree, cdof (nv, 6), subtree_com (n_bodies, 3), p (3). */
void sap_jacobian_add(const struct sap_forest *forest, int32_t body, double sign,
                      const double *axes, const double *p, const double *cdof,
                      const double *subtree_com, double *J);

/* the body that carries this one's motion, and its tree (-1 for static bodies) */
int32_t sap_moving_body(const struct sap_forest *forest, int32_t body);
int32_t sap_moving_tree(const struct sap_forest *forest, int32_t body);

#endif
