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
 * (0.02, 1), T = 57 ms. V/2 and 2 belong together: what is released with V/2 ends with V.
 *
 * Of driven rows, those of a mocap body, u is the speed of the row in any direction, as nothing
 * tells of the body's own, and V at least SAP_DRIVEN_SPEED: then a motion that starts with twice as
 * much, or grows from step to step, is followed as closely as ever. What drives pulls as a hand
 * does, and limits and contacts of what is pulled are harder: the force of a driven row is at most
 *
 *     F = 4 pi^2 V/(w dt)    w = I/((1 - I) D)
 *
 * with the inverse mass w by which the engine weighs the row, where I is its impedance. A contact
 * of the same w carries as much where it is V (dt + tau_d) deep, and is free up to there. What is
 * released pulls with F at rest, and with F (1 - v_c/v_hat) at most: with all of F up to v_hat it
 * would fling an arm that is stretched along the jump, and whose hand can hardly move that way.
 *
 * How a row is held back is said by constraints/release.h: what carries a load lies no deeper. Its
 * inverse mass there is that of A = M + dt D, and goes to zero where damping is implicit: to move a
 * lift with 1e7 N s/m it would push with meganewtons, and shake all that the lift carries. So it is
 * no less than
 *
 *     w_1 = (J y)^2/(y^T M y)    y = diag(M)^-1 J^T
 *
 * the inverse mass of the motion y by itself; of n rows that share one w, the root of the sum of
 * squares over n, as w is |W|_F/n. J M^-1 J^T is no less than that of any motion: what is not
 * damped stays as it is. */
#ifndef SAPWOOD_MODEL_RELEASE_H
#define SAPWOOD_MODEL_RELEASE_H

#include "model/element_gather.h"
#include "model/listed.h"

#define SAP_DRIVEN_SPEED 0.35 /* m/s and rad/s */

/* what the rows of a step are judged by */
struct sap_release {
  const struct sap_forest *forest;
  double dt;
  double speed;       /* V, INFINITY: all rows are free */
  const double *v;    /* (nv) before the step */
  const double *M;    /* as in sap_model_state */
  const double *KBIP; /* as in sap_contact_list */
  const double *D;    /* efc_D of sap_element_state, or NULL */
  int left_out;       /* as in sap_contact_list */
  int *reads_rows;    /* set to 1 where KBIP of a contact or a limit is read, or would be */
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

/* The least inverse mass that a contact of two geoms is held back with. Its own goes to zero near a
 * centre of rotation: it would press as if the body was as heavy as none is, and turn it away. */
static inline double sap_release_mass(const struct sap_forest *forest, const int32_t geom[2]) {
  const double *w = forest->geom_inverse_mass;
  return w ? w[geom[0]] + w[geom[1]] : 0.0;
}

/* The same of the rows of limits and equality constraints that are gathered: elements->release and
 * release_w, where they are not free. */
void sap_release_elements(const struct sap_release *release, struct sap_element_gather *elements);

#endif
