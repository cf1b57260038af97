/* What is constant about the elements of a model that constrain it beside contacts: limits of
 * joints and tendons, equality constraints, and actuators that act as implicit controllers, as
 * plain arrays.
 *
 * Only elements that act are listed, but for tendons and equality constraints, which keep the
 * engine's numbers. An element moves the trees of its row of `..._tree`: the first of them, -1 for
 * an element that moves none, and the second, -1 for none.
 *
 * Ownership: all arrays belong to the caller and must stay unchanged while the elements are in use.
 * sap_elements_check proves that no index in them leads outside; the gathering relies on it. */
#ifndef SAPWOOD_MODEL_ELEMENTS_H
#define SAPWOOD_MODEL_ELEMENTS_H

#include "model/forest.h"

/* what an equality constraint keeps at zero, by its rows */
enum sap_equality {
  SAP_EQUALITY_REFUSED = 0,
  SAP_EQUALITY_POINT, /* 3: the distance of two points, m */
  SAP_EQUALITY_POSE,  /* 3 + 3: the same, and the rotation of two frames */
  SAP_EQUALITY_SCALAR /* 1: a function of two joint positions or tendon lengths, rad or m */
};

struct sap_elements {
  int32_t n_limits; /* joints with limits */
  int32_t n_tendons;
  int32_t n_equalities;
  int32_t n_controllers;
  int32_t n_tendon_entries; /* of the Jacobian of all tendons */
  int32_t nq;               /* length of qpos */
  int32_t n_outputs;        /* forces of all actuators */

  /* limited joints (n_limits) */
  const int32_t *limit_joint;   /* the engine's number */
  const int32_t *limit_ball;    /* 1: an upper bound of the angle of a ball joint */
  const int32_t *limit_qposadr; /* its first entry of qpos: 1, or 4 of a ball joint */
  const int32_t *limit_dofadr;  /* its first dof: 1, or 3 of a ball joint */
  const double *limit_range;    /* (n_limits, 2) lower, upper; rad or m */
  const double *limit_k;        /* > 0, INFINITY for rigid; N m/rad or N/m */
  const double *limit_tau_d;    /* >= 0, s */

  /* tendons (n_tendons) */
  const int32_t *tendon_tree; /* (n_tendons, 2), -2 in the first column for more than two trees */
  const int32_t *tendon_limited; /* 1: limits act */
  const double *tendon_range;    /* (n_tendons, 2) m */
  const double *tendon_k;        /* N/m */
  const double *tendon_tau_d;    /* s */
  const int32_t *ten_J_rownnz;   /* rows of the Jacobian */
  const int32_t *ten_J_rowadr;
  const int32_t *ten_J_colind; /* (n_tendon_entries) */

  /* equality constraints (n_equalities) */
  const int32_t *equality_kind; /* enum sap_equality */
  const int32_t *equality_tree; /* (n_equalities, 2) */
  const double *equality_k; /* (n_equalities, 2) of positions and of rotations, N/m and N m/rad */
  const double *equality_tau_d; /* s */
  const double *equality_scale; /* > 0: rotation rows times this are in rad */

  /* actuators as controllers (n_controllers): force Kp (q_d - q) - Kd v in the actuator's
   * coordinate */
  const int32_t *controller_output; /* the engine's number of the force */
  const int32_t *controller_tree;   /* (n_controllers, 2) */
  const int32_t *controller_group;  /* the engine's group that may be disabled, -1 for none */
  const int32_t *controller_dof;    /* dof whose total actuator force is bounded, -1 for none */
  const double *controller_gains;   /* (n_controllers, 2) Kp >= 0, Kd >= 0, not both 0 */
  const double *controller_range;   /* (n_controllers, 2) lower <= 0 <= upper of the force */
  const double *controller_total;   /* (n_controllers, 2) the same of the total force of the dof */
};

/* Checks every index and value; SAP_INVALID_ARGUMENT names the array and the entry. */
sap_status sap_elements_check(const struct sap_elements *elements, const struct sap_forest *forest,
                              sap_error *error);

#endif
