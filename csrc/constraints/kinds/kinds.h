/* This table lists the kinds of clamped rows, from whose parameters R, v_hat and the bounds follow.
 * A new kind is one file and one row here. */
#ifndef SAPWOOD_CONSTRAINTS_KINDS_KINDS_H
#define SAPWOOD_CONSTRAINTS_KINDS_KINDS_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "constraints/pool.h"

enum { SAP_MOST_ROWS = 6, SAP_MOST_PARAMETERS = 7 };

/* Rule for every value of a parameter, see sap_rule_text(). */
enum sap_rule {
  SAP_FINITE,
  SAP_NON_NEGATIVE, /* >= 0 and finite */
  SAP_POSITIVE,     /* this and the following may be infinite */
  SAP_LOWER_BOUND,
  SAP_UPPER_BOUND,
  SAP_SYMMETRIC_BOUND, /* >= 0, the bound on both sides */
  SAP_N_RULES
};

/* Returns 1 if a value keeps a rule. */
static inline int sap_keeps(enum sap_rule rule, double x) {
  const double least = rule == SAP_POSITIVE                                      ? DBL_TRUE_MIN
                       : rule == SAP_NON_NEGATIVE || rule == SAP_SYMMETRIC_BOUND ? 0
                       : rule == SAP_LOWER_BOUND                                 ? -INFINITY
                                                                                 : -DBL_MAX;
  const int is_finite = rule == SAP_FINITE || rule == SAP_NON_NEGATIVE || rule == SAP_LOWER_BOUND;
  return (x >= least) & (x <= (is_finite ? DBL_MAX : INFINITY));
}

/* Returns the first of n values that breaks a rule, or -1. */
int64_t sap_first_broken(enum sap_rule rule, int64_t n, const double *x);
const char *sap_rule_text(enum sap_rule rule);

struct sap_parameter {
  const char *name;
  enum sap_rule rule;
};

/* Numbers that a row needs besides its parameters. */
struct sap_row_step {
  double dt;
  double R_nr;       /* near-rigid regularization, beta^2/(4 pi^2) w */
  double sigma;      /* regularization of dry friction */
  double w;          /* inverse effective mass, 1/kg or 1/(kg m^2); read by the rows only */
  double R;          /* R of the row; read by the slopes only */
  double release;    /* largest speed of correction for infinite k, INFINITY for any */
  double slip_speed; /* V_s, INFINITY for none; read by the rows of dry friction only */
  double most;       /* N s, largest impulse at rest of a held-back row, INFINITY for any */
};

struct sap_row {
  double R, v_hat, lower, upper;
};

/* Rows of a group, one after the other, and their results. */
struct sap_row_run {
  int64_t n;
  const double *const *parameter; /* [k] (n) */
  const double *release;          /* (n) largest speed of correction; NULL for any */
  /* (n) N s, largest impulse at rest of a held-back row; NULL for any */
  const double *release_impulse;
  const double *slip_speed; /* (n) V_s; NULL for none */
  double dt, sigma, beta;
  double *R;             /* (n) w on entry, R on return */
  double *v_hat;         /* (n) */
  double *lower, *upper; /* (n), or NULL */
};

/* Rows are differentiated by their parameters and by the numbers of their step. */
enum {
  SAP_ROW_BY_DT = SAP_MOST_PARAMETERS,
  SAP_ROW_BY_R_NR,
  SAP_ROW_BY_W,
  SAP_ROW_BY_SIGMA,
  SAP_ROW_SLOPES
};

/* Entry of one kind. */
struct sap_kind_entry {
  const char *name;
  enum sap_law_name law;
  int32_t most_rows; /* rows of one constraint */
  int32_t n_parameters;
  struct sap_parameter parameter[SAP_MOST_PARAMETERS];
  /* parameters on which R and v_hat depend first, for errors; -1 for sigma */
  int32_t stiffness, target;
  int released; /* 1 if the rule of release_row.h acts on violations */
  /* fills rows in order up to the first that breaks the rules of row_run.h or whose parameters
   * break theirs, which goes to `broken`; returns the number of filled rows */
  int64_t (*rows)(const struct sap_row_run *run, struct sap_row *broken);
  /* fills the derivatives that are not 0 */
  void (*slopes)(const double *parameter, const struct sap_row_step *step,
                 struct sap_row by[SAP_ROW_SLOPES]);
};

/* Returns the number of rows of constraint i of a group. */
static inline int32_t sap_rows_of(const sap_constraints *group, int32_t i) {
  return group->size ? group->size[i] : 1;
}

/* Returns the only velocity that constraint i moves, or -1. */
static inline int32_t sap_dof_of(const sap_constraints *group, int32_t i) {
  return group->dof ? group->dof[i] : -1;
}

extern const struct sap_kind_entry *const sap_kinds[SAP_N_KINDS];

extern const struct sap_kind_entry sap_kind_limit, sap_kind_bilateral, sap_kind_controller,
    sap_kind_dry_friction;

#endif
