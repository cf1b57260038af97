#include "step/derivatives/linear_number.h"

#include "step/contacts/material.h"

int sap_linear_takes_numbers(const struct sap_linear_step *linear) {
  return linear->soften == 1.0 && !linear->loads_act;
}

/* ---- masses ---------------------------------------------------------------------------------- */

/* Returns the tree of a velocity, and where its block of A begins. */
static int32_t find_tree(const sap_forest *forest, int32_t dof, int64_t *begin) {
  int32_t t = 0;
  *begin = 0;
  for (; dof >= forest->tree_dofadr[t] + forest->tree_dofnum[t]; ++t) {
    *begin += (int64_t)forest->tree_dofnum[t] * forest->tree_dofnum[t];
  }
  return t;
}

/* Returns the place in A of the derivative by velocities i and j. */
static int64_t find_place(const sap_forest *forest, const struct sap_number_slope *slope,
                          int32_t tree, int64_t begin, int32_t i, int32_t j) {
  const int32_t first = forest->tree_dofadr[tree];
  return begin + (slope->dof[i] - first) * (int64_t)forest->tree_dofnum[tree] + slope->dof[j] -
         first;
}

/* Sets the entries of A that have a derivative to those of the centre plus `width` times it. The
 * inverse factor of the block is then unknown. */
static void move_mass(const struct sap_linear_step *linear, struct sap_free_motion *motion,
                      const struct sap_number_slope *slope, double width) {
  int64_t begin;
  const int32_t tree = find_tree(linear->forest, slope->dof[0], &begin);
  for (int32_t i = 0; i < slope->n; ++i) {
    for (int32_t j = 0; j < slope->n; ++j) {
      const int64_t at = find_place(linear->forest, slope, tree, begin, i, j);
      motion->A[at] = linear->A[at] + width * slope->dA[(int64_t)i * slope->n + j];
    }
  }
  motion->S[tree] = NULL;
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

/* Finds the changes of R, v_hat and bounds by that of A. */
static sap_status find_regularization(struct sap_linear_step *linear, sap_stepper *stepper,
                                      const struct sap_number_slope *slope, double width,
                                      sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  move_mass(linear, &gather->free_motion, slope, width);
  const sap_status status = sap_stepper_regularize(stepper, error);
  move_mass(linear, &gather->free_motion, slope, 0.0);
  if (status == SAP_OK) {
    sap_law_numbers_subtract(&linear->law, gather);
  }
  return status;
}

sap_status sap_linear_number_find(struct sap_linear_step *linear, sap_stepper *stepper,
                                  const struct sap_number_slope *slope, double width, double *dF,
                                  sap_error *error) {
  /* changes are found for this change of the number */
  const double unit = slope->n > 0 ? width : 1.0;
  sap_group_differential groups[SAP_ELEMENT_GROUPS];
  const sap_differential change = sap_law_numbers_at_J(&linear->law, groups);
  sap_status status = SAP_OK;
  if (slope->n > 0) {
    status = find_regularization(linear, stepper, slope, width, error);
  } else {
    sap_law_numbers_clear(&linear->law);
    find_frictions(slope, &stepper->gather, width, change.mu);
    find_target(slope, &stepper->gather, groups);
  }
  if (status == SAP_OK) {
    status = sap_sensitivity_momentum(linear->sensitivity, &change, 0, dF, error);
  }
  for (int32_t i = 0; i < linear->nv && status == SAP_OK; ++i) {
    dF[i] *= -1.0 / unit;
  }
  for (int32_t i = 0; i < slope->n && status == SAP_OK; ++i) {
    dF[slope->dof[i]] += slope->dp[i];
  }
  return status;
}
