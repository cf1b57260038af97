#include "constraints/kinds/kinds.h"

const struct sap_kind_entry *const sap_kinds[SAP_N_KINDS] = {
    [SAP_LIMIT] = &sap_kind_limit,
    [SAP_BILATERAL] = &sap_kind_bilateral,
    [SAP_CONTROLLER] = &sap_kind_controller,
    [SAP_DRY_FRICTION] = &sap_kind_dry_friction,
};

int64_t sap_first_broken(enum sap_rule rule, int64_t n, const double *x) {
  int64_t i = 0;
  while (i < n && sap_keeps(rule, x[i])) {
    ++i;
  }
  return i < n ? i : -1;
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
