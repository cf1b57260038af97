/* A limit of a joint, or a contact without friction, can only push. phi0 is the distance to it (m
 * or rad), negative beyond it; the row of J is the rate of that distance. */
#include "constraints/kinds/row_run.h"

static inline struct sap_row row(const double *p, const struct sap_row_step *step) {
  struct sap_row limit = p[0] < 0 ? sap_released_row(p[0], p[1], p[2], step)
                                  : sap_compliant_row(p[0], p[1], p[2], step);
  limit.lower = 0;
  return limit;
}

static int64_t rows(const struct sap_row_run *run, struct sap_row *broken) {
  return sap_fill_rows(row, 3, &sap_kind_limit, run, broken);
}

static void slopes(const double *p, const struct sap_row_step *step,
                   struct sap_row by[SAP_ROW_SLOPES]) {
  sap_compliant_slopes(p[0], p[1], p[2], step, by);
}

const struct sap_kind_entry sap_kind_limit = {
    .name = "limit",
    .law = SAP_LAW_CLAMP,
    .most_rows = 1,
    .n_parameters = 3,
    .parameter = {{"phi0", SAP_FINITE}, {"k", SAP_POSITIVE}, {"tau_d", SAP_NON_NEGATIVE}},
    .stiffness = 1,
    .target = 0,
    .released = 1,
    .rows = rows,
    .slopes = slopes,
};
