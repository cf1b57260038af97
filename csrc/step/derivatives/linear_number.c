#include "step/derivatives/linear_number.h"

#include <string.h>

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

/* Adds `width` to the coefficients that follow the friction of the geom. Returns 1 if any does. */
static int move_friction(const struct sap_number_slope *slope, struct sap_gather *gather,
                         double sign, double width) {
  int any = 0;
  for (int32_t c = 0; c < gather->problem.n_contacts && slope->geom >= 0; ++c) {
    if (has_friction(slope, gather, c, sign)) {
      gather->mu[c] += width;
      any = 1;
    }
  }
  return any;
}

/* ---- gains ----------------------------------------------------------------------------------- */

/* Adds the change by the gain to the target of the controller. Returns 0 if this is off. */
static int move_target(const struct sap_number_slope *slope, const struct sap_gather *gather,
                       double width) {
  const struct sap_element_gather *g = &gather->elements;
  for (int64_t i = 0; i < g->n_rows && slope->output >= 0; ++i) {
    if (g->label[i].element == SAP_ELEMENT_OUTPUT && g->label[i].index == slope->output) {
      g->v_hat[i] += width * slope->force / (gather->dt * g->value[0][i] + g->value[1][i]);
      return 1;
    }
  }
  return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Writes the residual without p. */
static sap_status find_impulses(const struct sap_linear_step *linear, sap_stepper *stepper,
                                double *F, sap_error *error) {
  sap_problem problem = stepper->gather.problem;
  problem.v_star = linear->v;
  return sap_solver_gradient(stepper->solver, &problem, linear->v, F, error);
}

/* Changes the gathered problem by `width`, finds the residual without p, and changes it back. Sets
 * *any to 0, with nothing found, if the problem has no such number. */
static sap_status find_changed(const struct sap_linear_step *linear, sap_stepper *stepper,
                               const struct sap_number_slope *slope, double width, double *F,
                               int *any, sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  sap_status status = SAP_OK;
  if (slope->n > 0) {
    move_mass(linear, &gather->free_motion, slope, width);
    status = sap_stepper_regularize(stepper, error);
    status = status == SAP_OK ? find_impulses(linear, stepper, F, error) : status;
    move_mass(linear, &gather->free_motion, slope, 0.0);
  } else if (move_friction(slope, gather, width, width)) {
    status = find_impulses(linear, stepper, F, error);
    move_friction(slope, gather, width, -width);
  } else if (move_target(slope, gather, width)) {
    status = find_impulses(linear, stepper, F, error);
    move_target(slope, gather, -width);
  } else {
    *any = 0;
  }
  return status;
}

sap_status sap_linear_number_find(const struct sap_linear_step *linear, sap_stepper *stepper,
                                  const struct sap_number_slope *slope, double width, double *dF,
                                  sap_error *error) {
  int any = 1;
  memset(dF, 0, sizeof *dF * (size_t)linear->nv);
  const sap_status status = find_changed(linear, stepper, slope, width, dF, &any, error);
  for (int32_t i = 0; i < linear->nv && any; ++i) {
    dF[i] = (dF[i] + linear->J_gamma[i]) / width;
  }
  for (int32_t i = 0; i < slope->n; ++i) {
    dF[slope->dof[i]] += slope->dp[i];
  }
  return status;
}
