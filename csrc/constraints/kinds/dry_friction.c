/* Dry friction of a joint: |gamma| <= dt f, against the motion. f is a force or torque (N, N m). */
#include "constraints/kinds/row_run.h"

static inline struct sap_row row(const double *p, const struct sap_row_step *step) {
  return (struct sap_row){
      .R = step->R_t, .v_hat = 0, .lower = -step->dt * p[0], .upper = step->dt * p[0]};
}

static int64_t rows(const struct sap_row_run *run, struct sap_row *broken) {
  return sap_fill_rows(row, 1, run, broken);
}

static void slopes(const double *p, const struct sap_row_step *step,
                   struct sap_row by[SAP_ROW_SLOPES]) {
  by[SAP_ROW_BY_R_T].R = 1;
  by[0].lower = -step->dt;
  by[0].upper = step->dt;
  by[SAP_ROW_BY_DT].lower = -p[0];
  by[SAP_ROW_BY_DT].upper = p[0];
}

const struct sap_kind_entry sap_kind_dry_friction = {
    .name = "dry_friction",
    .law = SAP_LAW_CLAMP,
    .most_rows = 1,
    .n_parameters = 1,
    .parameter = {{"f", SAP_NON_NEGATIVE}},
    .stiffness = -1,
    .target = 0,
    .rows = rows,
    .slopes = slopes,
};
