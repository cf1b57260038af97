/* The kinds of kinds.h share this loop over the rows of a group, which inlines the rule of a kind.
 * They also share the spring that most of them are. */
#ifndef SAPWOOD_CONSTRAINTS_KINDS_ROW_RUN_H
#define SAPWOOD_CONSTRAINTS_KINDS_ROW_RUN_H

#include <float.h>
#include <math.h>

#include "base/arithmetic.h"
#include "constraints/kinds/kinds.h"
#include "constraints/kinds/release_row.h"

/* 1/R is finite above this */
static const double sap_least_R = 0x1p-1024;

static inline int sap_row_has_R(const struct sap_row *row) {
  return (row->R > sap_least_R) & (row->R <= DBL_MAX);
}

static inline int sap_row_has_bounds(const struct sap_row *row) {
  return (row->lower <= row->upper) & (row->lower <= DBL_MAX) & (row->upper >= -DBL_MAX);
}

/* Returns a spring and damper that resists g and its rate:
 *
 *     R = max(R_nr, 1/(dt k (dt + tau_d))) (21), v_hat = -g/(dt + tau_d), no bounds */
static inline struct sap_row sap_compliant_row(double g, double k, double tau_d,
                                               const struct sap_row_step *step) {
  const double time = step->dt + tau_d;
  return (struct sap_row){.R = sap_larger(step->R_nr, 1 / (step->dt * k * time)),
                          .v_hat = -g / time,
                          .lower = -INFINITY,
                          .upper = INFINITY};
}

/* Writes the derivatives of sap_compliant_row() with respect to g, k, tau_d and the step. */
static inline void sap_compliant_slopes(double g, double k, double tau_d,
                                        const struct sap_row_step *step,
                                        struct sap_row by[SAP_ROW_SLOPES]) {
  const double time = step->dt + tau_d, R = 1 / (step->dt * k * time);
  by[0].v_hat = -1 / time;
  by[2].v_hat = by[SAP_ROW_BY_DT].v_hat = g / (time * time);
  if (step->R_nr > R) {
    by[SAP_ROW_BY_R_NR].R = 1;
    return;
  }
  by[1].R = -R / k;
  by[2].R = -R / time;
  by[SAP_ROW_BY_DT].R = -R / step->dt - R / time;
}

/* Returns the same, released if k is infinite (release_row.h). */
static inline struct sap_row sap_released_row(double g, double k, double tau_d,
                                              const struct sap_row_step *step) {
  struct sap_row row = sap_compliant_row(g, k, tau_d, step);
  if (isinf(k)) {
    sap_hold_back(step->release, step->most, &row.R, &row.v_hat);
  }
  return row;
}

typedef struct sap_row sap_row_rule(const double *parameter, const struct sap_row_step *step);

/* Implements sap_kind_entry.rows of a kind with the rule `rule` for single rows. */
static inline __attribute__((always_inline)) int64_t
sap_fill_rows(sap_row_rule *rule, const int32_t n_parameters, const struct sap_kind_entry *kind,
              const struct sap_row_run *run, struct sap_row *broken) {
  for (int64_t i = 0; i < run->n; ++i) {
    const double w = run->R[i], R_0 = w / sap_four_pi_squared, R_nr = run->beta * run->beta * R_0;
    const struct sap_row_step step = {
        .dt = run->dt,
        .R_nr = R_nr,
        .sigma = run->sigma,
        .w = w,
        .R = NAN,
        .slip_speed = run->slip_speed ? run->slip_speed[i] : INFINITY,
        .release = run->release ? run->release[i] : INFINITY,
        .most = run->release_impulse ? run->release_impulse[i] : INFINITY};
    double parameter[SAP_MOST_PARAMETERS];
    int holds = (step.release > 0) & (step.most > 0) & (step.slip_speed >= 0);
    for (int32_t k = 0; k < n_parameters; ++k) {
      parameter[k] = run->parameter[k][i];
      holds &= sap_keeps(kind->parameter[k].rule, parameter[k]);
    }
    const struct sap_row row = rule(parameter, &step);
    if (!(holds & sap_row_has_R(&row) & !!isfinite(row.v_hat) & sap_row_has_bounds(&row))) {
      *broken = row;
      return i;
    }
    run->R[i] = row.R;
    run->v_hat[i] = row.v_hat;
    if (run->lower) {
      run->lower[i] = row.lower;
      run->upper[i] = row.upper;
    }
  }
  return run->n;
}

#endif
