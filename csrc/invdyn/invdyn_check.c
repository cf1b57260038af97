#include "invdyn/invdyn_check.h"

#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/fail.h"
#include "invdyn/coulomb_lcp.h"
#include "invdyn/invdyn_tuning.h"

/* largest sizes for which indices fit */
enum { MOST_VELOCITIES = 10000, MOST_EDGES = 200000 };

sap_status invdyn_check_sizes(const invdyn_settings *settings, const invdyn_problem *p,
                              sap_error *error) {
  const struct sap_scalar_rule rules[] = {
      {"m", p->m, p->m >= 0 && p->m <= MOST_VELOCITIES, "must be from 0 to 10000"},
      {"n_q", p->n_q, p->n_q >= 0 && p->n_q <= p->m, "must be from 0 to m"},
      {"n", p->n, p->n >= 0 && p->n <= MOST_EDGES / settings->edges,
       "must be from 0 to 200000 / edges"},
      {"n", p->n, settings->controller != INVDYN_LCP_NEAREST || p->n <= INVDYN_NEAREST_CONTACTS,
       "must be at most 2 for the nearest torques"},
  };
  return sap_check_rules(rules, sizeof rules / sizeof *rules, error);
}

static sap_status check_actuated(const invdyn_problem *problem, int32_t *mark, sap_error *error) {
  memset(mark, 0, (size_t)problem->m * sizeof(int32_t));
  for (int32_t i = 0; i < problem->n_q; ++i) {
    const int32_t at = problem->actuated[i];
    if (at < 0 || at >= problem->m) {
      return sap_invalid(error, "actuated", i, at, "must be a velocity, from 0 to m - 1");
    }
    if (mark[at]++) {
      return sap_invalid(error, "actuated", i, at, "must name a velocity once");
    }
  }
  return SAP_OK;
}

static sap_status check_limits(const invdyn_settings *settings, const invdyn_problem *problem,
                               sap_error *error) {
  if (problem->torque_limit &&
      (settings->controller == INVDYN_LCP_NOSLIP || invdyn_is_coulomb(settings))) {
    return sap_invalid(error, "torque_limit", -1, NAN, "is for convex controllers alone");
  }
  for (int32_t i = 0; problem->torque_limit && i < problem->n_q; ++i) {
    if (!(problem->torque_limit[i] > 0.0)) {
      return sap_invalid(error, "torque_limit", i, problem->torque_limit[i], "must be > 0");
    }
  }
  return SAP_OK;
}

sap_status invdyn_check_arrays(const invdyn_settings *settings, const invdyn_problem *problem,
                               int32_t *mark, sap_error *error) {
  const int64_t m = problem->m, n = problem->n;
  const struct {
    const char *name;
    const double *values;
    int64_t length;
  } arrays[] = {
      {"M", problem->M, m * m},     {"h", problem->h, m},
      {"v", problem->v, m},         {"qdd", problem->qdd, problem->n_q},
      {"J_n", problem->J_n, n * m}, {"J_t", problem->J_t, 2 * n * m},
      {"mu", problem->mu, n},       {"phi", problem->phi, problem->phi ? n : 0},
  };
  if (!(problem->dt > 0.0 && problem->dt < INFINITY)) {
    return sap_invalid(error, "dt", -1, problem->dt, "must be finite and > 0");
  }
  sap_status status = check_actuated(problem, mark, error);
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays && status == SAP_OK; ++i) {
    status = sap_check_finite(arrays[i].name, arrays[i].length, arrays[i].values, error);
  }
  for (int32_t i = 0; i < problem->n && status == SAP_OK; ++i) {
    if (problem->mu[i] < 0.0) {
      status = sap_invalid(error, "mu", i, problem->mu[i], "must be >= 0");
    }
  }
  return status == SAP_OK ? check_limits(settings, problem, error) : status;
}
