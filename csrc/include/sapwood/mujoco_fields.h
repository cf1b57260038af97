/* This table lists the fields of MuJoCo's structs that sapwood reads: each has one row, from which
 * everything else about it follows.
 *
 *     X(name, type, shape, versions, readers, change, again)
 *
 * It makes struct sap_mujoco (mujoco_engine.h), the functions that read fields
 * (csrc/mujoco/engine/fields.h), the offsets and their trial in Python, the lists of fields that a
 * stepper follows, and the tables of the documentation.
 *
 * type, with MuJoCo's own:
 *
 *     SIZE     mjtSize        NUM      mjtNum         NUM_ROW  mjtNum [n]     NUMS     mjtNum *
 *     WORD     size_t         INT      int            INT_ROW  int [n]        INTS     int *
 *     BOOL     mjtBool        BOOLS    mjtBool *      FLOATS   float *        CONTACTS mjContact *
 *
 * shape: of an array, by the sizes of mjModel; () for a number. versions: ALL, SINCE_4 or
 * BEFORE_3_17 of the supported versions of MuJoCo. readers: CORE, C at an offset; PYTHON, when a
 * stepper is made or follows its model; or BOTH. change: the consequence of a change between two
 * steps:
 *
 *     EACH_STEP           none: every step reads it, or computes it
 *     STATE               every step reads it, after a check that it is finite
 *     READ                the stepper reads its parameters again
 *     CHECKED             the stepper checks again whether it takes the model, and reads it again
 *     FIXED               the stepper refuses it
 *     FIXED_WITH_FIELDS   a stepper with pressure fields refuses it; EACH_STEP elsewhere
 *     READ_OR_FIXED       a stepper with pressure fields refuses it; READ elsewhere
 *     CHECKED_OR_FIXED    a stepper with pressure fields refuses it; CHECKED elsewhere
 *     FIXED_UNLESS_GIVEN  refused, unless the stepper has a time step of its own
 *
 * again:    the parts of a stepper that follow from a field that is read again:
 *
 *     GAINS          implicit actuators, and all that follows from SLOPES
 *     DAMPING        damping of joints, and all that follows from SLOPES
 *     SLOPES         whether smooth forces other than damping of joints are implicit
 *     LOSSES         dry friction
 *     JOINT_LIMITS   limits of joints; TENDON_LIMITS: of tendons
 *     ITSELF         an array of its own
 *     NOTHING        none
 *     ALL            all */
#ifndef SAPWOOD_MUJOCO_FIELDS_H
#define SAPWOOD_MUJOCO_FIELDS_H

/* clang-format off */

/* mjModel */
#define SAP_MUJOCO_MODEL(X)                                                                      \
  X(nq,                    SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(nv,                    SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(nu,                    SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(nactuator,             SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(nout,                  SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(na,                    SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(nbody,                 SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(njnt,                  SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(ntree,                 SIZE,   (),                   ALL, CORE, FIXED, NOTHING)              \
  X(nC,                    SIZE,   (),                   ALL, CORE, FIXED, NOTHING)              \
  X(nD,                    SIZE,   (),                   ALL, CORE, FIXED, NOTHING)              \
  X(ngeom,                 SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(nflex,                 SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(npair,                 SIZE,   (),                   ALL, CORE, FIXED, NOTHING)              \
  X(nexclude,              SIZE,   (),                   ALL, CORE, FIXED, NOTHING)              \
  X(neq,                   SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(ntendon,               SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(nmocap,                SIZE,   (),                   ALL, CORE, FIXED, NOTHING)              \
  X(nplugin,               SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(nsensor,               SIZE,   (),                   ALL, CORE, FIXED, NOTHING)              \
  X(nsensordata,           SIZE,   (),                   ALL, BOTH, FIXED, NOTHING)              \
  X(nhistory,              SIZE,   (),                   ALL, CORE, FIXED, NOTHING)              \
  X(body_parentid,         INTS,   (nbody),              ALL, BOTH, FIXED_WITH_FIELDS, NOTHING)  \
  X(body_rootid,           INTS,   (nbody),              ALL, BOTH, FIXED, NOTHING)              \
  X(body_weldid,           INTS,   (nbody),              ALL, PYTHON, FIXED, NOTHING)            \
  X(body_mocapid,          INTS,   (nbody),              ALL, PYTHON, FIXED, NOTHING)            \
  X(body_dofnum,           INTS,   (nbody),              ALL, BOTH, FIXED, NOTHING)              \
  X(body_dofadr,           INTS,   (nbody),              ALL, BOTH, FIXED, NOTHING)              \
  X(body_treeid,           INTS,   (nbody),              ALL, PYTHON, FIXED, NOTHING)            \
  X(body_invweight0,       NUMS,   (nbody, 2),           ALL, PYTHON, READ, ITSELF)              \
  X(body_margin,           NUMS,   (nbody),              ALL, CORE, EACH_STEP, NOTHING)          \
  X(body_contype,          INTS,   (nbody),              ALL, CORE, EACH_STEP, NOTHING)          \
  X(body_conaffinity,      INTS,   (nbody),              ALL, CORE, EACH_STEP, NOTHING)          \
  X(body_bvhadr,           INTS,   (nbody),              ALL, CORE, EACH_STEP, NOTHING)          \
  X(bvh_aabb,              NUMS,   (nbvhstatic, 6),      ALL, CORE, EACH_STEP, NOTHING)          \
  X(qpos_spring,            NUMS,   (nq),                  ALL, CORE, EACH_STEP, NOTHING)        \
  X(jnt_type,              INTS,   (njnt),               ALL, BOTH, FIXED, NOTHING)              \
  X(jnt_qposadr,           INTS,   (njnt),               ALL, BOTH, FIXED, NOTHING)              \
  X(jnt_dofadr,            INTS,   (njnt),               ALL, BOTH, FIXED, NOTHING)              \
  X(jnt_actuatorid,        INTS,   (njnt),               ALL, PYTHON, FIXED, NOTHING)            \
  X(jnt_limited,           BOOLS,  (njnt),               ALL, BOTH, READ, JOINT_LIMITS)          \
  X(jnt_actfrclimited,     BOOLS,  (njnt),               ALL, PYTHON, READ, GAINS)               \
  X(jnt_stiffness,         NUMS,   (njnt),               ALL, BOTH, READ, NOTHING)               \
  X(jnt_stiffnesspoly,     NUMS,   (njnt, mjNPOLY),      ALL, BOTH, READ, NOTHING)               \
  X(jnt_range,             NUMS,   (njnt, 2),            ALL, PYTHON, READ, JOINT_LIMITS)        \
  X(jnt_solref,            NUMS,   (njnt, mjNREF),       ALL, CORE, EACH_STEP, NOTHING)          \
  X(jnt_solimp,            NUMS,   (njnt, mjNIMP),       ALL, CORE, EACH_STEP, NOTHING)          \
  X(jnt_actfrcrange,       NUMS,   (njnt, 2),            ALL, PYTHON, READ, GAINS)               \
  X(dof_jntid,             INTS,   (nv),                 ALL, PYTHON, FIXED, NOTHING)            \
  X(dof_parentid,          INTS,   (nv),                 ALL, BOTH, FIXED, NOTHING)              \
  X(dof_treeid,            INTS,   (nv),                 ALL, BOTH, FIXED, NOTHING)              \
  X(dof_frictionloss,      NUMS,   (nv),                 ALL, BOTH, READ, LOSSES)                \
  X(dof_damping,           NUMS,   (nv),                 ALL, PYTHON, READ, DAMPING)             \
  X(dof_dampingpoly,       NUMS,   (nv, mjNPOLY),        ALL, PYTHON, READ, DAMPING)             \
  X(tree_dofadr,           INTS,   (ntree),              ALL, PYTHON, FIXED, NOTHING)            \
  X(tree_dofnum,           INTS,   (ntree),              ALL, PYTHON, FIXED, NOTHING)            \
  X(geom_type,             INTS,   (ngeom),              ALL, BOTH, FIXED_WITH_FIELDS, NOTHING)  \
  X(geom_contype,          INTS,   (ngeom),              ALL, BOTH, CHECKED_OR_FIXED, NOTHING)   \
  X(geom_conaffinity,      INTS,   (ngeom),              ALL, BOTH, CHECKED_OR_FIXED, NOTHING)   \
  X(geom_condim,           INTS,   (ngeom),              ALL, BOTH, CHECKED_OR_FIXED, NOTHING)   \
  X(geom_bodyid,           INTS,   (ngeom),              ALL, PYTHON, FIXED, NOTHING)            \
  X(geom_dataid,           INTS,   (ngeom),              ALL, BOTH, FIXED_WITH_FIELDS, NOTHING)  \
  X(geom_group,            INTS,   (ngeom),              ALL, PYTHON, READ, ALL)                 \
  X(geom_priority,         INTS,   (ngeom),              ALL, BOTH, CHECKED_OR_FIXED, NOTHING)   \
  X(geom_solmix,           NUMS,   (ngeom),              ALL, CORE, EACH_STEP, NOTHING)          \
  X(geom_solref,           NUMS,   (ngeom, mjNREF),      ALL, CORE, EACH_STEP, NOTHING)          \
  X(geom_solimp,           NUMS,   (ngeom, mjNIMP),      ALL, CORE, EACH_STEP, NOTHING)          \
  X(geom_size,             NUMS,   (ngeom, 3),           ALL, BOTH, READ_OR_FIXED, ITSELF)       \
  X(geom_aabb,             NUMS,   (ngeom, 6),           ALL, BOTH, EACH_STEP, NOTHING)          \
  X(geom_rbound,           NUMS,   (ngeom),              ALL, CORE, EACH_STEP, NOTHING)          \
  X(geom_friction,         NUMS,   (ngeom, 3),           ALL, BOTH, READ, ITSELF)                \
  X(geom_margin,           NUMS,   (ngeom),              ALL, CORE, EACH_STEP, NOTHING)          \
  X(geom_gap,              NUMS,   (ngeom),              ALL, CORE, EACH_STEP, NOTHING)          \
  X(geom_surfacevel,       NUMS,   (ngeom, 6),           ALL, PYTHON, CHECKED_OR_FIXED, NOTHING) \
  X(geom_adhesion,         NUMS,   (ngeom),              ALL, BOTH, CHECKED_OR_FIXED, NOTHING)   \
  X(site_bodyid,           INTS,   (nsite),              ALL, BOTH, FIXED, NOTHING)              \
  X(sensor_type,           INTS,   (nsensor),            ALL, CORE, EACH_STEP, NOTHING)          \
  X(sensor_needstage,      INTS,   (nsensor),            ALL, CORE, EACH_STEP, NOTHING)          \
  X(sensor_objid,          INTS,   (nsensor),            ALL, CORE, EACH_STEP, NOTHING)          \
  X(flex_contype,          INTS,   (nflex),              ALL, PYTHON, READ_OR_FIXED, ALL)        \
  X(flex_conaffinity,      INTS,   (nflex),              ALL, PYTHON, READ_OR_FIXED, ALL)        \
  X(flex_internal,         BOOLS,  (nflex),              BEFORE_3_17, PYTHON, READ, ALL)         \
  X(flex_selfcollide,      INTS,   (nflex),              ALL, PYTHON, READ, ALL)                 \
  X(mesh_vertadr,          INTS,   (nmesh),              ALL, BOTH, EACH_STEP, NOTHING)          \
  X(mesh_vertnum,          INTS,   (nmesh),              ALL, BOTH, EACH_STEP, NOTHING)          \
  X(mesh_vert,             FLOATS, (nmeshvert, 3),       ALL, BOTH, EACH_STEP, NOTHING)          \
  X(pair_dim,              INTS,   (npair),              ALL, BOTH, CHECKED_OR_FIXED, NOTHING)   \
  X(pair_geom1,            INTS,   (npair),              ALL, BOTH, READ_OR_FIXED, ITSELF)       \
  X(pair_geom2,            INTS,   (npair),              ALL, BOTH, READ_OR_FIXED, ITSELF)       \
  X(pair_solref,           NUMS,   (npair, mjNREF),      ALL, CORE, EACH_STEP, NOTHING)          \
  X(pair_solreffriction,   NUMS,   (npair, mjNREF),      ALL, CORE, EACH_STEP, NOTHING)          \
  X(pair_solimp,           NUMS,   (npair, mjNIMP),      ALL, CORE, EACH_STEP, NOTHING)          \
  X(pair_margin,           NUMS,   (npair),              ALL, BOTH, FIXED_WITH_FIELDS, NOTHING)  \
  X(pair_gap,              NUMS,   (npair),              ALL, BOTH, EACH_STEP, NOTHING)          \
  X(pair_adhesion,         NUMS,   (npair),              ALL, BOTH, CHECKED, NOTHING)            \
  X(pair_friction,         NUMS,   (npair, 5),           ALL, BOTH, CHECKED, NOTHING)            \
  X(exclude_signature,     INTS,   (nexclude),           ALL, BOTH, CHECKED_OR_FIXED, NOTHING)   \
  X(eq_type,               INTS,   (neq),                ALL, PYTHON, FIXED, NOTHING)            \
  X(eq_obj1id,             INTS,   (neq),                ALL, PYTHON, FIXED, NOTHING)            \
  X(eq_obj2id,             INTS,   (neq),                ALL, PYTHON, FIXED, NOTHING)            \
  X(eq_objtype,            INTS,   (neq),                ALL, PYTHON, FIXED, NOTHING)            \
  X(eq_data,               NUMS,   (neq, mjNEQDATA),     ALL, PYTHON, READ, ITSELF)              \
  X(eq_solref,             NUMS,   (neq, mjNREF),        ALL, CORE, EACH_STEP, NOTHING)          \
  X(eq_solimp,             NUMS,   (neq, mjNIMP),        ALL, CORE, EACH_STEP, NOTHING)          \
  X(tendon_actuatorid,     INTS,   (ntendon),            ALL, PYTHON, FIXED, NOTHING)            \
  X(tendon_treenum,        INTS,   (ntendon),            ALL, PYTHON, FIXED, NOTHING)            \
  X(tendon_treeid,         INTS,   (ntendon, 2),         ALL, PYTHON, FIXED, NOTHING)            \
  X(ten_J_rownnz,          INTS,   (ntendon),            ALL, BOTH, FIXED, NOTHING)              \
  X(ten_J_rowadr,          INTS,   (ntendon),            ALL, BOTH, FIXED, NOTHING)              \
  X(ten_J_colind,          INTS,   (nJten),              ALL, BOTH, FIXED, NOTHING)              \
  X(tendon_limited,        BOOLS,  (ntendon),            ALL, PYTHON, READ, TENDON_LIMITS)       \
  X(tendon_actfrclimited,  BOOLS,  (ntendon),            ALL, PYTHON, READ, GAINS)               \
  X(tendon_range,          NUMS,   (ntendon, 2),         ALL, PYTHON, READ, TENDON_LIMITS)       \
  X(tendon_solref_lim,     NUMS,   (ntendon, mjNREF),    ALL, CORE, EACH_STEP, NOTHING)          \
  X(tendon_solimp_lim,     NUMS,   (ntendon, mjNIMP),    ALL, CORE, EACH_STEP, NOTHING)          \
  X(tendon_actfrcrange,    NUMS,   (ntendon, 2),         ALL, PYTHON, READ, GAINS)               \
  X(tendon_stiffness,       NUMS,   (ntendon),             ALL, CORE, EACH_STEP, NOTHING)        \
  X(tendon_stiffnesspoly,   NUMS,   (ntendon, mjNPOLY),    ALL, CORE, EACH_STEP, NOTHING)        \
  X(tendon_lengthspring,    NUMS,   (ntendon, 2),          ALL, CORE, EACH_STEP, NOTHING)        \
  X(tendon_damping,        NUMS,   (ntendon),            ALL, BOTH, READ, SLOPES)                \
  X(tendon_armature,       NUMS,   (ntendon),            ALL, PYTHON, READ, ITSELF)              \
  X(tendon_dampingpoly,    NUMS,   (ntendon, mjNPOLY),   ALL, BOTH, READ, SLOPES)                \
  X(tendon_frictionloss,   NUMS,   (ntendon),            ALL, BOTH, READ, LOSSES)                \
  X(actuator_trntype,      INTS,   (nactuator),          ALL, BOTH, FIXED, NOTHING)              \
  X(actuator_gaintype,     INTS,   (nactuator),          ALL, BOTH, READ, GAINS)                 \
  X(actuator_biastype,     INTS,   (nactuator),          ALL, BOTH, READ, GAINS)                 \
  X(actuator_outadr,       INTS,   (nactuator),          ALL, BOTH, FIXED, NOTHING)              \
  X(actuator_outnum,       INTS,   (nactuator),          ALL, BOTH, FIXED, NOTHING)              \
  X(actuator_trnid,        INTS,   (nactuator, 2),       ALL, PYTHON, FIXED, NOTHING)            \
  X(actuator_gainprm,      NUMS,   (nactuator, mjNGAIN), ALL, BOTH, READ, GAINS)                 \
  X(actuator_biasprm,      NUMS,   (nactuator, mjNBIAS), ALL, BOTH, READ, GAINS)                 \
  X(actuator_damping,      NUMS,   (nactuator),          ALL, PYTHON, READ, DAMPING)             \
  X(actuator_dampingpoly,  NUMS,   (nactuator, mjNPOLY), ALL, PYTHON, READ, DAMPING)             \
  X(actuator_group,        INTS,   (nactuator),          ALL, BOTH, READ, ITSELF)                \
  X(actuator_plugin,       INTS,   (nactuator),          ALL, PYTHON, FIXED, NOTHING)            \
  X(actuator_forcelimited, BOOLS,  (nactuator),          ALL, BOTH, READ, GAINS)                 \
  X(actuator_forcerange,   NUMS,   (nactuator, 2),       ALL, BOTH, READ, GAINS)                 \
  X(actuator_gear,         NUMS,   (nout, 6),            ALL, PYTHON, READ, DAMPING)             \
  X(numeric_adr,           INTS,   (nnumeric),           ALL, PYTHON, FIXED, NOTHING)            \
  X(numeric_size,          INTS,   (nnumeric),           ALL, PYTHON, FIXED, NOTHING)            \
  X(numeric_data,          NUMS,   (nnumericdata),       ALL, PYTHON, READ, ALL)                 \
  X(M_rownnz,              INTS,   (nv),                 ALL, PYTHON, FIXED, NOTHING)            \
  X(M_rowadr,              INTS,   (nv),                 ALL, PYTHON, FIXED, NOTHING)            \
  X(M_colind,              INTS,   (nC),                 ALL, PYTHON, FIXED, NOTHING)            \
  X(D_rownnz,              INTS,   (nv),                 ALL, BOTH, FIXED, NOTHING)              \
  X(D_rowadr,              INTS,   (nv),                 ALL, BOTH, FIXED, NOTHING)              \
  X(D_colind,              INTS,   (nD),                 ALL, BOTH, FIXED, NOTHING)

/* mjModel.opt */
#define SAP_MUJOCO_OPTION(X)                                                 \
  X(timestep,        NUM,     (),  ALL, BOTH,   FIXED_UNLESS_GIVEN, NOTHING) \
  X(gravity,         NUM_ROW, (3), ALL, BOTH,   READ,               ITSELF)  \
  X(integrator,      INT,     (),  ALL, BOTH,   FIXED,              NOTHING) \
  X(cone,            INT,     (),  ALL, BOTH,   FIXED,              NOTHING) \
  X(disableflags,    INT,     (),  ALL, BOTH,   READ,               ALL)     \
  X(enableflags,     INT,     (),  ALL, BOTH,   READ,               ALL)     \
  X(disableactuator, INT,     (),  ALL, BOTH,   EACH_STEP,          NOTHING) \
  X(density,         NUM,     (),  ALL, PYTHON, READ,               SLOPES)  \
  X(viscosity,       NUM,     (),  ALL, PYTHON, READ,               SLOPES)

/* mjData */
#define SAP_MUJOCO_DATA(X)                                                     \
  X(time,              NUM,      (),            ALL, BOTH, EACH_STEP, NOTHING) \
  X(energy,            NUM_ROW,  (2),           ALL, CORE, EACH_STEP, NOTHING) \
  X(narena,            SIZE,     (),            ALL, CORE, EACH_STEP, NOTHING) \
  X(pstack,            WORD,     (),            ALL, CORE, EACH_STEP, NOTHING) \
  X(pbase,             WORD,     (),            ALL, CORE, EACH_STEP, NOTHING) \
  X(parena,            WORD,     (),            ALL, CORE, EACH_STEP, NOTHING) \
  X(ncon,              INT,      (),            ALL, BOTH, EACH_STEP, NOTHING) \
  X(ne,                INT,      (),            ALL, CORE, EACH_STEP, NOTHING) \
  X(nefc,              INT,      (),            ALL, CORE, EACH_STEP, NOTHING) \
  X(flg_energypos,     BOOL,     (),            ALL, CORE, EACH_STEP, NOTHING) \
  X(flg_energyvel,     BOOL,     (),            ALL, CORE, EACH_STEP, NOTHING) \
  X(flg_rnepost,       BOOL,     (),            ALL, BOTH, EACH_STEP, NOTHING) \
  X(qpos,              NUMS,     (nq),          ALL, BOTH, STATE,     NOTHING) \
  X(qvel,              NUMS,     (nv),          ALL, BOTH, STATE,     NOTHING) \
  X(act,               NUMS,     (na),          ALL, BOTH, STATE,     NOTHING) \
  X(ctrl,              NUMS,     (nu),          ALL, BOTH, STATE,     NOTHING) \
  X(mocap_pos,         NUMS,     (nmocap, 3),   ALL, BOTH, STATE,     NOTHING) \
  X(mocap_quat,        NUMS,     (nmocap, 4),   ALL, BOTH, STATE,     NOTHING) \
  X(M,                 NUMS,     (nC),          ALL, BOTH, EACH_STEP, NOTHING) \
  X(cdof,              NUMS,     (nv, 6),       ALL, BOTH, EACH_STEP, NOTHING) \
  X(cdof_dot,          NUMS,     (nv, 6),       ALL, CORE, EACH_STEP, NOTHING) \
  X(cvel,              NUMS,     (nbody, 6),    ALL, CORE, EACH_STEP, NOTHING) \
  X(subtree_com,       NUMS,     (nbody, 3),    ALL, BOTH, EACH_STEP, NOTHING) \
  X(xipos,             NUMS,     (nbody, 3),    ALL, BOTH, EACH_STEP, NOTHING) \
  X(ximat,             NUMS,     (nbody, 9),    ALL, BOTH, EACH_STEP, NOTHING) \
  X(geom_xpos,         NUMS,     (ngeom, 3),    ALL, BOTH, EACH_STEP, NOTHING) \
  X(geom_xmat,         NUMS,     (ngeom, 9),    ALL, BOTH, EACH_STEP, NOTHING) \
  X(xfrc_applied,      NUMS,     (nbody, 6),    ALL, CORE, EACH_STEP, NOTHING) \
  X(qfrc_applied,      NUMS,     (nv),          ALL, CORE, EACH_STEP, NOTHING) \
  X(qfrc_passive,      NUMS,     (nv),          ALL, CORE, EACH_STEP, NOTHING) \
  X(qfrc_bias,         NUMS,     (nv),          ALL, CORE, EACH_STEP, NOTHING) \
  X(qfrc_smooth,       NUMS,     (nv),          ALL, BOTH, EACH_STEP, NOTHING) \
  X(qacc_smooth,       NUMS,     (nv),          ALL, BOTH, EACH_STEP, NOTHING) \
  X(qDeriv,            NUMS,     (nD),          ALL, BOTH, EACH_STEP, NOTHING) \
  X(qacc,              NUMS,     (nv),          ALL, BOTH, EACH_STEP, NOTHING) \
  X(qfrc_constraint,   NUMS,     (nv),          ALL, BOTH, EACH_STEP, NOTHING) \
  X(sensordata,        NUMS,     (nsensordata), ALL, BOTH, EACH_STEP, NOTHING) \
  X(contact,           CONTACTS, (ncon),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(efc_force,         NUMS,     (nefc),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(efc_KBIP,          NUMS,     (nefc, 4),     ALL, BOTH, EACH_STEP, NOTHING) \
  X(efc_type,          INTS,     (nefc),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(efc_id,            INTS,     (nefc),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(efc_pos,           NUMS,     (nefc),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(efc_frictionloss,  NUMS,     (nefc),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(efc_D,             NUMS,     (nefc),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(efc_J,             NUMS,     (nJ),          ALL, BOTH, EACH_STEP, NOTHING) \
  X(efc_J_rownnz,      INTS,     (nefc),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(efc_J_rowadr,      INTS,     (nefc),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(efc_J_colind,      INTS,     (nJ),          ALL, BOTH, EACH_STEP, NOTHING) \
  X(ten_length,        NUMS,     (ntendon),     ALL, BOTH, EACH_STEP, NOTHING) \
  X(ten_J,             NUMS,     (nJten),       ALL, BOTH, EACH_STEP, NOTHING) \
  X(actuator_length,   NUMS,     (nout),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(actuator_velocity, NUMS,     (nout),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(moment_rownnz,     INTS,     (nout),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(moment_rowadr,     INTS,     (nout),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(moment_colind,     INTS,     (nJmom),       ALL, BOTH, EACH_STEP, NOTHING) \
  X(actuator_moment,   NUMS,     (nJmom),       ALL, BOTH, EACH_STEP, NOTHING) \
  X(actuator_force,    NUMS,     (nout),        ALL, BOTH, EACH_STEP, NOTHING) \
  X(qfrc_actuator,     NUMS,     (nv),          ALL, BOTH, EACH_STEP, NOTHING)

/* mjContact */
#define SAP_MUJOCO_CONTACT(X)                                     \
  X(dist,        NUM,     (),  ALL,     BOTH, EACH_STEP, NOTHING) \
  X(pos,         NUM_ROW, (3), ALL,     BOTH, EACH_STEP, NOTHING) \
  X(frame,       NUM_ROW, (9), ALL,     BOTH, EACH_STEP, NOTHING) \
  X(friction,    NUM_ROW, (5), ALL,     BOTH, EACH_STEP, NOTHING) \
  X(solref,      NUM_ROW, (2), ALL,     CORE, EACH_STEP, NOTHING) \
  X(solimp,      NUM_ROW, (5), ALL,     CORE, EACH_STEP, NOTHING) \
  X(surfacevel,  NUM_ROW, (3), SINCE_4, BOTH, EACH_STEP, NOTHING) \
  X(dim,         INT,     (),  ALL,     BOTH, EACH_STEP, NOTHING) \
  X(geom,        INT_ROW, (2), ALL,     BOTH, EACH_STEP, NOTHING) \
  X(flex,        INT_ROW, (2), ALL,     BOTH, EACH_STEP, NOTHING) \
  X(exclude,     INT,     (),  ALL,     BOTH, EACH_STEP, NOTHING) \
  X(efc_address, INT,     (),  ALL,     BOTH, EACH_STEP, NOTHING)

/* mjData.warning[].number, the numbers of warnings of missing room: X(name, warning) */
#define SAP_MUJOCO_WARNINGS(X)            \
  X(contacts_full, mjWARN_CONTACTFULL)    \
  X(rows_full,     mjWARN_CNSTRFULL)

/* clang-format on */

/* SAP_MUJOCO_IN_C_##readers(code) is the code if C reads the field, else nothing */
#define SAP_MUJOCO_IN_C_CORE(code) code
#define SAP_MUJOCO_IN_C_BOTH(code) code
#define SAP_MUJOCO_IN_C_PYTHON(code)

#endif /* SAPWOOD_MUJOCO_FIELDS_H */
