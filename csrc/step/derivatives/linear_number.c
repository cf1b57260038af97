#include "step/derivatives/linear_number.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "step/contacts/material.h"

int sap_linear_takes_numbers(const struct sap_linear_step *linear) {
  return linear->soften == 1.0 && !linear->loads_act && linear->has_whole_blocks;
}

/* ---- frictions ------------------------------------------------------------------------------- */

/* Returns 1 if the friction of contact c follows that of the geom, which changes by `width`. */
static int has_friction(const struct sap_number_slope *slope, const struct sap_gather *gather,
                        int32_t c, double width) {
  const struct sap_listed_contact *contact = gather->contacts + c;
  const int32_t *geom = contact->geom, side = geom[1] == slope->geom;
  const int32_t other = geom[!side];
  if (geom[side] != slope->geom || contact->dim == 1 ||
      sap_is_listed_pair(gather->forest, geom[0], geom[1])) {
    return 0;
  }
  if (slope->priority[slope->geom] != slope->priority[other]) {
    return slope->priority[slope->geom] > slope->priority[other];
  }
  const double mu = slope->friction[3 * (int64_t)slope->geom];
  const double mu_other = slope->friction[3 * (int64_t)other];
  return other == slope->geom || mu > mu_other || (mu == mu_other && width > 0.0);
}

/* Writes the derivatives of mu, 1 where it follows the friction of the geom. */
static void find_frictions(const struct sap_number_slope *slope, const struct sap_gather *gather,
                           double width, double *dmu) {
  for (int32_t c = 0; c < gather->problem.n_contacts && slope->geom >= 0; ++c) {
    dmu[c] = has_friction(slope, gather, c, width);
  }
}

/* ---- gains ----------------------------------------------------------------------------------- */

/* Writes the derivative of the target of the controller by its gain, unless this is off. */
static void find_target(const struct sap_number_slope *slope, const struct sap_gather *gather,
                        const sap_group_differential *by) {
  const struct sap_element_gather *e = &gather->elements;
  for (int32_t g = 0; g < e->n_groups && slope->output >= 0; ++g) {
    for (int64_t i = e->first_row[g]; i < e->first_row[g + 1]; ++i) {
      if (e->label[i].element == SAP_ELEMENT_OUTPUT && e->label[i].index == slope->output) {
        by[g].v_hat[i - e->first_row[g]] =
            slope->force / (gather->dt * e->value[0][i] + e->value[1][i]);
      }
    }
  }
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Adds the changes of R, v_hat and bounds by that of A. */
static sap_status add_regularization(struct sap_linear_step *linear, struct sap_gather *gather,
                                     const struct sap_number_slope *slope,
                                     const sap_differential *change, sap_error *error) {
  const struct sap_mass_change of = {slope->n, slope->rank, slope->dof, slope->U};
  const int32_t tree = sap_mass_slopes_push(&linear->masses, gather, &of, change);
  return tree < 0 ? SAP_OK
                  : sap_fail_whole(error, SAP_NOT_POSITIVE_DEFINITE, SAP_ERROR_TREE, "A", tree, NAN,
                                   "must be positive definite");
}

sap_status sap_linear_number_find(struct sap_linear_step *linear, sap_stepper *stepper,
                                  const struct sap_number_slope *slope, double width, int32_t k,
                                  double *dF, sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  sap_group_differential groups[SAP_ELEMENT_GROUPS];
  const sap_differential change = sap_law_numbers_at_J(&linear->law, groups);
  sap_status status = SAP_OK;
  sap_law_numbers_clear(&linear->law);
  find_frictions(slope, gather, width, change.mu);
  find_target(slope, gather, groups);
  if (slope->n > 0) {
    status = add_regularization(linear, gather, slope, &change, error);
  }
  memcpy(linear->by_number + k * linear->law.n, linear->law.change,
         sizeof(double) * (size_t)linear->law.n);
  memset(dF, 0, sizeof *dF * (size_t)linear->nv);
  for (int32_t i = 0; i < slope->n; ++i) {
    dF[slope->dof[i]] = slope->dp[i];
  }
  return status;
}
