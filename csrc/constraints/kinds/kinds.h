/* The table of kinds of clamped rows: what R, v_hat and the bounds follow from. A new kind is one
 * file and one row here. */
#ifndef SAPWOOD_CONSTRAINTS_KINDS_KINDS_H
#define SAPWOOD_CONSTRAINTS_KINDS_KINDS_H

#include <stdint.h>

#include "constraints/pool.h"

enum { SAP_MOST_ROWS = 6, SAP_MOST_PARAMETERS = 7 };

/* what every value of a parameter must obey: sap_rule_text() */
enum sap_rule {
  SAP_FINITE,
  SAP_NON_NEGATIVE, /* and finite */
  SAP_POSITIVE,     /* these may be infinite: */
  SAP_LOWER_BOUND,
  SAP_UPPER_BOUND,
  SAP_SYMMETRIC_BOUND, /* >= 0, of both sides */
  SAP_N_RULES
};

/* the first of n values that breaks a rule, or -1 */
int64_t sap_first_broken(enum sap_rule rule, int64_t n, const double *x);
const char *sap_rule_text(enum sap_rule rule);

struct sap_parameter {
  const char *name;
  enum sap_rule rule;
};

/* what a row needs beside its parameters */
struct sap_row_step {
  double dt;
  double R_nr;    /* near-rigid regularization, beta^2/(4 pi^2) w */
  double R_t;     /* sigma w */
  double release; /* most speed of correction where k is infinite, INFINITY for any */
  double most;    /* impulse at rest of what is held back, INFINITY for any */
};

struct sap_row {
  double R, v_hat, lower, upper;
};

/* rows of a group one after the other, and where they go */
struct sap_row_run {
  int64_t n;
  const double *const *parameter; /* [k] (n) */
  const double *release;          /* (n); NULL: any speed */
  const double *release_impulse;  /* (n) most impulse at rest of what is held back; NULL: any */
  double dt, sigma, beta;
  double *R;             /* (n) w, until it is R */
  double *v_hat;         /* (n) */
  double *lower, *upper; /* (n), or NULL */
};

/* what rows are differentiated by: their parameters, and the numbers of their step */
enum { SAP_ROW_BY_DT = SAP_MOST_PARAMETERS, SAP_ROW_BY_R_NR, SAP_ROW_BY_R_T, SAP_ROW_SLOPES };

/* one kind */
struct sap_kind_entry {
  const char *name;
  enum sap_law_name law;
  int32_t most_rows; /* of one constraint */
  int32_t n_parameters;
  struct sap_parameter parameter[SAP_MOST_PARAMETERS];
  /* parameters that R and v_hat follow from first, for errors; -1: sigma */
  int32_t stiffness, target;
  int released; /* 1 where the rule of release_row.h acts on violations */
  /* fills rows in their order up to the first that breaks the rules of row_run.h, which goes to
   * `broken`; returns how many it filled */
  int64_t (*rows)(const struct sap_row_run *run, struct sap_row *broken);
  /* its derivatives: fills what is not 0 */
  void (*slopes)(const double *parameter, const struct sap_row_step *step,
                 struct sap_row by[SAP_ROW_SLOPES]);
};

/* rows of constraint i of a group */
static inline int32_t sap_rows_of(const sap_constraints *group, int32_t i) {
  return group->size ? group->size[i] : 1;
}

/* the velocity that constraint i moves alone, or -1 */
static inline int32_t sap_dof_of(const sap_constraints *group, int32_t i) {
  return group->dof ? group->dof[i] : -1;
}

extern const struct sap_kind_entry *const sap_kinds[SAP_N_KINDS];

extern const struct sap_kind_entry sap_kind_limit, sap_kind_bilateral, sap_kind_controller,
    sap_kind_dry_friction;

/* the derivatives of sap_compliant_row() by parameters 0 to 2 */
void sap_compliant_slopes(double g, double k, double tau_d, const struct sap_row_step *step,
                          struct sap_row by[SAP_ROW_SLOPES]);

#endif
