/* What is constant about a simulated model: its forest of kinematic trees, the pattern of its mass
 * matrix and the contact material of its geoms, as plain arrays.
 *
 * The layout is the one that physics engines of the reduced-coordinate family keep, so that their
 * arrays are read as they are: bodies and degrees of freedom (dofs) in tree order, the dofs of a
 * tree contiguous, parents before children.
 *
 * Ownership: all arrays belong to the caller and must stay unchanged while the forest is in use.
 * sap_forest_check proves that no index in them leads outside; the gathering relies on it. */
#ifndef SAPWOOD_MODEL_FOREST_H
#define SAPWOOD_MODEL_FOREST_H

#include <stdint.h>

#include "sapwood.h"

/* damping force of a dof: -(c_0 + c_1 |v| + c_2 v^2) v */
enum { SAP_DAMPING_TERMS = 3 };

struct sap_forest {
  int32_t n_trees;
  int32_t nv;
  int32_t n_bodies; /* body 0 is the world */
  int32_t n_geoms;
  int32_t nM; /* stored entries of the mass matrix */
  int32_t n_pairs;

  /* trees (n_trees) */
  const int32_t *tree_dofadr; /* first dof */
  const int32_t *tree_dofnum; /* number of dofs, >= 1 */

  /* dofs (nv) */
  const int32_t *dof_parentid; /* next dof towards the root, -1 at the root */
  const double *damping;       /* (nv, SAP_DAMPING_TERMS) coefficients c_0, c_1, c_2 */

  /* mass matrix, lower triangle in compressed rows, the diagonal last in its row */
  const int32_t *M_rownnz; /* (nv) */
  const int32_t *M_rowadr; /* (nv) */
  const int32_t *M_colind; /* (nM) */

  /* bodies (n_bodies) */
  const int32_t *body_weldid; /* the body that this one is welded to, itself where it has joints */
  const int32_t *body_rootid; /* top body of its tree: its subtree_com is the origin of cdof */
  const int32_t *body_dofadr; /* first dof, read where body_dofnum > 0 */
  const int32_t *body_dofnum; /* number of own dofs */
  const int32_t *body_treeid; /* tree, -1 for static bodies */

  /* geoms (n_geoms) */
  const int32_t *geom_bodyid;
  const double *stiffness;        /* k > 0 in N/m, INFINITY for rigid */
  const double *dissipation_time; /* tau_d >= 0 in s */
  const double *friction;         /* mu >= 0 */

  /* pairs of geoms with a friction coefficient of their own (n_pairs), keys strictly increasing */
  const int64_t *pair_key; /* sap_pair_key of the two geoms */
  const double *pair_friction;

  /* rigid cores of the geoms (n_geoms); core NULL: none has one */
  const int8_t *barrier;        /* sap_barrier */
  const double *delta;          /* m, > 0 where there is a core */
  const double *barrier_lambda; /* > 0 where there is a core */
};

/* key of an unordered pair of geoms */
int64_t sap_pair_key(const struct sap_forest *forest, int32_t geom1, int32_t geom2);

/* Checks every index and value; SAP_INVALID_ARGUMENT names the array and the entry. */
sap_status sap_forest_check(const struct sap_forest *forest, sap_error *error);

#endif
