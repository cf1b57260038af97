/* compiled once per instruction set */
#include "sap/impulses.h"

#include <math.h>
#include <string.h>

#include "linalg/isa.h"

/* Rounds of sweeps, each with more than the one before, and Newton's steps after each; how often a
 * step is halved, and by what it may miss before it is; what may be left in the end. */
enum { ROUNDS = 3, SWEEPS = 4, STEPS = 12, HALVINGS = 2 };
static const double rises = 5, enough = 1e-11;

/* y -= a x, in whole vectors */
INLINE void subtract(int32_t n, double a, const double *restrict x, double *restrict y) {
  for (int32_t i = 0; i < n; i += SAP_IMPULSES_CHUNK) {
    for (int32_t j = i; j < i + SAP_IMPULSES_CHUNK; ++j) {
      y[j] -= a * x[j];
    }
  }
}

/* gamma += d for entry k, and u with it */
static void change(const struct sap_impulses *p, int32_t k, double d) {
  p->gamma[k] += d;
  subtract(p->ld, d, p->W + (size_t)k * (size_t)p->ld, p->u);
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

/* ---- the map --------------------------------------------------------------------------------- */

static double larger(double a, double b) { return a > b ? a : b; }

/* of a contact: does it touch, does it slide, and z_t with its length */
struct place {
  int touches, slides;
  double z[2], size;
};

static struct place place_of(const struct sap_impulses *p, int32_t contact, const struct block *c) {
  const double *gamma = p->gamma + 3 * (size_t)contact, *u = p->u + 3 * (size_t)contact;
  struct place at = {.touches = gamma[2] + u[2] / c->W_n > 0,
                     .z = {gamma[0] + u[0] / c->s, gamma[1] + u[1] / c->s}};
  at.size = sqrt(at.z[0] * at.z[0] + at.z[1] * at.z[1]);
  at.slides = at.touches && at.size > p->mu[contact] * gamma[2];
  return at;
}

/* s (map(gamma) - gamma) of a contact */
static void find_lack(const struct sap_impulses *p, int32_t contact) {
  const struct block c = block_of(p, contact);
  const struct place at = place_of(p, contact, &c);
  const double *gamma = p->gamma + 3 * (size_t)contact, *u = p->u + 3 * (size_t)contact;
  double *lack = p->lack + 3 * (size_t)contact;
  const double share = at.slides ? p->mu[contact] * gamma[2] / at.size : 0;
  for (int r = 0; r < 2; ++r) {
    lack[r] = at.touches && !at.slides ? u[r] : c.s * (share * at.z[r] - gamma[r]);
  }
  lack[2] = at.touches ? u[2] : -c.W_n * gamma[2];
}

/* what is left of the map at gamma: the largest of p->lack, and that over the largest s |gamma| */
struct rest {
  double largest, share;
};

static struct rest find_rest(const struct sap_impulses *p) {
  const int32_t m = sap_impulses_size(p);
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    find_lack(p, i);
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int32_t k = 3 * p->n_contacts + i;
    const double W = p->W[(size_t)k * (size_t)(p->ld + 1)], z = p->gamma[k] + p->u[k] / W;
    const double value = clamp(z, p->lower[i], p->upper[i]);
    p->lack[k] = value == z ? p->u[k] : W * (value - p->gamma[k]);
  }
  double largest = 0, most = 0, sum = 0;
  for (int32_t k = 0; k < m; ++k) {
    const double lacks = fabs(p->lack[k]);
    const double size = p->W[(size_t)k * (size_t)(p->ld + 1)] * fabs(p->gamma[k]);
    largest = larger(largest, lacks);
    most = larger(most, size);
    sum += lacks + size;
  }
  if (!(sum < INFINITY)) {
    return (struct rest){INFINITY, INFINITY}; /* NaN */
  }
  return (struct rest){largest, largest > 0 ? largest / most : 0};
}

/* ---- Newton's method on the map -------------------------------------------------------------- */

/* Row k of the system, of an entry that is free: W dgamma = lack. Of one that is held: s dgamma =
 * lack. */
static double *free_row(const struct sap_impulses *p, int32_t k) {
  double *row = p->system + (size_t)k * (size_t)p->ld;
  memcpy(row, p->W + (size_t)k * (size_t)p->ld, (size_t)p->ld * sizeof *row);
  row[sap_impulses_size(p)] = p->lack[k];
  return row;
}

static void hold_row(const struct sap_impulses *p, int32_t k, double s) {
  double *row = p->system + (size_t)k * (size_t)p->ld;
  memset(row, 0, (size_t)p->ld * sizeof *row);
  row[k] = s;
  row[sap_impulses_size(p)] = p->lack[k];
}

/* gamma_t = mu gamma_n t, t = z_t/|z_t|, times s: rows that were those of sticking */
static void slide(const struct sap_impulses *p, int32_t contact, double s, const struct place *at,
                  double *const row[2]) {
  const int32_t m = sap_impulses_size(p), k = 3 * contact;
  const double mu = p->mu[contact], share = mu * p->gamma[k + 2] / at->size;
  const double t[2] = {at->z[0] / at->size, at->z[1] / at->size};
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
  }
}

static void linearize_contact(const struct sap_impulses *p, int32_t contact) {
  const struct block c = block_of(p, contact);
  const struct place at = place_of(p, contact, &c);
  const int32_t k = 3 * contact;
  if (!at.touches) {
    hold_row(p, k, c.s);
    hold_row(p, k + 1, c.s);
    hold_row(p, k + 2, c.W_n);
    return;
  }
  free_row(p, k + 2);
  double *const row[2] = {free_row(p, k), free_row(p, k + 1)};
  if (at.slides) {
    slide(p, contact, c.s, &at, row);
  }
}

/* the system at gamma, whose right hand side is p->lack */
static void linearize(const struct sap_impulses *p) {
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    linearize_contact(p, i);
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int32_t k = 3 * p->n_contacts + i;
    if (p->lack[k] == p->u[k]) {
      free_row(p, k);
    } else {
      hold_row(p, k, p->W[(size_t)k * (size_t)(p->ld + 1)]);
    }
  }
}

/* brings the system to triangular form, with pivots; 0 where it is singular */
static int eliminate(double *a, int32_t m, int32_t ld) {
  for (int32_t k = 0; k < m; ++k) {
    double *top = a + (size_t)k * (size_t)ld, *pivot = top, most = fabs(top[k]);
    for (int32_t i = k + 1; i < m; ++i) {
      double *below = a + (size_t)i * (size_t)ld;
      const double size = fabs(below[k]);
      pivot = size > most ? below : pivot;
      most = size > most ? size : most;
    }
    /* entries before k are not needed any more */
    const int32_t first = k & ~(SAP_IMPULSES_CHUNK - 1);
    for (int32_t j = first; pivot != top && j < ld; ++j) {
      const double x = top[j];
      top[j] = pivot[j];
      pivot[j] = x;
    }
    const double inverse = 1 / top[k];
    if (!(fabs(inverse) < INFINITY)) {
      return 0;
    }
    for (int32_t i = k + 1; i < m; ++i) {
      double *below = a + (size_t)i * (size_t)ld;
      const double factor = below[k] * inverse;
      if (factor != 0) {
        subtract(ld - first, factor, top + first, below + first);
      }
    }
  }
  return 1;
}

/* the step of Newton's method, and what it changes of u; 0 where there is none */
static int find_step(const struct sap_impulses *p) {
  const int32_t m = sap_impulses_size(p);
  const double *a = p->system;
  double *step = p->step, *du = p->step + p->ld;
  linearize(p);
  if (!eliminate(p->system, m, p->ld)) {
    return 0;
  }
  for (int32_t k = m - 1; k >= 0; --k) {
    const double *row = a + (size_t)k * (size_t)p->ld;
    double x = row[m];
    for (int32_t j = k + 1; j < m; ++j) {
      x -= row[j] * step[j];
    }
    step[k] = x / row[k];
  }
  memset(du, 0, (size_t)p->ld * sizeof *du);
  for (int32_t k = 0; k < m; ++k) {
    subtract(p->ld, step[k], p->W + (size_t)k * (size_t)p->ld, du);
  }
  return 1;
}

/* gamma and u so much further along the step; what is left there */
static struct rest advance(const struct sap_impulses *p, double alpha) {
  const int32_t m = sap_impulses_size(p);
  const double *step = p->step, *du = p->step + p->ld;
  for (int32_t k = 0; k < m; ++k) {
    p->gamma[k] += alpha * step[k];
    p->u[k] += alpha * du[k];
  }
  return find_rest(p);
}

/* The full step, unless it leaves much more than there was: then half of it or a quarter may be
 * better. */
static struct rest take_step(const struct sap_impulses *p, double before) {
  struct rest best = advance(p, 1), now = best;
  double alpha = 1, at = 1;
  for (int k = 1; k <= HALVINGS && !(best.largest <= rises * before); ++k) {
    now = advance(p, -0.5 * at);
    at *= 0.5;
    if (now.largest < best.largest) {
      best = now;
      alpha = at;
    }
  }
  return alpha == at ? now : advance(p, alpha - at);
}

/* ---- both ------------------------------------------------------------------------------------ */

sap_impulses_function SAP_OF_ISA(sap_impulses_find_);
double SAP_OF_ISA(sap_impulses_find_)(struct sap_impulses *p) {
  const size_t m = (size_t)sap_impulses_size(p), bytes = m * sizeof(double);
  struct rest rest = {INFINITY, INFINITY};
  memset(p->gamma, 0, bytes);
  for (int32_t round = 0, sweeps = SWEEPS; round < ROUNDS; ++round, sweeps *= 2) {
    for (int32_t k = 0; k < sweeps; ++k) {
      sweep(p);
    }
    memcpy(p->before, p->gamma, bytes);
    memcpy(p->before + m, p->u, bytes);
    const struct rest begin = rest = find_rest(p);
    for (int k = 0; k < STEPS && rest.share > enough && find_step(p); ++k) {
      rest = take_step(p, rest.largest);
    }
    if (rest.share <= enough) {
      break;
    }
    if (!(rest.share < begin.share)) {
      memcpy(p->gamma, p->before, bytes);
      memcpy(p->u, p->before + m, bytes);
      rest = begin;
    }
  }
  return rest.share;
}
