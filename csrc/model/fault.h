/* What a model can hold that a step cannot take. */
#ifndef SAPWOOD_MODEL_FAULT_H
#define SAPWOOD_MODEL_FAULT_H

/* The index beside a fault is the contact, or the dof of SAP_FAULT_FORCE and
 * SAP_FAULT_ACCELERATION, the tree of SAP_FAULT_MASS, the equality constraint of
 * SAP_FAULT_EQUALITY, the tendon of SAP_FAULT_TENDON. */
enum sap_fault {
  SAP_FAULT_NONE = 0,
  SAP_FAULT_OVERFLOW,     /* a contact acts but has no rows: the engine ran out of memory */
  SAP_FAULT_DIMENSION,    /* neither frictionless nor sliding friction alone */
  SAP_FAULT_GEOM,         /* a side of the contact is no geom */
  SAP_FAULT_ADHESION,     /* adhesive contact */
  SAP_FAULT_ROWS,         /* rows of no known constraint, or rows out of range */
  SAP_FAULT_FORCE,        /* the free acceleration is not finite */
  SAP_FAULT_MASS,         /* a block of A is not positive definite */
  SAP_FAULT_CONTACT,      /* position or frame of a contact is not finite */
  SAP_FAULT_ACCELERATION, /* the new acceleration is not finite or larger than the engine allows */
  SAP_FAULT_EQUALITY,     /* an equality constraint of a kind that is not supported */
  SAP_FAULT_TENDON,       /* friction of a tendon that moves more than two trees */
  SAP_FAULTS
};

#endif
