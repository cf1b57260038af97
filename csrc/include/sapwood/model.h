/* This module declares the input of a stepper as plain arrays: the constants of a simulated model
 * and the state of one step.
 *
 * The layout is the one that physics engines of the reduced-coordinate family keep, so that their
 * arrays are read as they are: bodies and degrees of freedom (dofs) in tree order, the dofs of a
 * tree contiguous, parents before children. No array may be NULL unless its comment says so or it
 * has no entries.
 *
 * Ownership: all arrays belong to the caller. The arrays of a forest and of elements must stay
 * unchanged while a stepper uses them; those of a step are read, and written, only during the
 * call. */
#ifndef SAPWOOD_MODEL_H
#define SAPWOOD_MODEL_H

#include <stddef.h>

#include "sapwood/geometry.h"
#include "sapwood/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- constants ----------------------------------------------------------------------------- */

/* Dissipation time, s, of geoms and elements that takes the time step of each step in its place. */
#define SAP_TIME_STEP (-1.0)

/* The damping force of a dof is -(c_0 + c_1 |v| + c_2 v^2) v. */
enum { SAP_DAMPING_TERMS = 3 };

/* Rotations of a tree that takes its bias forces at the middle of the step. */
typedef enum sap_turning {
  SAP_NOT_TURNING = 0,  /* another tree, or a translation */
  SAP_JOINT_TURNS,      /* rotation of a joint below the root */
  SAP_ROOT_TURNS,       /* rotation of the root */
  SAP_HELD_JOINT_TURNS, /* the same two in a tree that a connect or weld may hold */
  SAP_HELD_ROOT_TURNS
} sap_turning;

/* Forest of kinematic trees, pattern of the mass matrix and contact material of the geoms. A
 * constraint moves one or two trees; kinematic trees that follow each other may be one tree, with
 * several roots. */
typedef struct sap_forest {
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
  const int32_t *dof_parentid; /* next dof towards the root, -1 at a root */
  /* at a root with the dofs of one free joint (6) or ball (3), whose gyroscopic torque the step
   * takes by the midpoint rule: first entry in qpos of its quaternion; -1 elsewhere; NULL: all are
   * -1 */
  const int32_t *dof_quaternion;
  /* sap_turning: rotations of bodies on a root that take their bias forces at the middle of the
   * step; NULL: all are 0 */
  const int8_t *dof_turns;
  const double *damping; /* (nv, SAP_DAMPING_TERMS) coefficients c_0, c_1, c_2 */

  /* mass matrix, lower triangle in compressed rows, the diagonal last in its row */
  const int32_t *M_rownnz; /* (nv) */
  const int32_t *M_rowadr; /* (nv) */
  const int32_t *M_colind; /* (nM) */

  /* bodies (n_bodies) */
  const int32_t *body_weldid; /* body to which this one is welded, itself if it has joints */
  const int32_t *body_rootid; /* top body of its tree: its subtree_com is the origin of cdof */
  const int32_t *body_dofadr; /* first dof, read where body_dofnum > 0 */
  const int32_t *body_dofnum; /* number of own dofs */
  const int32_t *body_treeid; /* tree, -1 for static bodies */

  /* geoms (n_geoms) */
  const int32_t *geom_bodyid;
  const double *stiffness;        /* k > 0 in N/m, INFINITY for rigid */
  const double *dissipation_time; /* tau_d >= 0 in s, or SAP_TIME_STEP */
  const double *friction;         /* mu >= 0 */
  /* 1: mu is that of a material, 0: that of the engine; NULL: all are 1 */
  const int8_t *friction_given;
  /* mu_s of contacts that stick, >= friction, read where friction_given is; NULL: friction */
  const double *static_friction;
  const double *restitution; /* e in [0, 1], read where both geoms are rigid; NULL: 0 */
  const int8_t *geom_driven; /* 1: geom of a body with prescribed motion; NULL: none is */
  /* 1/kg, finite and >= 0: inverse mass of the body at any point, by which the engine weighs
   * contacts; NULL: 0 */
  const double *geom_inverse_mass;
  /* m, > 0: least width of the geom, INFINITY if it has none; NULL: overlaps are not judged */
  const double *geom_width;

  /* pairs of geoms (n_pairs) that always have the engine's friction, keys strictly increasing */
  const int64_t *pair_key; /* sap_pair_key of the two geoms */

  /* rigid cores of the geoms (n_geoms); barrier NULL: none has one, and the others are not read */
  const int8_t *barrier;        /* sap_barrier */
  const double *delta;          /* m, > 0 where there is a core */
  const double *barrier_lambda; /* > 0 where there is a core */

  /* 1: springs act at the end of the step, and the pattern of D has all pairs of dofs of a tree, in
   * order; the same for all trees; NULL: springs act at its beginning */
  const int8_t *tree_springs; /* (n_trees) */
  /* pattern of the derivative D of all smooth forces by the velocity: rows of entries (nD), each of
   * two dofs of one tree. nD 0: only joint damping is implicit, and the others are not read */
  int32_t nD;
  const int32_t *D_rownnz; /* (nv) */
  const int32_t *D_rowadr; /* (nv) */
  const int32_t *D_colind; /* (nD) */
} sap_forest;

/* Returns the key of an unordered pair of geoms. */
SAP_API int64_t sap_pair_key(const sap_forest *forest, int32_t geom1, int32_t geom2);

/* Checks that all arrays are given, every index and value; SAP_INVALID_ARGUMENT names the array and
 * the entry. `error` may be NULL, here and below. */
SAP_API sap_status sap_forest_check(const sap_forest *forest, sap_error *error);

/* Quantity that an equality constraint keeps at zero, by its rows. */
typedef enum sap_equality {
  SAP_EQUALITY_ROWS = 0, /* any number, each a constraint of its own that moves the trees of its
                           * columns: edges and strains of flexes, m or without unit */
  SAP_EQUALITY_POINT,    /* 3: the distance of two points, m */
  SAP_EQUALITY_POSE,     /* 3 + 3: the distance of two points, m, and the rotation of two frames */
  SAP_EQUALITY_SCALAR    /* 1: a function of two joint positions or tendon lengths, rad or m */
} sap_equality;

/* Elements that constrain a model besides contacts: limits of joints and tendons, equality
 * constraints, and actuators that act as implicit controllers.
 *
 * Only elements that act are listed, except that tendons and equality constraints keep the engine's
 * numbers. An element moves the trees of its row of `..._tree`: the first of them, -1 for an
 * element that moves none, and the second, -1 for none. */
typedef struct sap_elements {
  int32_t n_limits; /* joints with limits */
  int32_t n_tendons;
  int32_t n_equalities;
  int32_t n_controllers;
  int32_t n_flexes;         /* the last geoms of the forest are their surfaces */
  int32_t flexes_elsewhere; /* 1: the caller solves the contacts of flexes */
  int32_t n_tendon_entries; /* entries of the Jacobian of all tendons */
  int32_t nq;               /* length of qpos */
  int32_t n_outputs;        /* forces of all actuators */

  /* dry friction of dofs (nv): force, N or N m, 0 for none; NULL where no dof has any */
  const double *dof_frictionloss;
  const int32_t *dof_angle; /* (nv) 1: a velocity in rad/s; NULL: all are in m/s */

  /* limited joints (n_limits) */
  const int32_t *limit_joint;   /* the engine's number */
  const int32_t *limit_ball;    /* 1: an upper bound of the angle of a ball joint */
  const int32_t *limit_qposadr; /* first entry of qpos: 1, or 4 for a ball joint */
  const int32_t *limit_dofadr;  /* first dof: 1, or 3 for a ball joint */
  const double *limit_range;    /* (n_limits, 2) lower, upper; rad or m */
  const double *limit_k;        /* > 0, INFINITY for rigid; N m/rad or N/m */
  const double *limit_tau_d;    /* >= 0, s, or SAP_TIME_STEP, like the next ones */
  const int32_t *limit_angle;   /* 1: in rad; NULL: all are in m */

  /* tendons (n_tendons) */
  const int32_t *tendon_tree;    /* (n_tendons, 2) */
  const int32_t *tendon_limited; /* 1: limits act */
  const double *tendon_range;    /* (n_tendons, 2) m */
  const double *tendon_k;        /* N/m */
  const double *tendon_tau_d;    /* s */
  const int32_t *tendon_angle;   /* 1: in rad, a sum of joint angles; NULL: all are in m */
  const int32_t *ten_J_rownnz;   /* rows of the Jacobian */
  const int32_t *ten_J_rowadr;
  const int32_t *ten_J_colind; /* (n_tendon_entries) */

  /* equality constraints (n_equalities) */
  const int32_t *equality_kind;  /* enum sap_equality */
  const int32_t *equality_tree;  /* (n_equalities, 2), -1 for SAP_EQUALITY_ROWS */
  const double *equality_k;      /* (n_equalities, 2) N/m for positions and N m/rad for rotations */
  const double *equality_tau_d;  /* s */
  const double *equality_scale;  /* > 0: rotation rows times this are in rad */
  const int32_t *equality_angle; /* 1: a scalar in rad; NULL: all are in m */
  const int32_t *equality_driven; /* 1: holds a body with prescribed motion; NULL: none does */

  /* actuators as controllers (n_controllers): force Kp (q_d - q) - Kd v in the actuator's
   * coordinate */
  const int32_t *controller_output; /* the engine's number of the force */
  const int32_t *controller_tree;   /* (n_controllers, 2) */
  const int32_t *controller_group;  /* group of the engine, which may be disabled, -1 for none */
  const int32_t *controller_dof;    /* dof whose total actuator force is bounded, -1 for none */
  const double *controller_gains;   /* (n_controllers, 2) Kp >= 0, Kd >= 0, not both 0 */
  const double *controller_range;   /* (n_controllers, 2) lower <= 0 <= upper of the force */
  /* (n_controllers, 2) lower <= 0 <= upper of the total force of the dof */
  const double *controller_total;
} sap_elements;

/* Checks every index and value; SAP_INVALID_ARGUMENT names the array and the entry. */
SAP_API sap_status sap_elements_check(const sap_elements *elements, const sap_forest *forest,
                                      sap_error *error);

/* Pairs of geoms that meet in patches, by the pressure field of at least one of the two; the engine
 * must find no contacts of its own between them. */
typedef struct sap_fields {
  int32_t n_pairs;
  const int32_t *pair_geom; /* (n_pairs, 2) A and B: normals of contacts are from A to B */
  const int32_t *pair_dim;  /* (n_pairs) 1: without friction, else 3 */
  /* (n_pairs, 2) mu of the engine along two tangents, read if no material gives one; NULL: mu
   * follows from the geoms */
  const double *pair_friction;
  /* (n_geoms) in the frame of the geom; NULL for a geom in no pair */
  const geo_shape *const *shape;
} sap_fields;

/* ---- the state of a step ------------------------------------------------------------------- */

#define SAP_REBOUND 4.0 /* approach from which a contact rebounds, in units of g dt */

/* State of the model at the start of the step, in contiguous arrays. */
typedef struct sap_model_state {
  const double *qvel;        /* (nv) v_0 */
  const double *M;           /* (nM) mass matrix */
  const double *cdof;        /* (nv, 6) */
  const double *subtree_com; /* (n_bodies, 3) */
  const double *qfrc_smooth; /* (nv) f */
  const double *qacc_smooth; /* (nv) M^-1 f, used for trees without damping */
  const double *qDeriv;      /* (nD) df/dv, damping and actuators included */
  const double *geom_xpos;   /* (n_geoms, 3) m, read if there are fields, as the next one */
  const double *geom_xmat;   /* (n_geoms, 9) rotation, row-major */
  double gravity; /* |g|, m/s^2: rigid contacts rebound from an approach above SAP_REBOUND g dt */
} sap_model_state;

/* One field of an array of structs: entry i of a contact lies at base + i * stride (bytes). */
typedef struct sap_field {
  const char *base; /* NULL if the engine has no such field */
  ptrdiff_t stride;
} sap_field;

/* Types of the engine's rows, those of contacts last. */
typedef enum sap_engine_row {
  SAP_ROW_EQUALITY = 0,
  SAP_ROW_DOF_FRICTION,
  SAP_ROW_TENDON_FRICTION,
  SAP_ROW_JOINT_LIMIT,
  SAP_ROW_TENDON_LIMIT,
  SAP_ROW_CONTACT /* and above */
} sap_engine_row;

/* Returns the rate, 1/s, at which the engine itself would correct a violation: that of an equality
 * constraint, of the limit of a joint or a tendon, or of a contact of its list, each by its number
 * in the engine. `engine` is that of the list. */
typedef double sap_correction_rate(const void *engine, sap_engine_row kind, int32_t index);

/* List of the contacts that the engine detected. */
typedef struct sap_contact_list {
  int32_t count;
  int32_t n_rows;  /* constraint rows of the engine, all kinds together */
  sap_field dist;  /* double, m */
  sap_field pos;   /* double (3) */
  sap_field frame; /* double (3, 3): normal from geom 1 to geom 2, t1, t2 */
  /* double (dim - 1): mu along t1 and t2, as the engine scales pyramid edges, and for geoms with
   * the engine's mu; torsional and rolling friction about t1 and t2, m. 1e-5 or less stands for
   * none */
  sap_field friction;
  /* double (2) along t1, t2, and if dim > 3 about n, surface 2 minus 1; may be NULL */
  sap_field surface_velocity;
  sap_field dim;     /* int32: 1, 3, 4 with torsional friction, 6 with rolling friction too */
  sap_field geom;    /* int32 (2), -1 for a flex */
  sap_field flex;    /* int32 (2), read for sides without a geom if the model has flexes */
  sap_field exclude; /* int32: the contact acts iff 0 */
  sap_field row;     /* int32: first constraint row, -1 for none */
  /* 1: the engine's rows of contacts and limits are left out, and rows of dry friction of dofs may
   * be. Forces are then written only to the other rows. Contacts of flexes need theirs */
  int32_t left_out;
  sap_correction_rate *rate; /* NULL: not known */
  const void *engine;
} sap_contact_list;

/* Layout of the engine's rows of a contact with friction. */
typedef enum sap_cone {
  SAP_CONE_ELLIPTIC = 0, /* n, t1, t2, and torques about n, t1, t2 */
  SAP_CONE_PYRAMIDAL     /* the edges n +- mu_k k, two for each component k except n */
} sap_cone;

/* State of the elements at the start of the step, in arrays of the engine. */
typedef struct sap_element_state {
  const double *qpos; /* (nq) */

  /* constraint rows, contacts last */
  const int32_t *efc_type; /* sap_engine_row */
  const int32_t *efc_id;   /* equality constraint, dof or tendon */
  const double *efc_pos;
  const double *efc_frictionloss; /* read for tendons */
  const double *efc_D;            /* mass by which the engine weighs the violation of a row */
  const double *efc_KBIP;         /* (n_rows, 4) impedance of a row, the third; NULL: not known */
  const double *efc_J;            /* (n_rows, nv), or sparse rows */
  const int32_t *efc_J_rownnz;    /* NULL for dense rows, here and below */
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
  double *actuator_force; /* read and written by sap_scatter_elements, as the next two */
  double *qfrc_actuator;  /* (nv) */
  double *qfrc_smooth;    /* (nv) */

  int64_t n_constraint_entries; /* length of efc_J and, with sparse rows, of efc_J_colind */
  int64_t n_moment_entries;     /* length of actuator_moment and moment_colind */
  int32_t n_rows;
  int32_t disabled; /* bit g: actuators of group g are off; bit 31: all of them */
} sap_element_state;

/* ---- faults --------------------------------------------------------------------------------- */

/* Reason why a step cannot be taken. Its index is the contact, or the dof for SAP_FAULT_FORCE and
 * SAP_FAULT_ACCELERATION, the tree for SAP_FAULT_MASS, a geom for SAP_FAULT_PATCH. */
typedef enum sap_fault {
  SAP_FAULT_NONE = 0,
  SAP_FAULT_OVERFLOW, /* a contact acts but has no rows: the engine ran out of memory */
  /* unknown number of dimensions; or torsional or rolling friction of a contact with a rigid core
   * or a surface that turns */
  SAP_FAULT_DIMENSION,
  SAP_FAULT_GEOM,         /* a side of the contact is no geom */
  SAP_FAULT_ROWS,         /* rows of an unknown constraint, or rows out of range */
  SAP_FAULT_FORCE,        /* the free acceleration is not finite */
  SAP_FAULT_MASS,         /* a block of A is not positive definite */
  SAP_FAULT_CONTACT,      /* position, frame or friction of a contact is not finite */
  SAP_FAULT_ACCELERATION, /* the new acceleration is not finite or larger than the engine allows */
  SAP_FAULT_PATCH,        /* a pose or a surface of geoms with fields is not finite */
  SAP_FAULTS
} sap_fault;

SAP_API const char *sap_fault_name(sap_fault fault); /* for example "overflow" */

#ifdef __cplusplus
}
#endif

#endif
