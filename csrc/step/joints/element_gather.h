/* The gathered constraints of a step other than contacts (constraints.h).
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
  sap_constraints groups[SAP_ELEMENT_GROUPS]; /* groups with rows; the problem points at them */
  int64_t first_row[SAP_ELEMENT_GROUPS + 1];  /* first row of each group in the arrays below */
  int64_t nJ[SAP_ELEMENT_GROUPS];
  sap_group_regularization regularization[SAP_ELEMENT_GROUPS];
  const double *parameter[SAP_ELEMENT_GROUPS][SAP_ELEMENT_VALUES]; /* pointers into `value` */
  int32_t n_groups;
  int32_t n_rows;
  int32_t n_constraints;
  int32_t n_engine_rows; /* number of rows of the engine other than contact rows */
  int32_t n_released;    /* number of held rows; 0: no field of the release below is read */

  struct sap_row_label *label;       /* (n_rows) */
  double *scale;                     /* (n_rows) factor from the engine's row to J */
  double *value[SAP_ELEMENT_VALUES]; /* (n_rows) physical parameters, in the order of the kind */
  double *release;         /* (n_rows) limit of the speed of correction, at first INFINITY */
  double *release_impulse; /* (n_rows) limit of the impulse at rest, held rows, N s or N m s */
  double *row_slip_speed;  /* (n_rows) V_s of dry friction */
  uint8_t *is_angle; /* (n_rows) 1 if the row is in rad, for limits and equality constraints */
  double *R, *v_hat, *lower, *upper; /* (n_rows) */
  double *gamma, *v_c;               /* (n_rows) output of the solver */
  double *force;                     /* (n_rows) gamma/dt, valid in the scatter */
  int32_t *size, *tree_a, *tree_b;   /* (n_constraints) */
  int32_t *dof; /* (n_constraints) dof of tree_a with the only entry of J, or -1 */
  double *J;

  int32_t *controller; /* (n_controllers) acting controllers, in the order of their rows */
  double *range;       /* (n_controllers, 2) bounds of the force of each row */
  struct sap_engine_jacobian *moment; /* (n_controllers) rows in the gathering; n = 0: none */
  int32_t n_acting;                   /* number of acting controllers */
  double *change;      /* (nv) smooth forces without controllers minus those of the engine */
  double *smooth;      /* (nv) smooth forces without controllers, if there are any controllers */
  uint8_t *controlled; /* (n_trees) */

  int32_t left_out;             /* as in sap_contact_list */
  double slip_speed, slip_rate; /* as in sap_step_settings */
  int32_t n_frictions,
      *friction_dof; /* (n_frictions) dofs with dry friction; (n_frictions) its force below */
  double *friction;

  struct sap_open_limits open;
  int64_t n_lasting, nJ_lasting; /* upper limits: rows of limits and controllers, entries of J */
  size_t room, room_J; /* capacity in rows and in entries of J, plus 1; 0: there are no arrays */

  const struct sap_elements *elements; /* NULL if the model has none; all other fields are then 0 */
  const struct sap_forest *forest;
  const struct sap_vector_loops *loops;
  sap_allocator allocator;
  struct sap_block fixed, listed, jacobian;
  int32_t *dof_tree; /* (nv) tree of each dof */
};

#endif
