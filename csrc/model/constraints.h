/* Constraints of one simulation step other than contacts, gathered from a model's arrays.
 *
 *     equality      Bilateral     residual and Jacobian of the engine's rows
 *     friction loss DryFriction   bound and Jacobian of the engine's rows
 *     limit         Limit         phi0 = q - lower or upper - q; a ball: upper - angle, row -axis
 *     actuator      Controller    q = length, S = force + Kp length + Kd velocity at the start of
 *                                 the step, so that force = S - Kp q - Kd v: q_d = S/Kp, or v_d = S/Kd
 *
 * Limits are there in every step, whether or not the engine lists them: one acts if it would be
 * passed within the step. Of a pose the position and the rotation are two constraints, as their
 * units differ. Rows that move no dof are left out.
 *
 * What a controller does explicitly in the engine's forces is taken out of them, and what it did in
 * the step is put back in its place. Where the total actuator force of a dof is bounded, the forces
 * of other actuators are kept within the bounds and leave the controller the rest.
 *
 * Ownership: a sap_element_gather owns its workspace, which grows as needed and is kept. */
#ifndef SAPWOOD_MODEL_CONSTRAINTS_H
#define SAPWOOD_MODEL_CONSTRAINTS_H

#include "base/memory.h"
#include "model/elements.h"
#include "model/fault.h"
#include "problem/regularization.h"

/* state of the elements at the start of the step: arrays of the engine */
struct sap_element_state {
  const double *qpos; /* (nq) */

  /* constraint rows, those of contacts last */
  const int32_t *efc_type; /* enum sap_engine_row */
  const int32_t *efc_id;   /* equality constraint, dof or tendon */
  const double *efc_pos;
  const double *efc_frictionloss;
  const double *efc_J;         /* (n_rows, nv), or sparse rows */
  const int32_t *efc_J_rownnz; /* NULL for dense rows, here and below */
  const int32_t *efc_J_rowadr;
  const int32_t *efc_J_colind;

  const double *ten_length; /* (n_tendons) m */
  const double *ten_J;      /* (n_tendon_entries) */

  /* forces of actuators (n_outputs), and their moments as sparse rows */
  const double *actuator_length;
  const double *actuator_velocity;
  const int32_t *moment_rownnz;
  const int32_t *moment_rowadr;
  const int32_t *moment_colind;
  const double *actuator_moment;
  double *actuator_force; /* read and, by sap_scatter_elements, written; so are those below */
  double *qfrc_actuator;  /* (nv) */
  double *qfrc_smooth;    /* (nv) */

  int64_t n_constraint_entries; /* length of efc_J and, with sparse rows, of efc_J_colind */
  int64_t n_moment_entries;     /* length of actuator_moment and moment_colind */
  int32_t n_rows;
  int32_t disabled; /* bit g: actuators of group g are off; bit 31: all of them */
};

/* types of the engine's rows before those of contacts */
enum sap_engine_row {
  SAP_ROW_EQUALITY = 0,
  SAP_ROW_DOF_FRICTION,
  SAP_ROW_TENDON_FRICTION,
  SAP_ROW_JOINT_LIMIT,
  SAP_ROW_TENDON_LIMIT,
  SAP_ROW_CONTACT /* and above */
};

enum sap_element {
  SAP_ELEMENT_EQUALITY = 0,
  SAP_ELEMENT_DOF,
  SAP_ELEMENT_JOINT,
  SAP_ELEMENT_TENDON,
  SAP_ELEMENT_OUTPUT
};

/* what a row belongs to */
struct sap_row_label {
  int32_t element; /* enum sap_element */
  int32_t index;   /* the engine's number */
  int32_t
      part; /* of an equality constraint its row; of a limit 0 for the lower one, 1 for the upper */
  int32_t row; /* the engine's row, -1 for none */
};

enum { SAP_ELEMENT_GROUPS = 4, SAP_ELEMENT_VALUES = 7 };

struct sap_element_gather {
  sap_constraints groups[SAP_ELEMENT_GROUPS]; /* those with rows: what the problem points at */
  int64_t first_row[SAP_ELEMENT_GROUPS + 1];  /* of each in the arrays (n_rows) below */
  int64_t nJ[SAP_ELEMENT_GROUPS];
  struct sap_group_regularization regularization[SAP_ELEMENT_GROUPS];
  const double *parameter[SAP_ELEMENT_GROUPS][SAP_ELEMENT_VALUES]; /* of each in `value` */
  int32_t n_groups;
  int32_t n_rows;
  int32_t n_constraints;
  int32_t n_engine_rows; /* rows of the engine that are not of contacts */

  struct sap_row_label *label;       /* (n_rows) */
  double *scale;                     /* (n_rows) J is the engine's row times this */
  double *value[SAP_ELEMENT_VALUES]; /* (n_rows) physical parameters, in the order of the kind */
  double *R, *v_hat, *lower, *upper; /* (n_rows) */
  double *gamma, *v_c;               /* (n_rows) room for the solver's output */
  int32_t *size, *tree_a, *tree_b;   /* (n_constraints) */
  double *J;

  int32_t *controller; /* (n_controllers) those that act, in the order of their rows */
  double *range;       /* (n_controllers, 2) bounds of the force of each row */
  int32_t n_acting;    /* controllers */
  double *change;      /* (nv) from the engine's smooth forces to those without controllers */
  double *smooth;      /* (nv) smooth forces without controllers, where there are any */
  uint8_t *controlled; /* (n_trees) */

  const struct sap_elements *elements; /* NULL where the model has none: then all else is 0 */
  const struct sap_forest *forest;
  sap_allocator allocator;
  struct sap_block fixed, listed, jacobian;
  int32_t *dof_tree; /* (nv) */
};

/* `elements` (NULL for none) must pass sap_elements_check and, as `forest`, outlive the gather. */
sap_status sap_element_gather_create(struct sap_element_gather *gather,
                                     const struct sap_elements *elements,
                                     const struct sap_forest *forest,
                                     const sap_allocator *allocator);
void sap_element_gather_release(struct sap_element_gather *gather);

/* Lists the rows of this step but for R, v_hat and the bounds, and finds the smooth forces without
 * controllers. Marks the trees that they move in `touched`. A fault comes with its index. */
sap_status sap_element_gather_run(struct sap_element_gather *gather,
                                  const struct sap_element_state *state, uint8_t *touched,
                                  enum sap_fault *fault, int64_t *index);

/* Fills `regularization` of all groups, after which R, v_hat and the bounds are found, and the
 * bounds of controllers, which may differ from side to side. */
void sap_element_gather_parameters(struct sap_element_gather *gather,
                                   const sap_parameters *parameters);

#endif
