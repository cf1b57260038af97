/* Newton's step on the natural map, for files that are compiled once per instruction set.
 *
 * Unknowns that are held change by what they lack. Those that are free, all of contacts that stick
 * among them, ask for W dgamma = lack, which is symmetric: Cholesky eliminates them. What is left
 * is the problem of the contacts that slide, with
 *
 *     K = W_ss - W_sf W_ff^-1 W_fs
 *
 * for W, whose equations are few and not symmetric. While the same unknowns are free, slide and are
 * held the factor and K stay. */
#ifndef SAPWOOD_SAP_IMPULSE_STEP_H
#define SAPWOOD_SAP_IMPULSE_STEP_H

#include "sap/elimination.h"
#include "sap/natural_map.h"

/* ---- what is factored ------------------------------------------------------------------------ */

/* appends the unknowns of a kind to the n that are listed; returns how many there are then */
static int32_t list_kind(const struct sap_impulses *p, int8_t kind, int32_t n) {
  for (int32_t k = 0, m = sap_impulses_size(p); k < m; ++k) {
    if (p->kind[k] == kind) {
      p->listed[n++] = k;
    }
  }
  return n;
}

static int factor_free(struct sap_impulses *p) {
  const int32_t m = sap_impulses_size(p), ld = p->ld;
  const int32_t n_free = p->n_free = list_kind(p, SAP_KIND_FREE, 0);
  const int32_t n = list_kind(p, SAP_KIND_SLIDES, n_free), n_sliding = p->n_sliding = n - n_free;
  const int32_t ld_K = sap_impulses_stride(n_sliding);
  memcpy(p->factored, p->kind, (size_t)m);
  for (int32_t j = 0; j < n_free; ++j) {
    const double *column = p->W + (size_t)p->listed[j] * (size_t)ld;
    for (int32_t i = j; i < n; ++i) {
      p->panel[(size_t)j * (size_t)ld + (size_t)i] = column[p->listed[i]];
    }
  }
  if (n_free > 0 && SAP_OF_ISA(sap_factor_)(n, n_free, p->panel, ld) < n_free) {
    return 0;
  }
  memset(p->K, 0, (size_t)n_sliding * (size_t)ld_K * sizeof *p->K);
  for (int32_t j = 0; j < n_sliding; ++j) {
    const double *column = p->W + (size_t)p->listed[n_free + j] * (size_t)ld;
    for (int32_t i = 0; i < n_sliding; ++i) {
      p->K[(size_t)j * (size_t)ld_K + (size_t)i] = column[p->listed[n_free + i]];
    }
  }
  if (n_free > 0 && n_sliding > 0) {
    const double *rows = p->panel + n_free;
    SAP_OF_ISA(sap_multiply_)(n_sliding, n_sliding, n_free, -1, rows, ld, rows, ld, p->K, ld_K, 0);
  }
  return 1;
}

/* ---- contacts that slide --------------------------------------------------------------------- */

/* gamma_t = mu gamma_n t, t = z_t/|z_t|, times s: rows, with their right hand side, that were those
 * of sticking; the contact's own entries begin at column `first` */
INLINE void slide(const struct sap_impulses *p, int32_t i, const int32_t size, double *rows,
                  int32_t ld, int32_t first) {
  const struct contact c = contact_at(p, i, size);
  const struct place at = place_of(p, &c);
  const double share = c.mu * p->gamma[c.n] / at.size;
  double t[SAP_MOST_TANGENTIAL], *along = p->step;
  for (int32_t k = 0; k < size; ++k) {
    t[k] = at.z[k] / at.size;
  }
  /* share (I - t t^T) of them */
  memset(along, 0, (size_t)ld * sizeof *along);
  for (int32_t k = 0; k < size; ++k) {
    subtract(ld, -t[k], rows + (size_t)k * (size_t)ld, along);
  }
  for (int32_t k = 0; k < size; ++k) {
    double *row = rows + (size_t)k * (size_t)ld;
    for (int32_t j = 0; j < ld; ++j) {
      row[j] = share * (row[j] - t[k] * along[j]);
    }
  }
  for (int32_t k = 0; k < size; ++k) {
    double *row = rows + (size_t)k * (size_t)ld + (size_t)first;
    for (int32_t l = 0; l < size; ++l) {
      row[l] += c.s * ((k == l) - share * ((k == l) - t[k] * t[l]));
    }
    row[size] -= c.s * c.mu * t[k];
  }
}

/* x (n_sliding): from what the free ones and the held ones bring of W dgamma, to dgamma */
static int solve_sliding(const struct sap_impulses *p, double *x) {
  const int32_t n = p->n_sliding, ld = sap_impulses_stride(n);
  memcpy(p->system, p->K, (size_t)n * (size_t)ld * sizeof *p->K);
  for (int32_t k = 0; k < n; ++k) {
    p->system[(size_t)k * (size_t)ld + (size_t)n] = x[k];
  }
  for (int32_t i = 0, k = 0; i < p->n_contacts; ++i) {
    const int32_t first = p->first[i], size = tangential(p, i);
    double *rows = p->system + (size_t)k * (size_t)ld;
    if (p->kind[first] != SAP_KIND_SLIDES) {
      continue;
    }
    if (size == SLIP) {
      slide(p, i, SLIP, rows, ld, k);
    } else {
      slide(p, i, size, rows, ld, k);
    }
    for (int32_t l = 0; l <= size; ++l) {
      rows[(size_t)l * (size_t)ld + (size_t)n] += p->lack[first + l];
    }
    k += size + 1;
  }
  return solve_rows(n, ld, p->system, p->step, x);
}

/* ---- the step -------------------------------------------------------------------------------- */

/* what an unknown that is held lacks, where it was found with s */
static double held_step(const struct sap_impulses *p, int32_t k) {
  return k < p->first[p->n_contacts] ? -p->gamma[k] : p->lack[k] / diagonal(p, k);
}

/* the step, and what it changes of u; 0 where there is none */
static int find_step(struct sap_impulses *p) {
  const int32_t m = sap_impulses_size(p), ld = p->ld;
  double *step = p->step, *du = p->step + ld, *x = p->solution;
  if (memcmp(p->kind, p->factored, (size_t)m) != 0 && !factor_free(p)) {
    p->factored[0] = -1;
    return 0;
  }
  const int32_t n_free = p->n_free, n = n_free + p->n_sliding;
  memset(du, 0, (size_t)ld * sizeof *du);
  for (int32_t k = 0; k < m; ++k) {
    if (p->kind[k] == SAP_KIND_HELD && p->lack[k] != 0) {
      subtract(ld, held_step(p, k), p->W + (size_t)k * (size_t)ld, du);
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    const int32_t k = p->listed[i];
    x[i] = du[k] + (i < n_free ? p->lack[k] : 0);
  }
  if (n_free > 0) {
    SAP_OF_ISA(sap_solve_forward_)(n, n_free, p->panel, ld, x, x + n_free);
  }
  if (!solve_sliding(p, x + n_free)) {
    return 0;
  }
  if (n_free > 0) {
    SAP_OF_ISA(sap_solve_backward_)(n, n_free, p->panel, ld, x, x + n_free);
  }
  for (int32_t k = 0; k < m; ++k) {
    step[k] = p->kind[k] == SAP_KIND_HELD ? held_step(p, k) : 0;
  }
  for (int32_t i = 0; i < n; ++i) {
    step[p->listed[i]] = x[i];
    subtract(ld, x[i], p->W + (size_t)p->listed[i] * (size_t)ld, du);
  }
  return 1;
}

#endif
