#include "constraints/kinds/kinds.h"

#include <float.h>
#include <math.h>

const struct sap_kind_entry *const sap_kinds[SAP_N_KINDS] = {
    [SAP_LIMIT] = &sap_kind_limit,
    [SAP_BILATERAL] = &sap_kind_bilateral,
    [SAP_CONTROLLER] = &sap_kind_controller,
    [SAP_DRY_FRICTION] = &sap_kind_dry_friction,
};

int64_t sap_first_broken(enum sap_rule rule, int64_t n, const double *x) {
  static const struct {
    double least, most;
  } range[SAP_N_RULES] = {
      [SAP_FINITE] = {-DBL_MAX, DBL_MAX},        [SAP_NON_NEGATIVE] = {0, DBL_MAX},
      [SAP_POSITIVE] = {DBL_TRUE_MIN, INFINITY}, [SAP_LOWER_BOUND] = {-INFINITY, DBL_MAX},
      [SAP_UPPER_BOUND] = {-DBL_MAX, INFINITY},  [SAP_SYMMETRIC_BOUND] = {0, INFINITY},
  };
  const double least = range[rule].least, most = range[rule].most;
  int64_t broken = 0, i = 0;
  for (int64_t k = 0; k < n; ++k) {
    broken += !((x[k] >= least) & (x[k] <= most));
  }
  while (broken > 0 && x[i] >= least && x[i] <= most) {
    ++i;
  }
  return broken > 0 ? i : -1;
}

const char *sap_rule_text(enum sap_rule rule) {
  static const char *const text[SAP_N_RULES] = {
      [SAP_FINITE] = "must be finite",
      [SAP_NON_NEGATIVE] = "must be finite and >= 0",
      [SAP_POSITIVE] = "must be > 0",
      [SAP_LOWER_BOUND] = "must be below infinity",
      [SAP_UPPER_BOUND] = "must be above -infinity",
      [SAP_SYMMETRIC_BOUND] = "must be >= 0",
  };
  return text[rule];
}

void sap_compliant_slopes(double g, double k, double tau_d, const struct sap_row_step *step,
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

const char *sap_kind_name(sap_kind kind) {
  return kind < SAP_N_KINDS ? sap_kinds[kind]->name : "unknown kind";
}

int32_t sap_kind_parameters(sap_kind kind) {
  return kind < SAP_N_KINDS ? sap_kinds[kind]->n_parameters : 0;
}

const char *sap_kind_parameter(sap_kind kind, int32_t parameter) {
  return 0 <= parameter && parameter < sap_kind_parameters(kind)
             ? sap_kinds[kind]->parameter[parameter].name
             : "unknown parameter";
}

const char *sap_kind_rule(sap_kind kind, int32_t parameter) {
  return 0 <= parameter && parameter < sap_kind_parameters(kind)
             ? sap_rule_text(sap_kinds[kind]->parameter[parameter].rule)
             : "unknown parameter";
}
