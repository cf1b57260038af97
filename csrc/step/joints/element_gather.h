/* What is gathered of the constraints of a step other than contacts (constraints.h), and where.
 *
 * Ownership: a sap_element_gather owns its workspace, which grows as needed and is kept. */
#ifndef SAPWOOD_STEP_JOINTS_ELEMENT_GATHER_H
#define SAPWOOD_STEP_JOINTS_ELEMENT_GATHER_H

#include "base/memory.h"
#include "step/inactive/open_limits.h"
#include "sapwood.h"

struct sap_vector_loops;

enum sap_element {
  SAP_ELEMENT_EQUALITY = 0,
  SAP_ELEMENT_DOF,
  SAP_ELEMENT_JOINT,
  SAP_ELEMENT_TENDON,
  SAP_ELEMENT_OUTPUT
};

enum { SAP_ELEMENT_GROUPS = 4, SAP_ELEMENT_VALUES = 7 };

struct sap_element_gather {
  sap_constraints groups[SAP_ELEMENT_GROUPS]; /* those with rows: what the problem points at */
  int64_t first_row[SAP_ELEMENT_GROUPS + 1];  /* of each in the arrays (n_rows) below */
  int64_t nJ[SAP_ELEMENT_GROUPS];
  sap_group_regularization regularization[SAP_ELEMENT_GROUPS];
  const double *parameter[SAP_ELEMENT_GROUPS][SAP_ELEMENT_VALUES]; /* of each in `value` */
  int32_t n_groups;
  int32_t n_rows;
  int32_t n_constraints;
  int32_t n_engine_rows; /* rows of the engine that are not of contacts */
  int32_t n_released;    /* rows that are held back: 0, and nothing below of a release is read */

  struct sap_row_label *label;       /* (n_rows) */
  double *scale;                     /* (n_rows) J is the engine's row times this */
  double *value[SAP_ELEMENT_VALUES]; /* (n_rows) physical parameters, in the order of the kind */
  double *release;         /* (n_rows) most speed of correction, INFINITY until that is found */
  double *release_impulse; /* (n_rows) most impulse at rest of what is held back, N s or N m s */
  uint8_t *is_angle; /* (n_rows) 1 where the row is in rad, of limits and equality constraints */
  double *R, *v_hat, *lower, *upper; /* (n_rows) */
  double *gamma, *v_c;               /* (n_rows) room for the solver's output */
  double *force;                     /* (n_rows) gamma/dt, while it is scattered */
  int32_t *size, *tree_a, *tree_b;   /* (n_constraints) */
  int32_t *dof; /* (n_constraints) velocity of tree_a whose entry is all that J has of it, or -1 */
  double *J;

  int32_t *controller; /* (n_controllers) those that act, in the order of their rows */
  double *range;       /* (n_controllers, 2) bounds of the force of each row */
  struct sap_engine_jacobian *moment; /* (n_controllers) while it gathers; n = 0: moves nothing */
  int32_t n_acting;                   /* controllers */
  double *change;      /* (nv) from the engine's smooth forces to those without controllers */
  double *smooth;      /* (nv) smooth forces without controllers, where there are any */
  uint8_t *controlled; /* (n_trees) */

  int32_t left_out;                   /* as in sap_contact_list */
  int32_t n_frictions, *friction_dof; /* (n_frictions) dofs with dry friction, and its force */
  double *friction;

  struct sap_open_limits open;
  int64_t n_lasting, nJ_lasting; /* most rows of limits and controllers, and entries of J */
  size_t room, room_J; /* one more row, and entries of J, that there is room for; 0: for none */

  const struct sap_elements *elements; /* NULL where the model has none: then all else is 0 */
  const struct sap_forest *forest;
  const struct sap_vector_loops *loops;
  sap_allocator allocator;
  struct sap_block fixed, listed, jacobian;
  int32_t *dof_tree; /* (nv) */
};

#endif
