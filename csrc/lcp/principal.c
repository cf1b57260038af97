#include "lcp/pivoting.h"

#include <math.h>

/* Entries of T count as zero up to this part of the largest of their row. */
static const double pivot_tolerance = 1e-11;

/* Return the row of the basic variable, and the column of the nonbasic one, of pair i. */
static int32_t row_of_pair(const struct lcp_tableau *t, int32_t i) {
  const int32_t row = t->row[lcp_w(i)];
  return row >= 0 ? row : t->row[lcp_z(t, i)];
}

static int32_t column_of_pair(const struct lcp_tableau *t, int32_t i) {
  const int32_t column = t->column[lcp_z(t, i)];
  return column >= 0 ? column : t->column[lcp_w(i)];
}

static double entry(const struct lcp_tableau *t, int32_t i, int32_t j) {
  return lcp_column(t, column_of_pair(t, j))[row_of_pair(t, i)];
}

/* Returns the size up to which entries count as zero in the row of pair i. */
static double threshold(const struct lcp_tableau *t, int32_t i) {
  double largest = 0;
  for (int32_t j = 0; j < t->n; ++j) {
    largest = fmax(largest, fabs(entry(t, i, j)));
  }
  return pivot_tolerance * largest;
}

/* Exchanges pair i, whose diagonal entry is not zero. */
static void pivot_diagonal(struct lcp_tableau *t, int32_t i, int32_t *pivots) {
  lcp_pivot(t, row_of_pair(t, i), column_of_pair(t, i));
  ++*pivots;
}

/* Exchanges pairs i and j by entries (i, j) and (j, i), which are not zero where (i, i) is. */
static void pivot_exchange(struct lcp_tableau *t, int32_t i, int32_t j, int32_t *pivots) {
  const int32_t row_i = row_of_pair(t, i), row_j = row_of_pair(t, j);
  const int32_t column_i = column_of_pair(t, i), column_j = column_of_pair(t, j);
  lcp_pivot(t, row_i, column_j);
  lcp_pivot(t, row_j, column_i);
  *pivots += 2;
}

/* Returns the pair of the most negative w, or z, if it is below -feasible; else -1. */
static int32_t most_negative(const struct lcp_tableau *t, int of_z, double feasible) {
  int32_t found = -1;
  double least = -feasible;
  for (int32_t i = 0; i < t->n; ++i) {
    const int32_t row = t->row[of_z ? lcp_z(t, i) : lcp_w(i)];
    if (row >= 0 && t->q[row] < least) {
      least = t->q[row];
      found = i;
    }
  }
  return found;
}

/* Runs PPM I: LCP_SOLVED, or LCP_SINGULAR if it finds no pivot or has used its share of them. */
static lcp_outcome most_negative_first(struct lcp_tableau *t, const struct lcp_limits *limits,
                                       int32_t *pivots) {
  for (int32_t k = 0; k < limits->least_index_after; ++k) {
    /* both are chosen before either is exchanged */
    const int32_t into = most_negative(t, 0, limits->feasible);
    const int32_t out = most_negative(t, 1, limits->feasible);
    if (into < 0 && out < 0) {
      return LCP_SOLVED;
    }
    if (into >= 0) {
      if (entry(t, into, into) <= threshold(t, into)) {
        return LCP_SINGULAR;
      }
      pivot_diagonal(t, into, pivots);
    }
    if (out >= 0) {
      if (entry(t, out, out) <= threshold(t, out)) {
        return LCP_SINGULAR;
      }
      pivot_diagonal(t, out, pivots);
    }
  }
  return LCP_SINGULAR;
}

/* Returns the least index with an infeasible basic variable, or -1. */
static int32_t least_infeasible(const struct lcp_tableau *t, double feasible) {
  for (int32_t i = 0; i < t->n; ++i) {
    if (t->q[row_of_pair(t, i)] < -feasible) {
      return i;
    }
  }
  return -1;
}

/* Runs the least-index criss-cross method for sufficient matrices (den Hertog, Roos and Terlaky
 * 1993). Its own complement drives the infeasible variable out, or, if that does not move it, the
 * first variable that does. */
static lcp_outcome least_index(struct lcp_tableau *t, const struct lcp_limits *limits,
                               int32_t *pivots) {
  while (*pivots < limits->max_pivots) {
    const int32_t i = least_infeasible(t, limits->feasible);
    if (i < 0) {
      return LCP_SOLVED;
    }
    const double zero = threshold(t, i), diagonal = entry(t, i, i);
    if (diagonal < -zero) {
      return LCP_SINGULAR;
    }
    if (diagonal > zero) {
      pivot_diagonal(t, i, pivots);
      continue;
    }
    int32_t j = 0;
    while (j < t->n && (j == i || entry(t, i, j) <= zero)) {
      ++j;
    }
    if (j == t->n) {
      return LCP_INFEASIBLE;
    }
    if (entry(t, j, i) >= -threshold(t, j)) {
      return LCP_SINGULAR;
    }
    pivot_exchange(t, i, j, pivots);
  }
  return LCP_ITERATION_LIMIT;
}

lcp_outcome lcp_principal(struct lcp_tableau *t, const struct lcp_limits *limits, int32_t *pivots) {
  const lcp_outcome outcome = most_negative_first(t, limits, pivots);
  return outcome == LCP_SOLVED ? LCP_SOLVED : least_index(t, limits, pivots);
}
