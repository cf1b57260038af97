#include "problem/products/vectors.h"

#include <float.h>
#include <math.h>

#include "problem/regularization/inverse_loops.h"

INLINE int is_diagonal_of(const int32_t n, const double *A) {
  simd others = simd_zero();
  for (int32_t i = 0; i < n - 1; ++i) {
    const double *between =
        A + (int64_t)i * (n + 1) + 1; /* n entries between two of the diagonal */
    for (int32_t j = 0; j < n; j += SIMD_WIDTH) {
      others += simd_abs(simd_load_part(between + j, simd_left(n - j)));
    }
    if (n > SIMD_WIDTH && simd_sum(others) != 0) {
      return 0;
    }
  }
  int valid = simd_sum(others) == 0;
  for (int32_t i = 0; i < n; ++i) {
    const double a = A[(int64_t)i * (n + 1)];
    valid &= (a > 0) & (a <= DBL_MAX);
  }
  return valid;
}

static int is_diagonal(int32_t n, const double *A) {
  return n == 6 ? is_diagonal_of(6, A) : is_diagonal_of(n, A);
}

static void inverse_roots(int32_t begin, int32_t end, const double *x, double *y) {
  INDEPENDENT
  for (int32_t i = begin; i < end; ++i) {
    y[i] = 1 / sqrt(x[i]);
  }
}

static double asymmetry(int32_t n, const double *A) {
  enum { LANES = 8 };
  double sum[LANES] = {0};
  for (int32_t i = 0; i < n; ++i) {
    const double *row = A + (int64_t)i * n, *column = A + i;
    sum[0] += 0 * row[i]; /* NaN where it is not finite */
    int32_t j = 0;
    for (; j + LANES <= i; j += LANES) {
      for (int lane = 0; lane < LANES; ++lane) {
        sum[lane] += fabs(row[j + lane] - column[(int64_t)(j + lane) * n]);
      }
    }
    for (; j < i; ++j) {
      sum[0] += fabs(row[j] - column[(int64_t)j * n]);
    }
  }
  double total = 0;
  for (int lane = 0; lane < LANES; ++lane) {
    total += sum[lane];
  }
  return total;
}

/* y = A x for one block at n scalars */
static inline void multiply_block(int32_t n, const double *A, const double *x, double *y) {
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(n - i);
    const double *column = A + i;
    simd sum[2] = {simd_zero(), simd_zero()};
    int32_t j = 0;
    for (; j + 1 < n; j += 2, column += 2 * (int64_t)n) {
      sum[0] += simd_load_part(column, part) * simd_all(x[j]);
      sum[1] += simd_load_part(column + n, part) * simd_all(x[j + 1]);
    }
    if (j < n) {
      sum[0] += simd_load_part(column, part) * simd_all(x[j]);
    }
    simd_store_part(y + i, sum[0] + sum[1], part);
  }
}

static void multiply_mass(int32_t begin, int32_t end, const int32_t *node_scalar,
                          const double *const *A, const double *diagonal, const double *x,
                          double *y) {
  for (int32_t node = begin; node < end; ++node) {
    const int32_t first = node_scalar[node];
    if (A[node]) {
      multiply_block(node_scalar[node + 1] - first, A[node], x + first, y + first);
      continue;
    }
    while (node + 1 < end && !A[node + 1]) {
      ++node; /* diagonal blocks in a row are one */
    }
    for (int32_t i = first; i < node_scalar[node + 1]; i += SIMD_WIDTH) {
      const simd_mask part = simd_left(node_scalar[node + 1] - i);
      simd_store_part(y + i, simd_load_part(diagonal + i, part) * simd_load_part(x + i, part),
                      part);
    }
  }
}

static struct sap_balance balance(int32_t begin, int32_t end, const double *dw,
                                  const double *momentum, const double *momentum_star,
                                  const double *impulse, const double *scale, double *gradient) {
  simd energy = simd_zero(), momentums = energy, impulses = energy, gradients = energy;
  for (int32_t i = begin; i < end; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(end - i);
    const simd p = simd_load_part(momentum + i, part), j = simd_load_part(impulse + i, part);
    const simd D = simd_load_part(scale + i, part);
    const simd g = p - j;
    simd_store_part(gradient + i, g, part);
    const simd Dp = D * (p + simd_load_part(momentum_star + i, part));
    energy += simd_load_part(dw + i, part) * p;
    momentums += Dp * Dp;
    impulses += (D * j) * (D * j);
    gradients += (D * g) * (D * g);
  }
  return (struct sap_balance){simd_sum(energy), simd_sum(momentums), simd_sum(impulses),
                              simd_sum(gradients)};
}

static double inner(int32_t begin, int32_t end, const double *weight, const double *x,
                    const double *y) {
  simd sum = simd_zero();
  for (int32_t i = begin; i < end; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(end - i);
    const simd x_i = simd_load_part(x + i, part), y_i = simd_load_part(y + i, part);
    sum += simd_load_part(weight + i, part) * x_i * y_i;
  }
  return simd_sum(sum);
}

static struct sap_products products(int32_t begin, int32_t end, const double *dv, const double *dp,
                                    const double *dw, const double *gradient) {
  simd linear = simd_zero(), quadratic = linear, slope = linear;
  for (int32_t i = begin; i < end; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(end - i);
    const simd d = simd_load_part(dv + i, part), p = simd_load_part(dp + i, part);
    linear += p * simd_load_part(dw + i, part);
    quadratic += p * d;
    slope += simd_load_part(gradient + i, part) * d;
  }
  return (struct sap_products){simd_sum(linear), simd_sum(quadratic), simd_sum(slope)};
}

static void add_columns(int32_t n, const double *J, double *sums) {
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(n - i);
    simd sum = simd_load_part(sums + i, part);
    for (int r = 0; r < 3; ++r) {
      sum += simd_abs(simd_load_part(J + (int64_t)r * n + i, part));
    }
    simd_store_part(sums + i, sum, part);
  }
}

static void add_absolute(int32_t n, const double *A, double factor, const double *x, double *y) {
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(n - i);
    simd sum = simd_zero();
    for (int32_t j = 0; j < n; ++j) {
      sum += simd_abs(simd_load_part(A + (int64_t)j * n + i, part) * simd_all(x[j]));
    }
    simd_store_part(y + i, simd_load_part(y + i, part) + simd_all(factor) * sum, part);
  }
}

static struct sap_norms add_magnitudes(int32_t begin, int32_t end, double factor_x, const double *x,
                                       double factor_y, const double *y, const double *S,
                                       const double *g, double *e) {
  simd values = simd_zero(), bounds = simd_zero();
  for (int32_t i = begin; i < end; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(end - i);
    const simd diagonal = simd_load_part(S + i, part);
    const simd sum = simd_load_part(e + i, part) +
                     simd_all(factor_x) * simd_abs(simd_load_part(x + i, part)) +
                     simd_all(factor_y) * simd_abs(simd_load_part(y + i, part));
    const simd value = diagonal * simd_load_part(g + i, part), bound = diagonal * sum;
    simd_store_part(e + i, sum, part);
    values += value * value;
    bounds += bound * bound;
  }
  return (struct sap_norms){simd_sum(values), simd_sum(bounds)};
}

static void add_diagonal_norms(int32_t begin, int32_t end, const double *S, const double *x,
                               const double *e, struct sap_norms *norms) {
  simd values = simd_zero(), bounds = simd_zero();
  for (int32_t i = begin; i < end; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(end - i);
    const simd diagonal = simd_load_part(S + i, part);
    const simd value = diagonal * simd_load_part(x + i, part);
    const simd bound = diagonal * simd_load_part(e + i, part);
    values += value * value;
    bounds += bound * bound;
  }
  norms->value += simd_sum(values);
  norms->bound += simd_sum(bounds);
}

static void step(int32_t begin, int32_t end, double alpha, const double *dv, const double *dp,
                 double *v, double *dw, double *momentum, double *reach) {
  for (int32_t i = begin; i < end; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(end - i);
    const simd d = simd_all(alpha) * simd_load_part(dv + i, part);
    const simd p = simd_all(alpha) * simd_load_part(dp + i, part);
    simd_store_part(v + i, simd_load_part(v + i, part) + d, part);
    simd_store_part(dw + i, simd_load_part(dw + i, part) + d, part);
    simd_store_part(momentum + i, simd_load_part(momentum + i, part) + p, part);
    simd_store_part(reach + i, simd_load_part(reach + i, part) + simd_abs(d), part);
  }
}

static void advance(int32_t begin, int32_t end, double alpha, const double *dx, double *x) {
  const simd step = simd_all(alpha);
  for (int32_t i = begin; i < end; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(end - i);
    simd_store_part(x + i, simd_load_part(x + i, part) + step * simd_load_part(dx + i, part), part);
  }
}

static int exceeds(int32_t n, const double *x, double most) {
  simd peak = simd_zero();
  int32_t i = 0;
  for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH) {
    peak = simd_max(simd_abs(simd_load(x + i)), peak);
  }
  if (i < n) {
    peak = simd_max(simd_abs(simd_load_part(x + i, simd_left(n - i))), peak);
  }
  return !simd_within(peak, 0, most);
}

static void scale(int32_t n, double factor, const double *x, double *y) {
  int32_t i = 0;
  for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH) {
    simd_store(y + i, simd_all(factor) * simd_load(x + i));
  }
  if (i < n) {
    const simd_mask part = simd_left(n - i);
    simd_store_part(y + i, simd_all(factor) * simd_load_part(x + i, part), part);
  }
}

INLINE simd magnitude(const int absolute, simd x) { return absolute ? simd_abs(x) : x; }

/* x = J v, for three rows at once or one */
INLINE void multiply_three(const int absolute, int32_t n, const double *J, const double *v,
                           double *x) {
  simd sum[3] = {simd_zero(), simd_zero(), simd_zero()};
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(n - i);
    const simd v_i = simd_load_part(v + i, part);
    UNROLL
    for (int r = 0; r < 3; ++r) {
      sum[r] += magnitude(absolute, simd_load_part(J + (int64_t)r * n + i, part) * v_i);
    }
  }
  simd_sum_three(sum, x, x + 1, x + 2);
}

INLINE void multiply_any(const int absolute, int32_t rows, int32_t n, const double *J,
                         const double *v, double *x) {
  int32_t r = 0;
  for (; r + 3 <= rows; r += 3) {
    multiply_three(absolute, n, J + (int64_t)r * n, v, x + r);
  }
  for (; r < rows; ++r) {
    simd sum = simd_zero();
    for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
      const simd_mask part = simd_left(n - i);
      const simd J_i = simd_load_part(J + (int64_t)r * n + i, part);
      sum += magnitude(absolute, J_i * simd_load_part(v + i, part));
    }
    x[r] = simd_sum(sum);
  }
}

INLINE void add_any(const int absolute, int32_t rows, int32_t n, const double *J, const double *x,
                    double *y) {
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(n - i);
    simd sum = simd_load_part(y + i, part);
    for (int32_t r = 0; r < rows; ++r) {
      sum += magnitude(absolute, simd_load_part(J + (int64_t)r * n + i, part)) * simd_all(x[r]);
    }
    simd_store_part(y + i, sum, part);
  }
}

static void multiply_rows(int32_t rows, int32_t n, const double *J, const double *v, double *x) {
  multiply_any(0, rows, n, J, v, x);
}

static void add_rows(int32_t rows, int32_t n, const double *J, const double *x, double *y) {
  add_any(0, rows, n, J, x, y);
}

static void multiply_absolute(int32_t rows, int32_t n, const double *J, const double *v,
                              double *x) {
  multiply_any(1, rows, n, J, v, x);
}

static void add_absolute_rows(int32_t rows, int32_t n, const double *J, const double *x,
                              double *y) {
  add_any(1, rows, n, J, x, y);
}

const struct sap_vector_loops SAP_OF_ISA(sap_vector_loops_);
const struct sap_vector_loops SAP_OF_ISA(sap_vector_loops_) = {
    is_diagonal,
    asymmetry,
    inverse_roots,
    multiply_mass,
    balance,
    inner,
    products,
    add_columns,
    invert,
    square_columns,
    find_entries,
    add_gram,
    pull_inverse,
    multiply_inverse,
    add_absolute,
    add_magnitudes,
    add_norms,
    add_diagonal_norms,
    step,
    multiply_rows,
    add_rows,
    multiply_absolute,
    add_absolute_rows,
    advance,
    exceeds,
    scale,
};
