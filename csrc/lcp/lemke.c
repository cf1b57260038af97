#include "lcp/pivoting.h"

#include <math.h>

/* Entries of a column count as zero up to this part of its largest. */
static const double pivot_tolerance = 1e-11;
/* Ratios, perturbed or not, count as equal within this part of the problem's size. */
static const double tie_tolerance = 1e-12;

/* Rows that may leave. With q perturbed by (e, e^2, ...) their ratios are the polynomials
 *
 *     (q_i + sum_k c_ik e^k)/divisor_i,   c_ik = -T_i,column of w_k where it is nonbasic,
 *                                                1 where w_k is basic in row i, else 0,
 *
 * and the least of them is unique. */
struct candidates {
  int32_t *row; /* (n) in the dictionary's scratch */
  double *divisor;
  int32_t n;
};

/* Keeps the candidates whose values (n, by row) over divisors are least, within the tolerance. */
static void keep_least(struct candidates *c, const double *value, double sign) {
  double least = INFINITY;
  for (int32_t i = 0; i < c->n; ++i) {
    const double ratio = sign * value[c->row[i]] / c->divisor[i];
    least = ratio < least ? ratio : least;
  }
  const double bound = least + tie_tolerance * (1 + fabs(least));
  int32_t kept = 0;
  for (int32_t i = 0; i < c->n; ++i) {
    if (sign * value[c->row[i]] / c->divisor[i] <= bound) {
      c->row[kept] = c->row[i];
      c->divisor[kept++] = c->divisor[i];
    }
  }
  c->n = kept;
}

/* Does the same for the term of w_k, which is basic in this row and 0 in all others. At least one
 * of several candidates is left. */
static void keep_least_of_basic(struct candidates *c, int32_t row) {
  int32_t kept = 0;
  for (int32_t i = 0; i < c->n; ++i) {
    if (c->row[i] != row) {
      c->row[kept] = c->row[i];
      c->divisor[kept++] = c->divisor[i];
    }
  }
  c->n = kept;
}

/* Returns the candidate of the lexicographically least ratio; among candidates that round-off
 * cannot tell apart, the one with the largest divisor. */
static int32_t least_ratio(const struct lcp_tableau *t, struct candidates *c) {
  keep_least(c, t->q, 1);
  /* if the artificial variable may leave, there is a solution */
  const int32_t artificial = t->row[lcp_artificial(t)];
  for (int32_t i = 0; i < c->n; ++i) {
    if (c->row[i] == artificial) {
      return artificial;
    }
  }
  for (int32_t k = 0; k < t->n && c->n > 1; ++k) {
    const int32_t row = t->row[lcp_w(k)];
    if (row >= 0) {
      keep_least_of_basic(c, row);
    } else {
      keep_least(c, lcp_column(t, t->column[lcp_w(k)]), -1);
    }
  }
  int32_t best = 0;
  for (int32_t i = 1; i < c->n; ++i) {
    best = c->divisor[i] > c->divisor[best] ? i : best;
  }
  return c->row[best];
}

/* Returns the row by which the artificial variable enters: q/d is most negative; -1 for q >= 0. */
static int32_t first_row(const struct lcp_tableau *t, double feasible, struct candidates *c) {
  const double *d = lcp_column(t, t->n);
  c->n = 0;
  for (int32_t i = 0; i < t->n; ++i) {
    if (t->q[i] < -feasible) {
      c->row[c->n] = i;
      c->divisor[c->n++] = d[i];
    }
  }
  return c->n > 0 ? least_ratio(t, c) : -1;
}

/* Returns the row that leaves when column s enters; -1 on a ray. */
static int32_t leaving_row(const struct lcp_tableau *t, int32_t s, struct candidates *c) {
  const double *column = lcp_column(t, s);
  double largest = 0;
  for (int32_t i = 0; i < t->n; ++i) {
    largest = fmax(largest, fabs(column[i]));
  }
  c->n = 0;
  for (int32_t i = 0; i < t->n; ++i) {
    if (column[i] < -pivot_tolerance * largest) {
      c->row[c->n] = i;
      c->divisor[c->n++] = -column[i];
    }
  }
  return c->n > 0 ? least_ratio(t, c) : -1;
}

lcp_outcome lcp_lemke(struct lcp_tableau *t, const struct lcp_limits *limits, int32_t *pivots) {
  struct candidates c = {t->candidate, t->divisor, 0};
  const int32_t artificial = lcp_artificial(t);
  lcp_tableau_add_artificial(t, limits->cover);
  int32_t s = t->n, r = first_row(t, limits->feasible, &c);
  if (r < 0) {
    return LCP_SOLVED;
  }
  for (int32_t k = 0; k < limits->max_pivots; ++k) {
    const int32_t leaving = t->basic[r];
    lcp_pivot(t, r, s);
    ++*pivots;
    if (leaving == artificial) {
      return LCP_SOLVED;
    }
    s = t->column[lcp_complement(t, leaving)];
    r = leaving_row(t, s, &c);
    if (r < 0) {
      return LCP_RAY;
    }
  }
  return LCP_ITERATION_LIMIT;
}
