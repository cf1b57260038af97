/* A bilateral constraint g(q) = 0 has 1 to 6 rows: ball, weld, distance, coupler, loop closure. The
 * rows of J are the rates of g. Bounds on its force (N, N m) make a joint that slips, or breaks
 * while they are exceeded; for a cable under tension both lie on one side of 0. */
#include "constraints/kinds/row_run.h"

static inline struct sap_row row(const double *p, const struct sap_row_step *step) {
  struct sap_row bilateral = sap_released_row(p[0], p[1], p[2], step);
  bilateral.lower = step->dt * p[3];
  bilateral.upper = step->dt * p[4];
  return bilateral;
}

static int64_t rows(const struct sap_row_run *run, struct sap_row *broken) {
  return sap_fill_rows(row, 5, &sap_kind_bilateral, run, broken);
}

static void slopes(const double *p, const struct sap_row_step *step,
                   struct sap_row by[SAP_ROW_SLOPES]) {
  sap_compliant_slopes(p[0], p[1], p[2], step, by);
  by[3].lower = by[4].upper = step->dt;
  by[SAP_ROW_BY_DT].lower = p[3];
  by[SAP_ROW_BY_DT].upper = p[4];
}

const struct sap_kind_entry sap_kind_bilateral = {
    .name = "bilateral",
    .law = SAP_LAW_CLAMP,
    .most_rows = SAP_MOST_ROWS,
    .n_parameters = 5,
    .parameter = {{"g", SAP_FINITE},
                  {"k", SAP_POSITIVE},
                  {"tau_d", SAP_NON_NEGATIVE},
                  {"force_lower", SAP_LOWER_BOUND},
                  {"force_upper", SAP_UPPER_BOUND}},
    .stiffness = 1,
    .target = 0,
    .released = 1,
    .rows = rows,
    .slopes = slopes,
};
