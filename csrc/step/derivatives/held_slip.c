#include "step/derivatives/held_slip.h"

#include <math.h>
#include <string.h>

#include "constraints/kinds/slip_sigma.h"
#include "step/joints/release.h"
#include "step/step_tuning.h"

/* Returns 1 if sigma is constant at this slip ratio of the centre. */
static int is_constant(double centre) { return centre == 0.0 || centre >= 1.0; }

/* Keeps the slip ratio of the centre, 0 or at least 1 where sigma is constant, or holds another. In
 * between it makes 1/sigma linear in the slip: differences then have no curvature, even if they are
 * as wide as the slip. */
static void hold_ratio(double sigma, int keep, double *centre, double *ratio) {
  if (keep) {
    *centre = sigma * *ratio > sap_least_sigma ? *ratio : 0.0;
    *ratio = *centre;
  } else if (is_constant(*centre)) {
    *ratio = *centre;
  } else {
    *ratio = *centre / fmax(2.0 - *ratio / *centre, sap_least_sigma_share);
  }
}

/* Keeps the direction of the slip of contact i, whose rows begin at J, or replaces its slip ratio
 * at another state by the part of the slip along that direction. */
static void hold_direction(const struct sap_gather *gather, int32_t i, const double *J, int keep,
                           double direction[2], double *ratio) {
  const int32_t trees[2] = {gather->problem.tree_a[i], gather->problem.tree_b[i]};
  double slip[2];
  for (int r = 0; r < 2; ++r) {
    slip[r] = sap_row_velocity(gather->forest, trees, 3, r, J, gather->free_motion.v_0) -
              gather->v_hat_t[2 * (int64_t)i + r];
  }
  if (keep) {
    const double speed = hypot(slip[0], slip[1]);
    direction[0] = speed > 0.0 ? slip[0] / speed : 0.0;
    direction[1] = speed > 0.0 ? slip[1] / speed : 0.0;
  } else {
    *ratio = (slip[0] * direction[0] + slip[1] * direction[1]) / gather->slip_speed;
  }
}

/* Returns the length of the rows of contact i. */
static int64_t length_of(const struct sap_gather *gather, int32_t i) {
  const int32_t *n = gather->forest->tree_dofnum, b = gather->problem.tree_b[i];
  return 3 * ((int64_t)n[gather->problem.tree_a[i]] + (b < 0 ? 0 : n[b]));
}

static void hold_contacts(const struct sap_held_slip *held, struct sap_gather *gather, int keep) {
  const int32_t n =
      gather->problem.n_contacts < held->n_contacts ? gather->problem.n_contacts : held->n_contacts;
  const double *J = gather->problem.J;
  for (int32_t i = 0; i < n; J += length_of(gather, i), ++i) {
    const int64_t at = 2 * (int64_t)i;
    double *ratio = gather->slip_ratio + i;
    if (!keep && memcmp(held->geom + at, gather->contacts[i].geom, 2 * sizeof(int32_t)) != 0) {
      continue;
    }
    if (keep || !is_constant(held->contact[i])) {
      hold_direction(gather, i, J, keep, held->direction + at, ratio);
    }
    hold_ratio(gather->parameters.sigma, keep, held->contact + i, ratio);
  }
}

void sap_hold_slip(const struct sap_held_slip *held, struct sap_gather *gather, int keep) {
  const struct sap_element_gather *e = &gather->elements;
  if (gather->slip_speed > 0.0) {
    hold_contacts(held, gather, keep);
  }
  for (int32_t g = 0; g < e->n_groups; ++g) {
    const int64_t end = e->first_row[g + 1] <= held->n_rows ? e->first_row[g + 1] : 0;
    for (int64_t i = e->first_row[g]; i < end && e->groups[g].kind == SAP_DRY_FRICTION; ++i) {
      hold_ratio(gather->parameters.sigma, keep, held->row + i, e->value[1] + i);
    }
  }
}
