/* Contact Jacobians from the motion axes of the dofs.
 *
 * cdof holds the spatial velocity (angular, linear) that each dof gives its body. It refers to the
 * subtree centre of mass c of the body's tree. The point p of a body then moves with
 *
 *     v(p) = sum_i (cdof_i[3:6] + cdof_i[0:3] x (p - c)) qdot_i
 *
 * over the dofs i on the way from the body to the root: O(depth) work. */
#ifndef SAPWOOD_STEP_DYNAMICS_POINT_JACOBIAN_H
#define SAPWOOD_STEP_DYNAMICS_POINT_JACOBIAN_H

#include "sapwood.h"

/* The motion of the surface of a geom, found once per geom. */
struct sap_motion {
  int32_t tree;    /* tree, -1 for a static geom; the rest is then 0 */
  int32_t first;   /* first dof of the tree */
  int32_t columns; /* number of dofs of the tree */
  int32_t last;    /* dof at which the path to the root starts */
  int32_t root;    /* body whose subtree_com is the origin of cdof */
  int32_t six;     /* 1 for free bodies: the tree has six dofs, and all move the geom */
};

enum { SAP_SIX = 6 };

struct sap_motion sap_motion_of_geom(const struct sap_forest *forest, int32_t geom);

/* Adds J += axes * dv(p)/dqdot of a moving geom: axes (3, 3) row-major directions, J (3, columns)
 * row-major, cdof (nv, 6), subtree_com (n_bodies, 3), p (3). */
void sap_jacobian_add(const struct sap_forest *forest, const struct sap_motion *motion,
                      const double *axes, const double *p, const double *cdof,
                      const double *subtree_com, double *J);

/* Adds J += axes * dw/dqdot for the angular velocity w of a moving geom; arrays as above. */
void sap_jacobian_turn(const struct sap_forest *forest, const struct sap_motion *motion,
                       const double *axes, const double *cdof, double *J);

/* Sets J to the result of sap_jacobian_add for a geom moved by six dofs. `transposed` holds their
 * rows of cdof (6, 6), transposed, so that the rows of J are sums of vectors. r (3) is p - c. */
void sap_jacobian_six(const double *axes, const double *r, const double *transposed, double *J);
void sap_transpose_six(const double *cdof, double *transposed);

#endif
