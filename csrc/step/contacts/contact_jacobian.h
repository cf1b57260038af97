/* Rows of J of one contact between two geoms:
 *
 *     J = axes (J_b2 - J_b1)     rows (t1, t2, n)
 *
 * The blocks of the two trees follow each other; there is one block if both geoms are in one
 * tree. */
#ifndef SAPWOOD_STEP_CONTACTS_CONTACT_JACOBIAN_H
#define SAPWOOD_STEP_CONTACTS_CONTACT_JACOBIAN_H

#include "step/dynamics/point_jacobian.h"

/* The motions of all geoms of a model. */
struct sap_movers {
  const sap_forest *forest;
  const struct sap_motion *motion; /* (n_geoms) */
  const double *transposed;        /* (nv, 6) cdof of the trees of six dofs that are touched */
};

/* Writes J and returns its length, 0 if nothing moves the point. Returns -1 if axes (3, 3) or the
 * point p (3), in the world, are not finite. */
int64_t sap_contact_jacobian(const struct sap_movers *movers, const sap_model_state *state,
                             const int32_t geom[2], const double *axes, const double *p, double *J);

#endif
