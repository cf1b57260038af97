/* This file is compiled once per instruction set. */
#include "solver/delassus/delassus_newton.h"

#include <math.h>
#include <string.h>

#include "solver/delassus/delassus_step.h"
#include "solver/delassus/natural_map.h"
#include "solver/solver_tuning.h"

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* Adds d to the entries of gamma from k on, and updates u. */
INLINE void change(const struct sap_impulses *p, int32_t k, const int32_t size, const double *d) {
  const double *column = p->W + (size_t)k * (size_t)p->ld;
  for (int32_t l = 0; l < size; ++l) {
    p->gamma[k + l] += d[l];
  }
  for (int32_t i = 0; i < p->ld; i += SIMD_WIDTH) {
    simd u = simd_load(p->u + i);
    for (int32_t l = 0; l < size; ++l) {
      u -= simd_all(d[l]) * simd_load(column + (size_t)l * (size_t)p->ld + i);
    }
    simd_store(p->u + i, u);
  }
}

static void move_to(const struct sap_impulses *p, int32_t k, double value) {
  const double d = value - p->gamma[k];
  if (d != 0) {
    change(p, k, 1, &d);
  }
}

/* The factors of W_tt + shift I = U^T D^-1 U; U has D as its diagonal. */
struct factor {
  double U[SAP_MOST_TANGENTIAL][SAP_MOST_TANGENTIAL], inverse[SAP_MOST_TANGENTIAL];
};

INLINE void factor_tangential(const struct sap_impulses *p, const struct contact *c, double shift,
                              struct factor *f) {
  for (int32_t k = 0; k < c->size; ++k) {
    memcpy(f->U[k], p->W + (size_t)(c->t + k) * (size_t)p->ld + (size_t)c->t,
           (size_t)c->size * sizeof **f->U);
    f->U[k][k] += shift;
  }
  for (int32_t k = 0; k < c->size; ++k) {
    f->inverse[k] = 1 / f->U[k][k];
    for (int32_t i = k + 1; i < c->size; ++i) {
      const double factor = f->U[k][i] * f->inverse[k];
      for (int32_t j = i; j < c->size; ++j) {
        f->U[i][j] -= factor * f->U[k][j];
      }
    }
  }
}

/* Computes x = D U^-T x. */
INLINE void solve_forward(const struct factor *f, const int32_t size, double *x) {
  for (int32_t k = 0; k < size; ++k) {
    const double share = f->inverse[k] * x[k];
    for (int32_t i = k + 1; i < size; ++i) {
      x[i] -= share * f->U[k][i];
    }
  }
}

/* Computes x = U^-1 x. */
INLINE void solve_backward(const struct factor *f, const int32_t size, double *x) {
  for (int32_t k = size; k-- > 0;) {
    for (int32_t j = k + 1; j < size; ++j) {
      x[k] -= f->U[k][j] * x[j];
    }
    x[k] *= f->inverse[k];
  }
}

/* Estimates the shift for which |(W_tt + shift I)^-1 b| is the bound, by a step of Newton's method
 * on 1/|z| from z at shift 0. */
INLINE double shift_of(const struct factor *f, const int32_t size, const double *z, double length,
                       double bound) {
  double x[SAP_MOST_TANGENTIAL], product = 0;
  memcpy(x, z, (size_t)size * sizeof *x);
  solve_forward(f, size, x);
  for (int32_t k = 0; k < size; ++k) {
    product += f->inverse[k] * x[k] * x[k];
  }
  return length * length / product * (length - bound) / bound;
}

/* Computes z = (W_tt + shift I)^-1 (W_tt gamma_t + u_t), the impulse that slides by u_t = shift
 * z. */
INLINE void slide_by(const struct sap_impulses *p, const struct contact *c, double shift,
                     double *z) {
  struct factor sliding;
  factor_tangential(p, c, shift, &sliding);
  for (int32_t k = 0; k < c->size; ++k) {
    const double *row = p->W + (size_t)(c->t + k) * (size_t)p->ld + (size_t)c->t;
    z[k] = p->u[c->t + k];
    for (int32_t l = 0; l < c->size; ++l) {
      z[k] += row[l] * p->gamma[c->t + l];
    }
  }
  solve_forward(&sliding, c->size, z);
  solve_backward(&sliding, c->size, z);
}

/* Finds the tangential impulse z of a contact with all others fixed. It is the sticking impulse if
 * that is within the bound, otherwise an impulse at the bound. Without torsion W_tt is about a
 * multiple of I, and a step of the natural map gives the latter; with torsion slide_by() does. */
INLINE void relax_friction(const struct sap_impulses *p, const struct contact *c, double bound,
                           double z[SAP_MOST_TANGENTIAL]) {
  const double *gamma = p->gamma + c->t, *u = p->u + c->t;
  struct factor sticking;
  factor_tangential(p, c, 0, &sticking);
  memcpy(z, u, (size_t)c->size * sizeof *z);
  solve_forward(&sticking, c->size, z);
  solve_backward(&sticking, c->size, z);
  for (int32_t k = 0; k < c->size; ++k) {
    z[k] += gamma[k];
  }
  double square = squares(c->size, z);
  if (square <= bound * bound) {
    return;
  }
  if (c->size > SLIP && bound > 0) {
    slide_by(p, c, shift_of(&sticking, c->size, z, sqrt(square), bound), z);
  } else {
    for (int32_t k = 0; k < c->size; ++k) {
      z[k] = gamma[k] + u[k] * c->inverse_s;
    }
  }
  square = squares(c->size, z);
  const double share = square > bound * bound ? bound / sqrt(square) : 1;
  for (int32_t k = 0; k < c->size; ++k) {
    z[k] *= share;
  }
}

/* Moves a contact to its image with s doubled, which bounds its block of W: that descends. */
INLINE void relax_convex(const struct sap_impulses *p, int32_t i, const int32_t size) {
  const struct contact c = contact_at(p, i, size);
  const struct image to = map_contact(p, &c, size, 0.5);
  double d[SAP_MOST_TANGENTIAL + 1];
  for (int32_t k = 0; k < size; ++k) {
    d[k] = to.share * to.z[k] - p->gamma[c.t + k];
  }
  d[size] = to.normal - p->gamma[c.n];
  change(p, c.t, size + 1, d);
}

/* Relaxes the normal impulse of a contact with the others fixed, then the tangential one. */
INLINE void relax_coulomb(const struct sap_impulses *p, int32_t i, const int32_t size) {
  const struct contact c = contact_at(p, i, size);
  const double normal = p->gamma[c.n] + p->u[c.n] * c.inverse_n;
  double z[SAP_MOST_TANGENTIAL];
  move_to(p, c.n, normal > 0 ? normal : 0);
  relax_friction(p, &c, c.mu * p->gamma[c.n], z);
  for (int32_t k = 0; k < c.size; ++k) {
    z[k] -= p->gamma[c.t + k];
  }
  change(p, c.t, size, z);
}

static void sweep(const struct sap_impulses *p) {
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    if (p->is_convex) {
      relax_convex(p, i, tangential(p, i));
    } else if (tangential(p, i) == SLIP) {
      relax_coulomb(p, i, SLIP);
    } else {
      relax_coulomb(p, i, tangential(p, i));
    }
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int32_t k = p->first[p->n_contacts] + i;
    move_to(p, k, clamp(p->gamma[k] + p->u[k] * p->inverse[k], p->lower[i], p->upper[i]));
  }
}

/* ---- Newton's steps -------------------------------------------------------------------------- */

/* Moves gamma and u by alpha times the step. Returns the residual there. */
static struct residual_norm advance(const struct sap_impulses *p, double alpha) {
  const double *step = p->step, *du = p->step + p->ld;
  for (int32_t k = 0; k < p->ld; ++k) {
    p->gamma[k] += alpha * step[k];
    p->u[k] += alpha * du[k];
  }
  return find_residual_norm(p);
}

/* Takes the full step. If that increases the residual much, half of it or a quarter may be
 * better. */
static struct residual_norm take_step(const struct sap_impulses *p, double before) {
  struct residual_norm best = advance(p, 1), now = best;
  double alpha = 1, at = 1;
  for (int k = 1; k <= SAP_HALVINGS && !(best.largest <= sap_residual_growth * before); ++k) {
    now = advance(p, -0.5 * at);
    at *= 0.5;
    if (now.largest < best.largest) {
      best = now;
      alpha = at;
    }
  }
  return alpha == at ? now : advance(p, alpha - at);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* Sets u to its value at gamma, and prepares the map. Returns 1 if any gamma is not 0. */
static int begin(struct sap_impulses *p) {
  const int32_t m = sap_impulses_size(p);
  int any = 0;
  begin_map(p);
  for (int32_t k = 0; k < m; ++k) {
    if (p->gamma[k] != 0) {
      subtract_listed(p, 1, &k, p->gamma + k, p->u);
      any = 1;
    }
  }
  p->factored[0] = -1; /* no kind */
  return any;
}

/* Makes all sliding contacts stick. Without impulses all touching contacts slide, but most contacts
 * of a standing robot stick. */
static void stick(const struct sap_impulses *p) {
  for (int32_t k = 0; k < p->first[p->n_contacts]; ++k) {
    if (p->kind[k] == SAP_KIND_SLIDES) {
      p->kind[k] = SAP_KIND_FREE;
      p->residual[k] = p->u[k];
    }
  }
}

sap_impulses_function SAP_OF_ISA(sap_impulses_find_);
double SAP_OF_ISA(sap_impulses_find_)(struct sap_impulses *p) {
  const size_t m = (size_t)sap_impulses_size(p), bytes = m * sizeof(double);
  const int has_torsion = p->first[p->n_contacts] > 3 * p->n_contacts, is_near = begin(p);
  const int32_t least = is_near ? SAP_NEAR_SWEEPS : has_torsion ? SAP_TORSIONAL_SWEEPS : SAP_SWEEPS;
  struct residual_norm norm = {INFINITY, INFINITY};
  for (int32_t round = 0, sweeps = 0; round < SAP_DELASSUS_ROUNDS; ++round) {
    for (int32_t k = 0; k < sweeps; ++k) {
      sweep(p);
    }
    memcpy(p->before, p->gamma, bytes);
    memcpy(p->before + m, p->u, bytes);
    const struct residual_norm first = norm = find_residual_norm(p);
    if (round == 0 && !is_near && norm.share > sap_delassus_tolerance) {
      stick(p);
    }
    for (int k = 0; k < SAP_DELASSUS_STEPS && norm.share > sap_delassus_tolerance && find_step(p);
         ++k) {
      norm = take_step(p, norm.largest);
    }
    if (norm.share <= sap_delassus_tolerance) {
      break;
    }
    if (!(norm.share < first.share)) {
      memcpy(p->gamma, p->before, bytes);
      memcpy(p->u, p->before + m, bytes);
      norm = first;
    }
    sweeps = sweeps > 0 ? 2 * sweeps : least;
  }
  return norm.share;
}
