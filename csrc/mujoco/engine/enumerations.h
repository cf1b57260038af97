/* MuJoCo's enumerators and constants that the stages and the search compare with. Each has MuJoCo's
 * name behind SAP_, and a test compares its value with that of the installed MuJoCo. */
#ifndef SAPWOOD_MUJOCO_ENGINE_ENUMERATIONS_H
#define SAPWOOD_MUJOCO_ENGINE_ENUMERATIONS_H

/* mjtDisableBit, mjtEnableBit */
enum {
  SAP_MJDSBL_CONSTRAINT = 1 << 0,
  SAP_MJDSBL_EQUALITY = 1 << 1,
  SAP_MJDSBL_FRICTIONLOSS = 1 << 2,
  SAP_MJDSBL_LIMIT = 1 << 3,
  SAP_MJDSBL_CONTACT = 1 << 4,
  SAP_MJDSBL_SPRING = 1 << 5,
  SAP_MJDSBL_DAMPER = 1 << 6,
  SAP_MJDSBL_GRAVITY = 1 << 7,
  SAP_MJDSBL_CLAMPCTRL = 1 << 8,
  SAP_MJDSBL_FILTERPARENT = 1 << 10,
  SAP_MJDSBL_ACTUATION = 1 << 11,
  SAP_MJDSBL_REFSAFE = 1 << 12,
  SAP_MJDSBL_EULERDAMP = 1 << 15,
  SAP_MJDSBL_ISLAND = 1 << 18
};
enum {
  SAP_MJENBL_OVERRIDE = 1 << 0,
  SAP_MJENBL_ENERGY = 1 << 1,
  SAP_MJENBL_FWDINV = 1 << 2,
  SAP_MJENBL_INVDISCRETE = 1 << 3,
  SAP_MJENBL_SLEEP = 1 << 4,
  SAP_MJENBL_SPECULATIVE = 1 << 7
};

/* mjtIntegrator, mjtCone */
enum { SAP_MJINT_EULER = 0, SAP_MJINT_IMPLICIT = 2, SAP_MJINT_IMPLICITFAST = 3 };
enum { SAP_MJCONE_PYRAMIDAL = 0, SAP_MJCONE_ELLIPTIC = 1 };

/* mjtGeom, mjtJoint, mjtTrn */
enum {
  SAP_MJGEOM_PLANE = 0,
  SAP_MJGEOM_SPHERE = 2,
  SAP_MJGEOM_CAPSULE = 3,
  SAP_MJGEOM_BOX = 6,
  SAP_MJGEOM_MESH = 7
};
enum { SAP_MJJNT_FREE = 0, SAP_MJJNT_BALL = 1 };
enum { SAP_MJTRN_BODY = 5 };

/* mjtGain, mjtBias */
enum { SAP_MJGAIN_FIXED = 0, SAP_MJGAIN_AFFINE = 1, SAP_MJBIAS_AFFINE = 1 };

/* mjtSensor, mjtStage */
enum { SAP_MJSENS_TOUCH = 0, SAP_MJSTAGE_POS = 1 };

/* mjtLogLevel */
enum { SAP_MJLOG_ERROR = 3 };

/* sizes of parameters; the least mixing weight */
enum { SAP_MJNREF = 2, SAP_MJNIMP = 5, SAP_MJNPOLY = 2, SAP_MJNGAIN = 10, SAP_MJNBIAS = 10 };
#define SAP_MJMINVAL 1e-15

#endif
