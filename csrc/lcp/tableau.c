#include "lcp/tableau.h"

#include <math.h>
#include <string.h>

/* Rounds up to whole vectors, at which columns begin. */
static int32_t leading_dimension(int32_t n) { return (n + 7) / 8 * 8; }

void lcp_tableau_carve(struct lcp_tableau *t, struct sap_arena *arena, int32_t n) {
  const size_t rows = (size_t)n, ld = (size_t)leading_dimension(n);
  t->q = sap_arena_take(arena, (rows + 2) * ld, sizeof *t->q);
  t->basic = sap_arena_take(arena, rows, sizeof *t->basic);
  t->nonbasic = sap_arena_take(arena, rows + 1, sizeof *t->nonbasic);
  t->row = sap_arena_take(arena, 2 * rows + 1, sizeof *t->row);
  t->column = sap_arena_take(arena, 2 * rows + 1, sizeof *t->column);
  t->entering = sap_arena_take(arena, ld, sizeof *t->entering);
  t->leaving = sap_arena_take(arena, rows + 2, sizeof *t->leaving);
  t->candidate = sap_arena_take(arena, rows, sizeof *t->candidate);
  t->divisor = sap_arena_take(arena, rows, sizeof *t->divisor);
}

void lcp_tableau_load(struct lcp_tableau *t, int32_t n, const double *M, const double *q) {
  t->n = n;
  t->n_columns = n;
  t->ld = leading_dimension(n);
  memcpy(t->q, q, (size_t)n * sizeof *q);
  for (int32_t j = 0; j < n; ++j) {
    double *column = lcp_column(t, j);
    for (int32_t i = 0; i < n; ++i) {
      column[i] = M[(int64_t)i * n + j];
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    t->basic[i] = t->row[lcp_w(i)] = i;
    t->nonbasic[i] = lcp_z(t, i);
    t->column[lcp_z(t, i)] = i;
    t->column[lcp_w(i)] = t->row[lcp_z(t, i)] = -1;
  }
  t->row[lcp_artificial(t)] = t->column[lcp_artificial(t)] = -1;
}

void lcp_pivot(struct lcp_tableau *t, int32_t r, int32_t s) {
  const int32_t n = t->n;
  double *pivot_column = lcp_column(t, s);
  const double scale = 1 / pivot_column[r];
  /* x_s = (x_r - q_r - sum_j T_rj x_j)/T_rs */
  for (int32_t j = 0; j <= t->n_columns; ++j) {
    double *entry = &t->q[(int64_t)j * t->ld + r];
    t->leaving[j] = -*entry * scale;
    *entry = t->leaving[j];
  }
  t->leaving[s + 1] = 0;
  memcpy(t->entering, pivot_column, (size_t)n * sizeof(double));
  t->entering[r] = 0;
  t->kernels->multiply(n, t->n_columns + 1, 1, 1, t->entering, t->ld, t->leaving, t->n_columns + 1,
                       t->q, t->ld, 0);
  for (int32_t i = 0; i < n; ++i) {
    pivot_column[i] = t->entering[i] * scale;
  }
  pivot_column[r] = scale;

  const int32_t leaving = t->basic[r], entering = t->nonbasic[s];
  t->basic[r] = entering;
  t->row[entering] = r;
  t->column[entering] = -1;
  t->nonbasic[s] = leaving;
  t->column[leaving] = s;
  t->row[leaving] = -1;
}

int32_t lcp_tableau_enter(struct lcp_tableau *t, const int8_t *start, double tolerance) {
  int32_t *named = t->candidate, n = 0;
  for (int32_t i = 0; i < t->n; ++i) {
    if (start[i]) {
      named[n++] = i;
    }
  }
  for (int32_t pivots = 0;; ++pivots) {
    int32_t r = -1, s = -1;
    double largest = tolerance;
    for (int32_t b = 0; b < n; ++b) {
      if (t->column[lcp_z(t, named[b])] < 0) {
        continue;
      }
      const double *column = lcp_column(t, named[b]);
      for (int32_t a = 0; a < n; ++a) {
        const int32_t i = named[a];
        if (t->basic[i] == lcp_w(i) && fabs(column[i]) > largest) {
          largest = fabs(column[i]);
          r = i;
          s = named[b];
        }
      }
    }
    if (r < 0) {
      return pivots;
    }
    lcp_pivot(t, r, s);
  }
}

int lcp_tableau_is_complementary(const struct lcp_tableau *t) {
  for (int32_t i = 0; i < t->n; ++i) {
    if ((t->row[lcp_w(i)] < 0) == (t->row[lcp_z(t, i)] < 0)) {
      return 0;
    }
  }
  return 1;
}

void lcp_tableau_add_artificial(struct lcp_tableau *t, int32_t k) {
  const double golden_ratio = 0.6180339887498949;
  double *column = lcp_column(t, t->n);
  for (int32_t i = 0; i < t->n; ++i) {
    const double turns = golden_ratio * k * (i + 1);
    column[i] = 1 + 3 * (turns - floor(turns));
  }
  t->n_columns = t->n + 1;
  t->nonbasic[t->n] = lcp_artificial(t);
  t->column[lcp_artificial(t)] = t->n;
}
