/* compiled once per instruction set */
#include "sap/impulses.h"

#include <math.h>
#include <string.h>

#include "linalg/isa.h"

/* rounds of sweeps, each with more than the one before, and Newton's steps after each; what may be
 * left in the end */
enum { ROUNDS = 3, SWEEPS = 4, STEPS = 4 };
static const double enough = 1e-11;

/* gamma += d for entry k, and u with it */
static void change(const struct sap_impulses *p, int32_t k, double d) {
  const int32_t m = sap_impulses_size(p);
  const double *restrict column = p->W + (size_t)k * (size_t)p->ld;
  double *restrict u = p->u;
  p->gamma[k] += d;
  for (int32_t j = 0; j < m; ++j) {
    u[j] -= d * column[j];
  }
}

static void move_to(const struct sap_impulses *p, int32_t k, double value) {
  if (value != p->gamma[k]) {
    change(p, k, value - p->gamma[k]);
  }
}

static double clamp(double x, double lower, double upper) {
  return x < lower ? lower : x > upper ? upper : x;
}

/* the block of a contact: W of its tangential part, and of its normal one */
struct block {
  double W_11, W_12, W_22, W_n;
  double s; /* of the tangential part: the trace, no less than its largest eigenvalue */
};

static struct block block_of(const struct sap_impulses *p, int32_t contact) {
  const double *one = p->W + (size_t)(3 * contact) * (size_t)(p->ld + 1);
  const double *two = one + p->ld, *normal = two + p->ld;
  return (struct block){one[0], one[1], two[1], normal[2], one[0] + two[1]};
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* the normal impulse of a contact with the others held, then the tangential one: that of sticking
 * where it is small enough, else a step of the map */
static void relax_contact(const struct sap_impulses *p, int32_t contact) {
  const struct block c = block_of(p, contact);
  const double *gamma = p->gamma + 3 * (size_t)contact, *u = p->u + 3 * (size_t)contact;
  const double normal = gamma[2] + u[2] / c.W_n;
  move_to(p, 3 * contact + 2, normal > 0 ? normal : 0);
  const double bound = p->mu[contact] * gamma[2], inverse = 1 / (c.W_11 * c.W_22 - c.W_12 * c.W_12);
  double z[2] = {gamma[0] + inverse * (c.W_22 * u[0] - c.W_12 * u[1]),
                 gamma[1] + inverse * (c.W_11 * u[1] - c.W_12 * u[0])};
  if (!(z[0] * z[0] + z[1] * z[1] <= bound * bound)) {
    z[0] = gamma[0] + u[0] / c.s;
    z[1] = gamma[1] + u[1] / c.s;
    const double size = sqrt(z[0] * z[0] + z[1] * z[1]), share = size > bound ? bound / size : 1;
    z[0] *= share;
    z[1] *= share;
  }
  move_to(p, 3 * contact, z[0]);
  move_to(p, 3 * contact + 1, z[1]);
}

static void sweep(const struct sap_impulses *p) {
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    relax_contact(p, i);
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int32_t k = 3 * p->n_contacts + i;
    const double W = p->W[(size_t)k * (size_t)(p->ld + 1)];
    move_to(p, k, clamp(p->gamma[k] + p->u[k] / W, p->lower[i], p->upper[i]));
  }
}

/* ---- Newton's method on the map ---------------------------------------------------------------- */

/* Row k of the system, of an entry that is free: W dgamma = u. Of one that is held at a value: s dgamma
 * = s (value - gamma). */
static double *free_row(const struct sap_impulses *p, int32_t k) {
  const size_t m = (size_t)sap_impulses_size(p);
  double *row = p->system + (size_t)k * (m + 1);
  memcpy(row, p->W + (size_t)k * (size_t)p->ld, m * sizeof *row);
  row[m] = p->u[k];
  return row;
}

static double *held_row(const struct sap_impulses *p, int32_t k, double s, double value) {
  const size_t m = (size_t)sap_impulses_size(p);
  double *row = p->system + (size_t)k * (m + 1);
  memset(row, 0, m * sizeof *row);
  row[k] = s;
  row[m] = s * (value - p->gamma[k]);
  return row;
}

/* gamma_t = mu gamma_n t, t = z_t/|z_t|, times s: rows that were those of sticking */
static void slide(const struct sap_impulses *p, int32_t contact, double s, const double z[2],
                  double size, double *const row[2]) {
  const int32_t m = sap_impulses_size(p), k = 3 * contact;
  const double *gamma = p->gamma + k, mu = p->mu[contact], bound = mu * gamma[2];
  const double t[2] = {z[0] / size, z[1] / size}, share = bound / size;
  const double across[3] = {share * (1 - t[0] * t[0]), -share * t[0] * t[1],
                            share * (1 - t[1] * t[1])};
  for (int32_t j = 0; j < m; ++j) {
    const double one = row[0][j], two = row[1][j];
    row[0][j] = across[0] * one + across[1] * two;
    row[1][j] = across[1] * one + across[2] * two;
  }
  for (int r = 0; r < 2; ++r) {
    row[r][k] += s * ((r == 0) - across[r]);
    row[r][k + 1] += s * ((r == 1) - across[r + 1]);
    row[r][k + 2] -= s * mu * t[r];
    row[r][m] = s * (bound * t[r] - gamma[r]);
  }
}

static void linearize_contact(const struct sap_impulses *p, int32_t contact) {
  const struct block c = block_of(p, contact);
  const int32_t k = 3 * contact;
  const double *gamma = p->gamma + k, *u = p->u + k;
  if (!(gamma[2] + u[2] / c.W_n > 0)) {
    held_row(p, k, c.s, 0);
    held_row(p, k + 1, c.s, 0);
    held_row(p, k + 2, c.W_n, 0);
    return;
  }
  free_row(p, k + 2);
  double *const row[2] = {free_row(p, k), free_row(p, k + 1)};
  const double z[2] = {gamma[0] + u[0] / c.s, gamma[1] + u[1] / c.s},
               size = sqrt(z[0] * z[0] + z[1] * z[1]);
  if (size > p->mu[contact] * gamma[2]) {
    slide(p, contact, c.s, z, size, row);
  }
}

/* the system at gamma; what is left of the map, as it is returned in the end */
static double linearize(const struct sap_impulses *p) {
  const int32_t m = sap_impulses_size(p);
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    linearize_contact(p, i);
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int32_t k = 3 * p->n_contacts + i;
    const double W = p->W[(size_t)k * (size_t)(p->ld + 1)], z = p->gamma[k] + p->u[k] / W;
    const double value = clamp(z, p->lower[i], p->upper[i]);
    if (value == z) {
      free_row(p, k);
    } else {
      held_row(p, k, W, value);
    }
  }
  double rest = 0, most = 0, sum = 0;
  for (int32_t k = 0; k < m; ++k) {
    const double lacks = fabs(p->system[(size_t)k * (size_t)(m + 1) + (size_t)m]);
    const double size = p->W[(size_t)k * (size_t)(p->ld + 1)] * fabs(p->gamma[k]);
    rest = lacks > rest ? lacks : rest;
    most = size > most ? size : most;
    sum += lacks + size;
  }
  if (!(sum < INFINITY)) {
    return INFINITY; /* NaN */
  }
  return rest > 0 ? rest / most : 0;
}

/* brings the system to triangular form, with pivots; 0 where it is singular */
static int eliminate(double *a, int32_t m) {
  const size_t width = (size_t)m + 1;
  for (int32_t k = 0; k < m; ++k) {
    double *top = a + (size_t)k * width, *pivot = top;
    for (int32_t i = k + 1; i < m; ++i) {
      double *below = a + (size_t)i * width;
      pivot = fabs(below[k]) > fabs(pivot[k]) ? below : pivot;
    }
    for (int32_t j = k; pivot != top && j <= m; ++j) {
      const double x = top[j];
      top[j] = pivot[j];
      pivot[j] = x;
    }
    const double inverse = 1 / top[k];
    if (!(fabs(inverse) < INFINITY)) {
      return 0;
    }
    for (int32_t i = k + 1; i < m; ++i) {
      double *restrict below = a + (size_t)i * width;
      const double *restrict from = top;
      const double factor = below[k] * inverse;
      for (int32_t j = k + 1; factor != 0 && j <= m; ++j) {
        below[j] -= factor * from[j];
      }
    }
  }
  return 1;
}

/* a step of Newton's method; 0 where there is none */
static int take_step(const struct sap_impulses *p) {
  const int32_t m = sap_impulses_size(p);
  const size_t width = (size_t)m + 1;
  double *a = p->system;
  if (!eliminate(a, m)) {
    return 0;
  }
  for (int32_t k = m - 1; k >= 0; --k) {
    double *row = a + (size_t)k * width;
    double x = row[m];
    for (int32_t j = k + 1; j < m; ++j) {
      x -= row[j] * a[(size_t)j * width + (size_t)m];
    }
    row[m] = x / row[k];
  }
  for (int32_t k = 0; k < m; ++k) {
    change(p, k, a[(size_t)k * width + (size_t)m]);
  }
  return 1;
}

/* ---- both ------------------------------------------------------------------------------------ */

sap_impulses_function SAP_OF_ISA(sap_impulses_find_);
double SAP_OF_ISA(sap_impulses_find_)(struct sap_impulses *p) {
  const size_t m = (size_t)sap_impulses_size(p), bytes = m * sizeof(double);
  double rest = INFINITY;
  memset(p->gamma, 0, bytes);
  for (int32_t round = 0, sweeps = SWEEPS; round < ROUNDS; ++round, sweeps *= 2) {
    for (int32_t k = 0; k < sweeps; ++k) {
      sweep(p);
    }
    memcpy(p->before, p->gamma, bytes);
    memcpy(p->before + m, p->u, bytes);
    const double begin = rest = linearize(p);
    for (int k = 0; k < STEPS && rest > enough && (k < 2 || rest < begin) && take_step(p); ++k) {
      rest = linearize(p);
    }
    if (rest <= enough) {
      break;
    }
    if (!(rest < begin)) {
      memcpy(p->gamma, p->before, bytes);
      memcpy(p->u, p->before + m, bytes);
      rest = begin;
    }
  }
  return rest;
}
