#include "constraints/barrier_table.h"

#include <math.h>

#include "base/fail.h"

/* Slope and value at a node may differ from the integral by this, relatively: their round-off. */
#define TABLE_ROUND_OFF 1e-12

/* Returns the last node with s_j <= s, 0 for NaN. */
static int32_t find_interval(const sap_barrier_table *table, double s) {
  int32_t first = 0, last = table->n - 1;
  while (first < last) {
    const int32_t middle = last - (last - first) / 2;
    if (table->s[middle] <= s) {
      first = middle;
    } else {
      last = middle - 1;
    }
  }
  return first;
}

/* Returns the slope m of b'' after node j. */
static double bend(const sap_barrier_table *table, int32_t j) {
  return j < table->n - 1
             ? (table->curvature[j + 1] - table->curvature[j]) / (table->s[j + 1] - table->s[j])
             : 0;
}

struct sap_barrier_factors sap_barrier_table_at(const sap_barrier_table *table, double s) {
  const int32_t j = find_interval(table, s);
  const double d = s - table->s[j], m = bend(table, j), c = table->curvature[j];
  if (j == 0) {
    /* nothing to divide by s = d */
    return (struct sap_barrier_factors){c + m * d / 3, c + m * d / 2, m * d / 2};
  }
  const double phi = (table->slope[j] + d * (c + m * d / 2)) / s;
  const double value = table->value[j] + d * (table->slope[j] + d * (c / 2 + m * d / 6));
  return (struct sap_barrier_factors){2 * (value / s) / s, phi, c + m * d - phi};
}

/* Returns b(s + ds) - b(s) for s and s + ds between node j and the next one. */
static double increase(const sap_barrier_table *table, int32_t j, double s, double ds) {
  const double d = s - table->s[j], m = bend(table, j), c = table->curvature[j];
  const double slope = table->slope[j] + d * (c + m * d / 2);
  return ds * (slope + ds * ((c + m * d) / 2 + ds * m / 6));
}

double sap_barrier_table_difference(const sap_barrier_table *table, double s_a, double s_b,
                                    double ds) {
  if (ds < 0) {
    return -sap_barrier_table_difference(table, s_b, s_a, -ds);
  }
  const int32_t j = find_interval(table, s_a), k = find_interval(table, s_b);
  if (k <= j) {
    return increase(table, j, s_a, ds);
  }
  const double up = table->s[j + 1] - s_a, rest = k == j + 1 ? ds - up : s_b - table->s[k];
  return increase(table, j, s_a, up) + (table->value[k] - table->value[j + 1]) +
         increase(table, k, table->s[k], rest);
}

double sap_barrier_table_stiffest(const sap_barrier_table *table, double s) {
  if (!(s < INFINITY)) {
    return s;
  }
  const int32_t last = find_interval(table, s);
  double most = table->curvature[last] + bend(table, last) * (s - table->s[last]);
  for (int32_t j = 0; j <= last; ++j) {
    most = fmax(most, table->curvature[j]);
  }
  return most;
}

/* Finds slope and value at node j + 1 from those at node j. */
static void integrate_to_next(const double *s, const double *curvature, int32_t j,
                              const double at[2], double next[2]) {
  const double h = s[j + 1] - s[j], c = curvature[j], change = curvature[j + 1] - c;
  next[0] = at[0] + h * (c + change / 2);
  next[1] = at[1] + h * (at[0] + h * (c / 2 + change / 6));
}

void sap_barrier_integrate(int32_t n, const double *s, const double *curvature, double *slope,
                           double *value) {
  double at[2] = {0, 0};
  for (int32_t j = 0; j < n; ++j) {
    slope[j] = at[0];
    value[j] = at[1];
    if (j < n - 1) {
      integrate_to_next(s, curvature, j, (const double[2]){at[0], at[1]}, at);
    }
  }
}

/* Checks node j alone. */
static sap_status check_node(const sap_barrier_table *table, int32_t j, sap_error *error) {
  const double s = table->s[j], c = table->curvature[j];
  if (j == 0 && s != 0) {
    return sap_invalid(error, "barrier_table.s", 0, s, "must be 0");
  }
  if (j > 0 && !(s > table->s[j - 1] && isfinite(s))) {
    return sap_invalid(error, "barrier_table.s", j, s, "must be finite and above the last one");
  }
  if (!(c > 0 && isfinite(c))) {
    return sap_invalid(error, "barrier_table.curvature", j, c,
                       "must be finite and > 0: the barrier must be convex");
  }
  return SAP_OK;
}

/* Are slope and value at node j those of the integral from node j - 1? */
static sap_status check_integral(const sap_barrier_table *table, int32_t j, sap_error *error) {
  double expected[2] = {0, 0};
  if (j > 0) {
    integrate_to_next(table->s, table->curvature, j - 1,
                      (const double[2]){table->slope[j - 1], table->value[j - 1]}, expected);
  }
  const double given[2] = {table->slope[j], table->value[j]};
  for (int k = 0; k < 2; ++k) {
    if (!(isfinite(given[k]) && fabs(given[k] - expected[k]) <= TABLE_ROUND_OFF * expected[k])) {
      return sap_invalid(error, k ? "barrier_table.value" : "barrier_table.slope", j, given[k],
                         "must be the integral of the curvature, see sap_barrier_integrate()");
    }
  }
  return SAP_OK;
}

sap_status sap_barrier_table_check(const sap_barrier_table *table, sap_error *error) {
  if (!table || !table->s || !table->curvature || !table->slope || !table->value) {
    return sap_invalid(error, "barrier_table", -1, NAN,
                       "must be given where a contact has a tabulated core");
  }
  if (table->n < 2) {
    return sap_invalid(error, "barrier_table", -1, table->n, "must have two nodes or more");
  }
  sap_status status = SAP_OK;
  for (int32_t j = 0; status == SAP_OK && j < table->n; ++j) {
    status = check_node(table, j, error);
    if (status == SAP_OK) {
      status = check_integral(table, j, error);
    }
  }
  return status;
}
