/* Bounds of the differences of a linearized step, which stay within a region of the contact law
 * (linear_step.h).
 *
 * A small change of the position by h moves the target velocity v_hat of a row by |J| h/(dt +
 * tau_d), and J v by |J| h |v|. So h is at most a tenth of what brings a row to another region, or
 * the gap of a contact that acts to another sign: an open contact has another dissipation time
 * (gather.h). Along a motion x a row moves by |J x| h, which is far less where the contacts hold,
 * and by the curvature of its path, sum |J_i x_i| max |x_i| h^2; changes of J are left out.
 *
 * Ownership: all arrays are the caller's. */
#ifndef SAPWOOD_STEP_DERIVATIVES_DIFFERENCE_BOUNDS_H
#define SAPWOOD_STEP_DERIVATIVES_DIFFERENCE_BOUNDS_H

#include "step/gather.h"

struct sap_difference_bounds {
  const struct sap_gather *gather; /* the step, with R and v_hat */
  const double *v;                 /* (nv) velocity at its end */
  double *most;     /* (nv) output: largest change of each position, m or rad; NULL: along x */
  double *gap_way;  /* (n_contacts) largest change of the gap, m; found with `most` */
  double *turn_way; /* (n_contacts) largest change of positions by which J may turn; likewise */
  double *rate;     /* (nv) largest |J|/way of rows whose only entry is at a velocity; likewise */
  const double *x;  /* (nv) a motion, per unit of its width */
  double size;      /* largest entry of x */
  double reach;     /* output: reciprocal of the largest width along x */
  double distance;  /* output with `most`: smallest distance of a contact or row; INFINITY: none */
  int32_t n_acting; /* output with `most`: contacts with an impulse */
};

/* Finds the bounds, of each position or, without `most`, of x, from the results of
 * sap_sensitivity_regions(). */
void sap_bound_differences(struct sap_difference_bounds *bounds, const int8_t *regions,
                           const double *distance, const double *row_distance);

/* Writes J v of contact c, whose blocks of J begin at *J, and where the block of each side begins.
 * Advances *J. Returns the largest speed of its trees. */
double sap_contact_velocity(const struct sap_gather *gather, const double *v, int32_t c,
                            const double **J, const double *side_J[2], double v_c[3]);

#endif
