/* How fast what starts a step violated is released.
 *
 * A rigid constraint, with an infinite stiffness, that is violated by d is corrected within a step
 * or two, v_hat = d/(dt + tau_d): 5 m/s for 2 cm at 2 ms. What its motion has left since the step
 * before must be, that is how constraints are held. A violation that was there from the start, or
 * that came by a jump of a mocap body, must not: it would be fired. Positions and velocities tell
 * the two apart, as a violation that grows with the speed u leaves about (dt + tau_d) u. So
 *
 *     v_hat <= max(V, 2 u)              free
 *     beyond: v_hat <= max(V/2, d/T)    T = B/K + 1/sqrt(K)
 *
 * with the stiffness K and the damping B of the engine's own correction of the row. From rest that
 * reaches sqrt(K) d/e where it is critically damped, more than d/T: with MuJoCo's default, solref =
 * (0.02, 1), T = 57 ms. V/2 and 2 belong together: what is released with V/2 ends with V. V is a
 * speed in m/s, or in rad/s for rows of angles.
 *
 * How a row is held back is said by constraints/release.h: the speed is bounded and the support is
 * not, so that no load passes. Two kinds of rows have a bound on their impulse at rest all the
 * same:
 *
 * Driven rows, those of a mocap body, pull as a hand does, and limits and contacts of what is
 * pulled are harder. Their u is the speed of the row in any direction, as nothing tells of the
 * body's own, and their V is larger by SAP_DRIVEN. The force is at most
 *
 *     F = 4 pi^2 V/(w dt)    w = I/((1 - I) D)
 *
 * with the inverse mass w by which the engine weighs the row, where I is its impedance. A contact
 * of the same w carries as much where it is V (dt + tau_d) deep, and is free up to there. What is
 * released pulls with F at rest, and with F (1 - v_c/v_hat) at most: with all of F up to v_hat it
 * would fling an arm that is stretched along the jump, and whose hand can hardly move that way.
 *
 * Rows of what is damped implicitly: their inverse mass is that of A = M + dt D, which goes to
 * zero. To move a lift with 1e7 N s/m they would push with meganewtons, and shake all that the
 * lift carries. Of the motion y = diag(M)^-1 J^T by itself,
 *
 *     w_1 = (J y)^2/(y^T M y)     gamma_1 = -y^T A dv/(J y)
 *
 * are the inverse mass without damping, and the impulse that holds the change dv of the velocity by
 * all other forces. Where y^T A y > 2 y^T M y the impulse at rest is at most
 *
 *     max(4 pi^2 min(d/(dt + tau_d), SAP_HELD V)/w_1, 2 gamma_1)
 *
 * Of n rows that share one w, w_1 is the root of the sum of squares over n, as w is |W|_F/n. */
#ifndef SAPWOOD_STEP_JOINTS_RELEASE_H
#define SAPWOOD_STEP_JOINTS_RELEASE_H

#include "step/joints/element_gather.h"
#include "step/dynamics/free_motion.h"
#include "step/contacts/listed_contact.h"

/* V of driven rows, and the full correction up to which damped ones get stronger, in V */
#define SAP_DRIVEN 3.5
#define SAP_HELD 5.0

/* what the rows of a step are judged by */
struct sap_release {
  const struct sap_forest *forest;
  double dt;
  double speed, rate;   /* V, m/s and rad/s; INFINITY: all rows are free */
  const double *v;      /* (nv) before the step */
  const double *M;      /* as in sap_model_state */
  const double *A;      /* as in sap_free_motion */
  const double *change; /* (nv) dv */
  double *motion;       /* (nv) room for y = diag(M)^-1 J^T of a row */
  const double *KBIP;   /* as in sap_contact_list */
  const double *D;      /* efc_D of sap_element_state, or NULL */
  int left_out;         /* as in sap_contact_list */
  int *reads_rows;      /* set to 1 where KBIP of a contact or a limit is read, or would be */
};

/* a violated row at the start of a step */
struct sap_violation {
  double depth;       /* m or rad, >= 0 */
  double full;        /* speed of its full correction, depth/(dt + tau_d) */
  double growth;      /* of the depth, by the velocities at the start of the step */
  int driven;         /* by a body that moves as it is told */
  const double *KBIP; /* (4) of its row, or NULL */
};

/* most v_hat of a row; INFINITY where it is free */
double sap_release_of(const struct sap_violation *row, double speed);

/* F of a driven row with the V of `speed` */
double sap_driven_force(double dt, double speed, double D, double I);

/* The same of a contact that overlaps by `depth`, with J (3 rows of each of its trees). */
double sap_release_contact(const struct sap_release *release,
                           const struct sap_listed_contact *contact, const int32_t trees[2],
                           const double *J, double depth, double tau_d);

/* The same of the rows of limits and equality constraints that are gathered: elements->release and
 * release_impulse, where they are not free. */
void sap_release_elements(const struct sap_release *release, struct sap_element_gather *elements);

#endif
