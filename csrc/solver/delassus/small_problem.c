/* This file is compiled once per instruction set. */
#include "solver/delassus/small_problem.h"

#include <math.h>
#include <string.h>

#include "solver/delassus/elimination.h"
#include "solver/delassus/one_contact.h"
#include "solver/solver_tuning.h"

/* ---- products -------------------------------------------------------------------------------- */

/* Adds x^T times n columns to V vectors of y. Columns follow each other at the stride ld. */
INLINE void add_vectors(const int V, int32_t n, const double *columns, int32_t ld, const double *x,
                        double *y) {
  simd sum[4];
  UNROLL
  for (int v = 0; v < V; ++v) {
    sum[v] = simd_load(y + v * SIMD_WIDTH);
  }
  for (int32_t j = 0; j < n; ++j) {
    const simd all = simd_all(x[j]);
    const double *column = columns + (size_t)j * (size_t)ld;
    UNROLL
    for (int v = 0; v < V; ++v) {
      sum[v] += all * simd_load(column + v * SIMD_WIDTH);
    }
  }
  UNROLL
  for (int v = 0; v < V; ++v) {
    simd_store(y + v * SIMD_WIDTH, sum[v]);
  }
}

/* Adds M x to y for n columns of M from `first` on. */
static void add_columns(const struct sap_small_problem *p, int32_t first, int32_t n,
                        const double *x, double *y) {
  const double *M = p->M + (size_t)first * (size_t)p->ld;
  int32_t i = 0, vectors = p->ld / SIMD_WIDTH;
  for (; vectors >= 4; vectors -= 4, i += 4 * SIMD_WIDTH) {
    add_vectors(4, n, M + i, p->ld, x, y + i);
  }
  if (vectors == 3) {
    add_vectors(3, n, M + i, p->ld, x, y + i);
  } else if (vectors == 2) {
    add_vectors(2, n, M + i, p->ld, x, y + i);
  } else if (vectors == 1) {
    add_vectors(1, n, M + i, p->ld, x, y + i);
  }
}

sap_small_multiply_function SAP_OF_ISA(sap_small_multiply_);
void SAP_OF_ISA(sap_small_multiply_)(const struct sap_small_problem *p, const double *x,
                                     double *y) {
  memset(y, 0, (size_t)p->ld * sizeof *y);
  add_columns(p, 0, 3 * p->n, x, y);
}

/* ---- the operator ---------------------------------------------------------------------------- */

/* Inverts a block M (3, 3), by column with stride ld, to `to` by row. Returns 0, and zeros, if it
 * is singular. */
static int invert_block(const double *M, size_t ld, double to[9]) {
  const double *a = M, *b = M + ld, *c = M + 2 * ld;
  const double minors[9] = {
      b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0],
      a[2] * c[1] - a[1] * c[2], a[0] * c[2] - a[2] * c[0], a[1] * c[0] - a[0] * c[1],
      a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  const double inverse = 1 / (a[0] * minors[0] + a[1] * minors[1] + a[2] * minors[2]);
  for (int k = 0; k < 9; ++k) {
    to[k] = fabs(inverse) < INFINITY ? minors[k] * inverse : 0;
  }
  return fabs(inverse) < INFINITY;
}

/* Adds to V vectors of rows of all columns of M the three columns at `from` times `share`, which
 * has three factors per column of M. */
INLINE void add_shares(const int V, int32_t n, const double *from, const double *share, double *M,
                       int32_t ld) {
  simd column[3][3];
  UNROLL
  for (int r = 0; r < 3; ++r) {
    UNROLL
    for (int v = 0; v < V; ++v) {
      column[r][v] = simd_load(from + r * ld + v * SIMD_WIDTH);
    }
  }
  for (int32_t j = 0; j < n; ++j) {
    double *to = M + (size_t)j * (size_t)ld;
    const simd a = simd_all(share[3 * j]), b = simd_all(share[3 * j + 1]),
               c = simd_all(share[3 * j + 2]);
    UNROLL
    for (int v = 0; v < V; ++v) {
      double *x = to + v * SIMD_WIDTH;
      simd_store(x, simd_load(x) + a * column[0][v] + b * column[1][v] + c * column[2][v]);
    }
  }
}

/* Takes the linear law K of contact i out of M: M <- M + M_i F M^i, F = K (1 - M_ii K)^-1, with its
 * columns M_i and rows M^i. Returns 0 if F does not exist. */
static int take_out(const struct sap_small_problem *p, int32_t i, const double K[9]) {
  const int32_t n = 3 * p->n, ld = p->ld;
  const size_t first = 3 * (size_t)i;
  const double *block = p->M + first * (size_t)ld + first;
  double *from = p->system, *share = p->system + 3 * (size_t)ld;
  double rest[9], inverse[9], F[9];
  for (size_t c = 0; c < 3; ++c) {
    const double *k = K + 3 * c;
    for (size_t r = 0; r < 3; ++r) {
      const double *m = block + r;
      rest[3 * c + r] = (r == c) - (m[0] * k[0] + m[ld] * k[1] + m[2 * (size_t)ld] * k[2]);
    }
  }
  if (!invert_block(rest, 3, inverse)) {
    return 0;
  }
  for (size_t r = 0; r < 3; ++r) {
    for (size_t c = 0; c < 3; ++c) {
      F[3 * r + c] = K[r] * inverse[c] + K[3 + r] * inverse[3 + c] + K[6 + r] * inverse[6 + c];
    }
  }
  memcpy(from, p->M + first * (size_t)ld, 3 * (size_t)ld * sizeof *from);
  for (size_t j = 0; j < (size_t)n; ++j) {
    const double *row = p->M + j * (size_t)ld + first;
    for (size_t r = 0; r < 3; ++r) {
      share[3 * j + r] = F[3 * r] * row[0] + F[3 * r + 1] * row[1] + F[3 * r + 2] * row[2];
    }
  }
  int32_t at = 0, vectors = ld / SIMD_WIDTH;
  for (; vectors >= 3; vectors -= 3, at += 3 * SIMD_WIDTH) {
    add_shares(3, n, from + at, share, p->M + at, ld);
  }
  if (vectors == 2) {
    add_shares(2, n, from + at, share, p->M + at, ld);
  } else if (vectors == 1) {
    add_shares(1, n, from + at, share, p->M + at, ld);
  }
  return 1;
}

sap_small_operator_function SAP_OF_ISA(sap_small_operator_);
int SAP_OF_ISA(sap_small_operator_)(struct sap_small_problem *p, int32_t n_contacts,
                                    const double *S, const double *K) {
  const size_t n = 3 * (size_t)n_contacts;
  p->n = n_contacts;
  p->ld = sap_impulses_stride((int32_t)n);
  for (size_t j = 0; j < n; ++j) {
    double *column = p->M + j * (size_t)p->ld;
    memcpy(column, S + j * SAP_SMALL_UNKNOWNS, n * sizeof *column);
    memset(column + n, 0, ((size_t)p->ld - n) * sizeof *column);
  }
  for (int32_t i = 0; i < n_contacts; ++i) {
    const double *K_i = K + 9 * (size_t)i;
    double size = 0;
    for (int k = 0; k < 9; ++k) {
      size += fabs(K_i[k]);
    }
    if (size != 0 && !take_out(p, i, K_i)) {
      return 0;
    }
  }
  return 1;
}

/* ---- natural map ----------------------------------------------------------------------------- */

/* Returns the natural map at gamma, from u. */
static double find_residual(const struct sap_small_problem *p, const double *rho) {
  double sum = 0;
  for (int32_t i = 0; i < p->n; ++i) {
    const double *gamma = p->gamma + 3 * (size_t)i, *u = p->u + 3 * (size_t)i;
    const double rho_t = rho[2 * i], rho_n = rho[2 * i + 1];
    const double z[3] = {gamma[0] - rho_t * u[0], gamma[1] - rho_t * u[1], gamma[2] - rho_n * u[2]};
    const double bound = gamma[2] > 0 ? p->mu[i] * gamma[2] : 0;
    const double square = z[0] * z[0] + z[1] * z[1];
    const double share = square > bound * bound ? bound / sqrt(square) : 1;
    const double rest[3] = {gamma[0] - share * z[0], gamma[1] - share * z[1],
                            gamma[2] - (z[2] > 0 ? z[2] : 0)};
    sum += (rest[0] * rest[0] + rest[1] * rest[1]) / rho_t + rest[2] * rest[2] / rho_n;
  }
  return sum;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

static void sweep(const struct sap_small_problem *p) {
  const size_t ld = (size_t)p->ld;
  for (int32_t i = 0; i < p->n; ++i) {
    const size_t first = 3 * (size_t)i;
    const double *M = p->M + first * ld + first;
    double *gamma = p->gamma + first, last[3];
    struct sap_one_contact c = {
        .M = M, .ld = p->ld, .inverse = p->inverse + 9 * (size_t)i, .q = {0}, .mu = p->mu[i]};
    for (size_t r = 0; r < 3; ++r) {
      c.q[r] =
          p->u[first + r] - (M[r] * gamma[0] + M[ld + r] * gamma[1] + M[2 * ld + r] * gamma[2]);
      last[r] = gamma[r];
    }
    sap_solve_contact(&c, gamma);
    const double change[3] = {gamma[0] - last[0], gamma[1] - last[1], gamma[2] - last[2]};
    if (change[0] != 0 || change[1] != 0 || change[2] != 0) {
      add_columns(p, 3 * i, 3, change, p->u);
    }
  }
}

/* ---- Newton's steps -------------------------------------------------------------------------- */

/* Lists the contacts that touch, with their direction of friction if they slide. Returns the number
 * of unknowns: three of a sticking contact; the impulses across the direction and normal to the
 * contact of a sliding one. */
static int32_t list_contacts(const struct sap_small_problem *p, int32_t *n_listed) {
  int32_t n = 0, unknowns = 0;
  for (int32_t i = 0; i < p->n; ++i) {
    const double *gamma = p->gamma + 3 * (size_t)i, *u = p->u + 3 * (size_t)i;
    const double rho_t = p->sharp[2 * i], z_n = gamma[2] - p->sharp[2 * i + 1] * u[2];
    const double z[2] = {gamma[0] - rho_t * u[0], gamma[1] - rho_t * u[1]};
    const double length = sqrt(z[0] * z[0] + z[1] * z[1]);
    const int slides = length > p->mu[i] * z_n;
    if (!(z_n > 0)) {
      continue;
    }
    p->listed[n] = i;
    p->first[n++] = unknowns;
    p->slip[2 * i] = slides ? z[0] / length : 0;
    p->slip[2 * i + 1] = slides ? z[1] / length : 0;
    unknowns += slides ? 2 : 3;
  }
  *n_listed = n;
  return unknowns;
}

static int slides(const struct sap_small_problem *p, int32_t i) {
  return p->slip[2 * i] != 0 || p->slip[2 * i + 1] != 0;
}

/* Writes the coefficients in the equations of a contact for the unknowns of another one, from their
 * block of M by row: for the impulses across and along t if the other one slides, and only the row
 * across t, times share, and the normal one if the contact does. */
INLINE void write_block(const int row_slides, const int column_slides, const double *M, size_t ld_M,
                        const double across[2], const double t[2], double mu, double *to,
                        size_t ld) {
  const int columns = column_slides ? 2 : 3;
  double x[3][3];
  UNROLL
  for (size_t r = 0; r < 3; ++r) {
    const double *row = M + r * ld_M;
    x[r][0] = column_slides ? t[0] * row[1] - t[1] * row[0] : row[0];
    x[r][1] = column_slides ? row[2] + mu * (t[0] * row[0] + t[1] * row[1]) : row[1];
    x[r][2] = row[2];
  }
  UNROLL
  for (int c = 0; c < columns; ++c) {
    to[c] = row_slides ? across[0] * x[0][c] + across[1] * x[1][c] : x[0][c];
    to[ld + (size_t)c] = row_slides ? x[2][c] : x[1][c];
    if (!row_slides) {
      to[2 * ld + (size_t)c] = x[2][c];
    }
  }
}

/* Writes the equations of the k-th listed contact, which slides or sticks. */
INLINE void write_rows(const int row_slides, const struct sap_small_problem *p, int32_t n_listed,
                       int32_t k, int32_t unknowns, const double across[2], double *rows) {
  const int32_t i = p->listed[k];
  const size_t ld_M = (size_t)p->ld, ld = (size_t)sap_impulses_stride(unknowns);
  const double *M = p->rows + 3 * (size_t)i * ld_M, *q = p->q + 3 * (size_t)i;
  for (int32_t l = 0; l < n_listed; ++l) {
    const int32_t j = p->listed[l];
    const double *t = p->slip + 2 * (size_t)j, *block = M + 3 * (size_t)j;
    double *to = rows + p->first[l];
    if (slides(p, j)) {
      write_block(row_slides, 1, block, ld_M, across, t, p->mu[j], to, ld);
    } else {
      write_block(row_slides, 0, block, ld_M, across, t, 0, to, ld);
    }
  }
  const double right[3] = {row_slides ? across[0] * q[0] + across[1] * q[1] : q[0],
                           row_slides ? q[2] : q[1], q[2]};
  for (size_t r = 0; r < (row_slides ? 2 : 3); ++r) {
    double *row = rows + r * ld;
    row[unknowns] = -right[r];
    for (size_t j = (size_t)unknowns + 1; j < ld; ++j) {
      row[j] = 0;
    }
  }
}

/* Writes the equations of the k-th listed contact. */
static void write_equations(const struct sap_small_problem *p, int32_t n_listed, int32_t k,
                            int32_t unknowns, double *rows) {
  const int32_t i = p->listed[k];
  if (!slides(p, i)) {
    write_rows(0, p, n_listed, k, unknowns, NULL, rows);
    return;
  }
  /* across t: share u + (1 - share) gamma/rho = 0, share = mu z_n/|z_t| */
  const double *gamma = p->gamma + 3 * (size_t)i, *u = p->u + 3 * (size_t)i;
  const double *t = p->slip + 2 * (size_t)i, rho = p->sharp[2 * i];
  const double z[2] = {gamma[0] - rho * u[0], gamma[1] - rho * u[1]};
  const double z_n = gamma[2] - p->sharp[2 * i + 1] * u[2];
  const double share = p->mu[i] * z_n / (t[0] * z[0] + t[1] * z[1]);
  const double across[2] = {-share * t[1], share * t[0]};
  write_rows(1, p, n_listed, k, unknowns, across, rows);
  rows[p->first[k]] += (1 - share) / rho;
}

/* Finds the step to the solution of the linearized equations, and its change of u. Returns 0 if
 * there is none. */
static int find_step(const struct sap_small_problem *p) {
  int32_t n_listed;
  const int32_t unknowns = list_contacts(p, &n_listed), ld = sap_impulses_stride(unknowns);
  for (int32_t k = 0; k < n_listed; ++k) {
    write_equations(p, n_listed, k, unknowns, p->system + (size_t)p->first[k] * (size_t)ld);
  }
  if (!solve_rows(unknowns, ld, p->system, p->times, p->solution)) {
    return 0;
  }
  for (int32_t i = 0; i < 3 * p->n; ++i) {
    p->step[i] = -p->gamma[i];
  }
  for (int32_t k = 0; k < n_listed; ++k) {
    const int32_t i = p->listed[k];
    const double *x = p->solution + p->first[k], *t = p->slip + 2 * (size_t)i;
    double *step = p->step + 3 * (size_t)i;
    if (slides(p, i)) {
      step[0] += p->mu[i] * x[1] * t[0] - x[0] * t[1];
      step[1] += p->mu[i] * x[1] * t[1] + x[0] * t[0];
      step[2] += x[1];
    } else {
      step[0] += x[0];
      step[1] += x[1];
      step[2] += x[2];
    }
  }
  memset(p->change, 0, (size_t)p->ld * sizeof *p->change);
  add_columns(p, 0, 3 * p->n, p->step, p->change);
  return 1;
}

/* Takes a step from gamma, where the natural map is `before`; it is halved while that does not
 * fall. Returns the natural map after it, or infinity if there is no step. */
static double take_step(const struct sap_small_problem *p, int halvings, double before) {
  double now = INFINITY, part = 1, done = 0;
  if (!find_step(p)) {
    return INFINITY;
  }
  for (int h = 0; h <= halvings && !(now < before); ++h, part *= 0.5) {
    for (int32_t i = 0; i < 3 * p->n; ++i) {
      p->gamma[i] += (part - done) * p->step[i];
      p->u[i] += (part - done) * p->change[i];
    }
    done = part;
    now = find_residual(p, p->sharp);
  }
  return now;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* Prepares the scaling, the inverses and u at gamma. Returns the natural map at 0. */
static double begin(struct sap_small_problem *p) {
  const size_t ld = (size_t)p->ld;
  const int32_t n = 3 * p->n;
  for (int32_t i = 0; i < p->n; ++i) {
    const double *block = p->M + 3 * (size_t)i * (ld + 1);
    p->rho[2 * i] = 2 / (fabs(block[0]) + fabs(block[ld + 1]));
    p->rho[2 * i + 1] = 1 / fabs(block[2 * ld + 2]);
    invert_block(block, ld, p->inverse + 9 * (size_t)i);
  }
  for (int32_t i = 0; i < n; ++i) {
    double *row = p->rows + (size_t)i * ld;
    for (int32_t j = 0; j < n; ++j) {
      row[j] = p->M[(size_t)j * ld + (size_t)i];
    }
    memset(row + n, 0, (ld - (size_t)n) * sizeof *row);
  }
  memcpy(p->best, p->gamma, (size_t)n * sizeof *p->best);
  memset(p->gamma, 0, (size_t)n * sizeof *p->gamma);
  memcpy(p->u, p->q, ld * sizeof *p->u);
  const double at_zero = find_residual(p, p->rho);
  memcpy(p->gamma, p->best, (size_t)n * sizeof *p->gamma);
  add_columns(p, 0, n, p->gamma, p->u);
  return at_zero;
}

/* Keeps gamma if its natural map is the smallest. */
static void keep(const struct sap_small_problem *p, double *least) {
  const double now = find_residual(p, p->rho);
  if (now < *least) {
    *least = now;
    memcpy(p->best, p->gamma, 3 * (size_t)p->n * sizeof *p->best);
  }
}

/* Sets rho of Newton's steps. */
static void sharpen(const struct sap_small_problem *p, double sharpness) {
  for (int32_t i = 0; i < p->n; ++i) {
    p->sharp[2 * i] = sharpness * p->rho[2 * i];
    p->sharp[2 * i + 1] = p->rho[2 * i + 1];
  }
}

/* Takes a cycle of sweeps and Newton's steps. */
static void take_cycle(const struct sap_small_problem *p, const struct sap_small_search *search,
                       int cycle, double enough, double *least) {
  for (int k = 0; k < (cycle == 0 ? SAP_SMALL_FIRST_SWEEPS : SAP_SMALL_SWEEPS); ++k) {
    sweep(p);
  }
  keep(p, least);
  sharpen(p, search->sharpness[cycle]);
  double now = find_residual(p, p->sharp);
  for (int k = 0; k < search->steps && now < INFINITY && *least > enough; ++k) {
    now = take_step(p, search->halvings, now);
    keep(p, least);
  }
}

sap_small_function SAP_OF_ISA(sap_small_solve_);
double SAP_OF_ISA(sap_small_solve_)(struct sap_small_problem *p) {
  const size_t bytes = 3 * (size_t)p->n * sizeof *p->gamma;
  const struct sap_small_search *search = p->thorough ? &sap_small_thorough : &sap_small_usual;
  const double at_zero = begin(p);
  double least = find_residual(p, p->rho), before = INFINITY;
  if (!(least <= at_zero)) {
    memset(p->best, 0, bytes);
    least = at_zero;
  }
  for (int cycle = 0; cycle < SAP_SMALL_CYCLES && least > sap_small_tolerance * at_zero &&
                      !(cycle > 1 && !search->persists && least > sap_small_progress * before);
       ++cycle) {
    before = least;
    take_cycle(p, search, cycle, sap_small_last * at_zero, &least);
  }
  memcpy(p->gamma, p->best, bytes);
  return at_zero > 0 ? least / at_zero : 0;
}
