/* Dry friction of a joint opposes the motion: |gamma| <= dt f, f a force or torque (N, N m). Its
 * sigma follows from the slip by slip_sigma.h, with f for the load. */
#include "constraints/kinds/row_run.h"
#include "constraints/kinds/slip_sigma.h"

static inline struct sap_row row(const double *p, const struct sap_row_step *step) {
  const double creep = step->sigma * step->w * step->dt * p[0];
  const double share = sap_creep_share(creep, step->slip_speed);
  return (struct sap_row){.R = sap_sigma_of_slip(step->sigma, share * p[1]) * step->w,
                          .v_hat = 0,
                          .lower = -step->dt * p[0],
                          .upper = step->dt * p[0]};
}

static int64_t rows(const struct sap_row_run *run, struct sap_row *broken) {
  return sap_fill_rows(row, 2, &sap_kind_dry_friction, run, broken);
}

static void slopes(const double *p, const struct sap_row_step *step,
                   struct sap_row by[SAP_ROW_SLOPES]) {
  const struct sap_sigma_slope slope = sap_slope_of_sigma(step->sigma, p[1]);
  const double w = step->R / slope.sigma_i;
  by[SAP_ROW_BY_W].R = slope.sigma_i;
  by[SAP_ROW_BY_SIGMA].R = slope.by_sigma * w;
  by[0].lower = -step->dt;
  by[0].upper = step->dt;
  by[1].R = slope.by_slip_ratio * w;
  by[SAP_ROW_BY_DT].lower = -p[0];
  by[SAP_ROW_BY_DT].upper = p[0];
}

const struct sap_kind_entry sap_kind_dry_friction = {
    .name = "dry_friction",
    .law = SAP_LAW_CLAMP,
    .most_rows = 1,
    .n_parameters = 2,
    .parameter = {{"f", SAP_NON_NEGATIVE}, {"slip_ratio", SAP_SYMMETRIC_BOUND}},
    .stiffness = -1,
    .target = 0,
    .rows = rows,
    .slopes = slopes,
};
