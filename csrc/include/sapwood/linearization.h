/* This module finds the derivative of a step of a MuJoCo model by the state at its start and by its
 * controls.
 *
 * The state is (dq, v, act), where dq (nv) are small motions of the positions in the coordinates of
 * the velocities, as in mjd_transitionFD:
 *
 *     d(dq', v', act') = A d(dq, v, act) + B du,    d sensors = C d(dq, v, act) + D du
 *
 * dv' follows from the balance of momentum at the end of the step, F(v'; x) = 0, as -H^-1 dF with
 * one factor of H. Changes of F are central differences over the stages before the contact part:
 * all of them for a position, those from the velocities on for a velocity, the forces alone for an
 * activation or a control. Then dq' follows from q' = q exp(dq) exp(dt v'), in closed form. Sensors
 * have central differences too, at the velocities v' + dv' and with the forces of the law there.
 * Steps are solved once, at the centre.
 *
 * Ownership: the arrays of the result are the caller's. */
#ifndef SAPWOOD_LINEARIZATION_H
#define SAPWOOD_LINEARIZATION_H

#include "sapwood/mujoco.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sap_mujoco_linear {
  const unsigned char *ctrllimited; /* (nu) as in mjModel */
  const double *ctrlrange;          /* (nu, 2) */
  double step;   /* difference of positions, m or rad, > 0, unless the distance to a kink asks
                  for a smaller one */
  double soften; /* > 0: factor of R of contacts in the derivative alone; 1 for the law itself */
  double *work;  /* sap_mujoco_linear_work() numbers */
  double *A, *B; /* output (n, n) and (n, nu) with n = 2 nv + na, row-major */
  double *C, *D; /* output (n_sensors, n) and (n_sensors, nu), or NULL */
  double *q, *v, *act; /* output (nq), (nv), (na): the state after the step */
  double distance;     /* output: least change of the velocity of a contact or row, m/s or rad/s, to
                      another region of its law; INFINITY: none has one */
  int32_t n_acting;    /* output: contacts with an impulse */
  int is_near_kink;    /* output: 1 if the differences may cross a boundary of the law, or a jump */
  int loses_rebound;   /* output: 1 if an impact rebounds less than by its restitution, to gain no
                        energy: the derivative is not that of the step */
  int holds_rotation; /* output: 1 if trees in equality constraints turn so fast that the step takes
                        their bias forces at its middle: the derivative takes these as constant */
};

/* Lengths of the arrays of a derivative. */
struct sap_linear_sizes {
  int64_t nq, nv, nu, n; /* n = 2 nv + na */
  int64_t n_sensors;     /* values of sensors */
};

SAP_API struct sap_linear_sizes sap_mujoco_linear_sizes(const sap_mujoco_world *world);

/* Returns the length of `work`. */
SAP_API int64_t sap_mujoco_linear_work(const sap_mujoco_world *world);

/* Linearizes the step of the state in the data, with the memory that was made for the stepper of
 * the world. Afterwards qpos, qvel, act, ctrl and time are as before; all other results in the data
 * belong to states close by. */
SAP_API sap_step_failure sap_mujoco_linearize(sap_mujoco_world *world, sap_linear_step *linear,
                                              struct sap_mujoco_linear *out);

#ifdef __cplusplus
}
#endif

#endif
