/* The release: an upper limit on the speed at which an initial violation is corrected.
 *
 * A rigid constraint, with an infinite stiffness, corrects a violation d within a step or two,
 * v_hat = d/(dt + tau_d): 5 m/s for 2 cm at 2 ms. Violations that come from the motion since the
 * step before must be corrected so, because that is how constraints hold. A violation that was
 * there from the start, or that came by a jump of a mocap body, would fire the bodies apart.
 * Positions and velocities tell the two apart: a violation that grows with the speed u amounts to
 * about (dt + tau_d) u. So
 *
 *     v_hat <= max(V, 2 u)              free
 *     beyond: v_hat <= max(V/2, d/T)    T = B/K + 1/sqrt(K)
 *
 * with the stiffness K and the damping B of the engine's own correction of the row. That correction
 * reaches sqrt(K) d/e from rest if it is critically damped, more than d/T. MuJoCo's default, solref
 * = (0.02, 1), gives T = 57 ms. V/2 and 2 belong together: a release with V/2 ends with V. V is a
 * speed in m/s, or in rad/s for rows of angles.
 *
 * A contact or a limit between max(V, u) and max(V, 2 u) was found late, and is corrected with
 * max(V, u). What parts no faster than it has come gains no energy: a contact without friction adds
 * no more than
 *
 *     gamma (max(V, d/T) - u)/2
 *
 * to the energy in a step, if it acts alone.
 *
 * constraints/release.h says how a row is held back: the speed has a bound and the support has
 * none, so that no load passes. Two kinds of rows have a bound on their impulse at rest all the
 * same:
 *
 * Driven rows, those of a mocap body, pull as a hand does; the limits and contacts of the pulled
 * body are harder. Their u is the speed of the row in any direction, because the body's own speed
 * is unknown. Their V is larger by the factor SAP_DRIVEN. The force is at most
 *
 *     F = 4 pi^2 V/(w dt)    w = I/((1 - I) D)
 *
 * where w is the inverse mass by which the engine weighs the row, and I its impedance. A contact of
 * the same w carries as much at the depth V (dt + tau_d), and is free up to there. A released row
 * pulls with F at rest, and with F (1 - v_c/v_hat) at most. With all of F up to v_hat it would
 * fling an arm that is stretched along the jump and can hardly move that way.
 *
 * Rows with implicit damping: their inverse mass is that of A = M + dt D, which goes to zero. To
 * move a lift with 1e7 N s/m they would push with meganewtons, and shake all that the lift carries.
 * The motion y = diag(M)^-1 J^T gives
 *
 *     w_1 = (J y)^2/(y^T M y)     gamma_1 = -y^T A dv/(J y)
 *
 * the inverse mass without damping, and the impulse that holds the change dv of the velocity by all
 * other forces. Where y^T A y > 2 y^T M y the impulse at rest is at most
 *
 *     max(4 pi^2 min(d/(dt + tau_d), SAP_HELD V)/w_1, 2 gamma_1)
 *
 * If n rows share one w, w_1 is the root of the sum of squares over n, as w is |W|_F/n. */
#ifndef SAPWOOD_STEP_JOINTS_RELEASE_H
#define SAPWOOD_STEP_JOINTS_RELEASE_H

#include "step/joints/element_gather.h"
#include "step/dynamics/free_motion.h"
#include "step/contacts/listed_contact.h"

/* In units of V: V of driven rows; full correction up to which damped rows become stronger. */
#define SAP_DRIVEN 3.5
#define SAP_HELD 5.0

/* The quantities of a step from which the release of its rows follows. */
struct sap_release {
  const struct sap_forest *forest;
  double dt;
  double speed, rate;           /* V, m/s and rad/s; INFINITY: all rows are free */
  const double *v;              /* (nv) velocity before the step */
  const double *M;              /* as in sap_model_state */
  const double *A;              /* as in sap_free_motion */
  const double *change;         /* (nv) velocity change dv */
  double *motion;               /* (nv) workspace for y = diag(M)^-1 J^T of a row */
  sap_correction_rate *rate_of; /* `rate` of sap_contact_list */
  const void *engine;           /* as there */
  const double *D, *KBIP;       /* efc_D and efc_KBIP of sap_element_state, or NULL */
};

/* A violated row at the start of a step. */
struct sap_violation {
  double depth;  /* violation, m or rad, >= 0 */
  double full;   /* speed of its full correction, depth/(dt + tau_d) */
  double growth; /* rate of the violation at the start of the step, m/s or rad/s */
  double rate;   /* 1/T, 1/s; 0 if it is not known */
  int one_sided; /* 1 for a contact or a limit */
  int driven;    /* 1 for a row of a body that moves as prescribed */
};

/* Returns the upper limit of v_hat of a row; INFINITY if it is free. */
double sap_release_of(const struct sap_violation *row, double speed);

/* Returns F of a driven row whose V is `speed`. */
double sap_driven_force(double dt, double speed, double D, double I);

/* Returns the velocity of row r of a constraint of `size` rows in one or two trees. */
double sap_row_velocity(const struct sap_forest *forest, const int32_t trees[2], int32_t size,
                        int32_t r, const double *J, const double *v);

/* Returns the upper limit of v_hat of a contact with the overlap `depth`. J has 3 rows of each of
 * its trees. */
double sap_release_contact(const struct sap_release *release,
                           const struct sap_listed_contact *contact, const int32_t trees[2],
                           const double *J, double depth, double tau_d);

/* Sets elements->release and release_impulse of the gathered rows of limits and equality
 * constraints, where they are not free. */
void sap_release_elements(const struct sap_release *release, struct sap_element_gather *elements);

#endif
