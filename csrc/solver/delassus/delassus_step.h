/* Takes Newton's step on the natural map, for files that are compiled once per instruction set.
 *
 * Fixed unknowns change by their residual. Free unknowns, among them all of sticking contacts, obey
 * W dgamma = residual, which is symmetric: Cholesky eliminates them. The remaining problem of the
 * sliding contacts has the Schur complement
 *
 *     K = W_ss - W_sf W_ff^-1 W_fs
 *
 * in place of W. Its equations are few, and not symmetric with Coulomb's friction. The factor and K
 * stay valid while the active set does: the free, the sliding and the fixed unknowns. */
#ifndef SAPWOOD_SOLVER_DELASSUS_DELASSUS_STEP_H
#define SAPWOOD_SOLVER_DELASSUS_DELASSUS_STEP_H

#include "solver/delassus/elimination.h"
#include "solver/delassus/natural_map.h"

/* ---- factorization --------------------------------------------------------------------------- */

/* Appends the unknowns of a kind to the n listed ones. Returns their new number. */
static int32_t list_kind(const struct sap_impulses *p, int8_t kind, int32_t n) {
  for (int32_t k = 0, m = sap_impulses_size(p); k < m; ++k) {
    p->listed[n] = k;
    n += p->kind[k] == kind;
  }
  return n;
}

static void list_unknowns(struct sap_impulses *p) {
  p->n_free = list_kind(p, SAP_KIND_FREE, 0);
  p->n_sliding = list_kind(p, SAP_KIND_SLIDES, p->n_free) - p->n_free;
  p->n_slides = 0;
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    p->slides[p->n_slides] = i;
    p->n_slides += p->kind[p->first[i]] == SAP_KIND_SLIDES;
  }
  memcpy(p->factored, p->kind, (size_t)sap_impulses_size(p));
}

/* Returns the stride of the panel, which ends with the row of a right-hand side. */
static int32_t panel_stride(const struct sap_impulses *p) {
  return sap_impulses_stride(p->n_free + p->n_sliding);
}

/* Fills the panel with the columns of W for free unknowns: free rows, sliding rows, then x. */
static void fill_panel(const struct sap_impulses *p, const double *x) {
  const int32_t m = sap_impulses_size(p), n_free = p->n_free, n = n_free + p->n_sliding;
  const int32_t ld = panel_stride(p);
  for (int32_t j = 0; j < n_free; ++j) {
    const double *from = p->W + (size_t)p->listed[j] * (size_t)p->ld;
    double *column = p->panel + (size_t)j * (size_t)ld;
    if (n_free == m) {
      memcpy(column, from, (size_t)ld * sizeof *column);
    } else {
      for (int32_t i = j; i < n; ++i) {
        column[i] = from[p->listed[i]];
      }
      memset(column + n, 0, (size_t)(ld - n) * sizeof *column);
    }
    column[n] = x[j];
  }
}

/* Factors W_ff and finds K. Replaces the right-hand side x of free and sliding unknowns by L^-1 x
 * and the remainder for the sliding ones. */
static int factor_free(struct sap_impulses *p, double *x) {
  const int32_t n_free = p->n_free, n_sliding = p->n_sliding, n = n_free + n_sliding;
  const int32_t ld = panel_stride(p), ld_K = sap_impulses_stride(n_sliding);
  if (n_free > 0) {
    const struct sap_supernode all = {.n_cols = n_free, .ld = ld};
    fill_panel(p, x);
    if (SAP_OF_ISA(sap_factor_panel_)(&all, p->panel) < n_free) {
      return 0;
    }
    for (int32_t j = 0; j < n_free; ++j) {
      x[j] = p->panel[(size_t)j * (size_t)ld + (size_t)n];
    }
  }
  for (int32_t j = 0; j < n_sliding; ++j) {
    const double *from = p->W + (size_t)p->listed[n_free + j] * (size_t)p->ld;
    double *column = p->K + (size_t)j * (size_t)ld_K;
    for (int32_t i = 0; i < n_sliding; ++i) {
      column[i] = from[p->listed[n_free + i]];
    }
    column[n_sliding] = x[n_free + j];
    memset(column + n_sliding + 1, 0, (size_t)(ld_K - n_sliding - 1) * sizeof *column);
  }
  if (n_free > 0 && n_sliding > 0) {
    const double *rows = p->panel + n_free;
    SAP_OF_ISA(sap_multiply_)
    (n_sliding + 1, n_sliding, n_free, -1, rows, ld, rows, ld, p->K, ld_K, 0);
  }
  for (int32_t j = 0; j < n_sliding; ++j) {
    x[n_free + j] = p->K[(size_t)j * (size_t)ld_K + (size_t)n_sliding];
  }
  return 1;
}

/* ---- contacts that slide --------------------------------------------------------------------- */

/* Returns w of the second equation of a sliding contact, w t^T u_t + u_n = 0. With convex friction
 * u is normal to the edge of the cone; with Coulomb's friction it has no normal part. */
static double weight_along(const struct sap_impulses *p, int32_t i) {
  return p->is_convex ? p->mu[i] : 0;
}

/* Writes the rows of a sliding contact from those of the same contact that sticks, at `from`:
 * gamma_t = mu gamma_n t, t = z_t/|z_t|, times s. The contact's own entries begin at column
 * `first`. */
INLINE void slide(const struct sap_impulses *p, int32_t i, const int32_t size, const double *from,
                  double *rows, int32_t ld, int32_t first) {
  const struct contact c = contact_at(p, i, size);
  const double share = p->slide[i].share, *t = p->slide[i].t, w = weight_along(p, i);
  /* rows = share (I - t t^T) from */
  for (int32_t j = 0; j < ld; j += SIMD_WIDTH) {
    simd along = simd_zero();
    for (int32_t k = 0; k < size; ++k) {
      along += simd_all(t[k]) * simd_load(from + k * ld + j);
    }
    for (int32_t k = 0; k < size; ++k) {
      const simd across = simd_load(from + k * ld + j) - simd_all(t[k]) * along;
      simd_store(rows + k * ld + j, simd_all(share) * across);
    }
    simd_store(rows + size * ld + j, simd_load(from + size * ld + j) + simd_all(w) * along);
  }
  for (int32_t k = 0; k < size; ++k) {
    double *row = rows + (size_t)k * (size_t)ld + (size_t)first;
    const double own = row[k];
    for (int32_t l = 0; l < size; ++l) {
      row[l] += c.s * (share * (t[k] * t[l]));
    }
    row[k] = own + c.s * (1 - share * (1 - t[k] * t[k]));
    row[size] -= c.s * c.mu * t[k];
  }
}

/* Adds the residual of a sliding contact to the right-hand side, column n of its rows. */
static void add_residual(const struct sap_impulses *p, int32_t i, double *rows, int32_t ld,
                         int32_t n) {
  const struct contact c = contact_at(p, i, tangential(p, i));
  const double *t = p->slide[i].t, w = weight_along(p, i), r_n = p->residual[c.n];
  double *normal = rows + c.size * ld + n;
  *normal += r_n;
  for (int32_t k = 0; k < c.size; ++k) {
    rows[k * ld + n] += p->residual[c.t + k] - w * c.s * c.inverse_n * r_n * t[k];
    *normal += w * t[k] * p->residual[c.t + k];
  }
}

/* With two components of friction the one along t follows from gamma_n: dgamma_t = t (mu dgamma_n +
 * e) + c dy with c across t. The unknowns dy and dgamma_n remain. Writes their two rows from those
 * of K at `from`, with the right-hand side behind n entries. */
INLINE void slide_across(const struct sap_impulses *p, int32_t i, int32_t n, int32_t ld,
                         const double *from, int32_t first, double *rows) {
  const struct contact c = contact_at(p, i, SLIP);
  struct sap_slide *slide = p->slide + i;
  const double t[SLIP] = {slide->t[0], slide->t[1]}, share = slide->share, w = weight_along(p, i);
  const double *residual = p->residual + c.t;
  for (int32_t j = 0; j < ld; j += SIMD_WIDTH) {
    const simd row_1 = simd_load(from + j), row_2 = simd_load(from + ld + j);
    simd_store(rows + j, simd_all(share * t[0]) * row_2 - simd_all(share * t[1]) * row_1);
    simd_store(rows + ld + j, simd_load(from + 2 * ld + j) + simd_all(w * t[0]) * row_1 +
                                  simd_all(w * t[1]) * row_2);
  }
  rows[first] -= c.s * (1 - share) * t[1];
  rows[first + 1] += c.s * (1 - share) * t[0];
  rows[n] += t[0] * residual[1] - t[1] * residual[0];
  const double along = t[0] * residual[0] + t[1] * residual[1];
  rows[ld + n] += residual[SLIP] + w * along;
  slide->e = along * c.inverse_s - w * residual[SLIP] * c.inverse_n;
}

/* Replaces a row's three entries of a sliding contact by two, for dy and dgamma_n. Returns the part
 * to subtract from the right-hand side. */
INLINE double reduce(const struct sap_slide *slide, double mu, const double *from, double *to) {
  const double along = slide->t[0] * from[0] + slide->t[1] * from[1];
  const double across = slide->t[0] * from[1] - slide->t[1] * from[0];
  to[1] = from[2] + mu * along;
  to[0] = across;
  return along * slide->e;
}

/* Writes the reduced rows of all sliding contacts, at their own stride. Returns their number. */
static int32_t reduce_sliding(const struct sap_impulses *p) {
  const int32_t n = p->n_sliding, ld = sap_impulses_stride(n);
  int32_t n_rows = 0;
  for (int32_t s = 0, k = 0; s < p->n_slides; ++s) {
    const int32_t i = p->slides[s], size = tangential(p, i);
    const double *from = p->K + (size_t)k * (size_t)ld;
    double *rows = p->system + (size_t)n_rows * (size_t)ld;
    if (size == SLIP) {
      slide_across(p, i, n, ld, from, k, rows);
      n_rows += 2;
    } else {
      if (size == SAP_MOST_TANGENTIAL) {
        slide(p, i, SAP_MOST_TANGENTIAL, from, rows, ld, k);
      } else {
        slide(p, i, size, from, rows, ld, k);
      }
      add_residual(p, i, rows, ld, n);
      n_rows += size + 1;
    }
    k += size + 1;
  }
  const int32_t ld_rows = sap_impulses_stride(n_rows);
  for (int32_t r = 0; r < n_rows && n_rows < n; ++r) {
    const double *from = p->system + (size_t)r * (size_t)ld;
    double *to = p->system + (size_t)r * (size_t)ld_rows, b = from[n];
    for (int32_t s = 0; s < p->n_slides; ++s) {
      const int32_t i = p->slides[s], size = tangential(p, i);
      if (size == SLIP) {
        b -= reduce(p->slide + i, p->mu[i], from, to);
        to += 2;
      } else {
        memmove(to, from, (size_t)(size + 1) * sizeof *to);
        to += size + 1;
      }
      from += size + 1;
    }
    *to = b;
  }
  return n_rows;
}

/* Expands the reduced unknowns at the front of x to all sliding unknowns. */
static void expand_sliding(const struct sap_impulses *p, int32_t n_rows, double *x) {
  for (int32_t s = p->n_slides - 1, k = p->n_sliding; s >= 0; --s) {
    const int32_t i = p->slides[s], size = tangential(p, i);
    k -= size + 1;
    n_rows -= size == SLIP ? 2 : size + 1;
    if (size == SLIP) {
      const struct sap_slide *slide = p->slide + i;
      const double across = x[n_rows], normal = x[n_rows + 1];
      const double along = p->mu[i] * normal + slide->e;
      x[k] = slide->t[0] * along - slide->t[1] * across;
      x[k + 1] = slide->t[1] * along + slide->t[0] * across;
      x[k + 2] = normal;
    } else {
      memmove(x + k, x + n_rows, (size_t)(size + 1) * sizeof *x);
    }
  }
}

/* Solves for the sliding unknowns: x (n_sliding) is their right-hand side, then their dgamma. */
static int solve_sliding(const struct sap_impulses *p, double *x) {
  const int32_t n = p->n_sliding, ld = sap_impulses_stride(n);
  for (int32_t k = 0; k < n; ++k) {
    p->K[(size_t)k * (size_t)ld + (size_t)n] = x[k];
  }
  const int32_t n_rows = reduce_sliding(p);
  if (!solve_rows(n_rows, sap_impulses_stride(n_rows), p->system, p->times, x)) {
    return 0;
  }
  expand_sliding(p, n_rows, x);
  return 1;
}

/* ---- the step ------------------------------------------------------------------------------- */

/* Returns the step of a fixed unknown: its residual over s. */
static double held_step(const struct sap_impulses *p, int32_t k) {
  return k < p->first[p->n_contacts] ? -p->gamma[k] : p->residual[k] * p->inverse[k];
}

/* Subtracts W x, for the listed columns of W, from V vectors of y from row i on. */
INLINE void subtract_vectors(const int V, const struct sap_impulses *p, int32_t n,
                             const int32_t *listed, const double *x, int32_t i, double *y) {
  simd sum[4];
  UNROLL
  for (int v = 0; v < V; ++v) {
    sum[v] = simd_load(y + i + v * SIMD_WIDTH);
  }
  for (int32_t k = 0; k < n; ++k) {
    const double *column = p->W + (size_t)listed[k] * (size_t)p->ld + (size_t)i;
    const simd all = simd_all(x[k]);
    UNROLL
    for (int v = 0; v < V; ++v) {
      sum[v] -= all * simd_load(column + v * SIMD_WIDTH);
    }
  }
  UNROLL
  for (int v = 0; v < V; ++v) {
    simd_store(y + i + v * SIMD_WIDTH, sum[v]);
  }
}

/* Computes y -= W x, for the n listed entries of x. */
static void subtract_listed(const struct sap_impulses *p, int32_t n, const int32_t *listed,
                            const double *x, double *y) {
  int32_t i = 0, vectors = p->ld / SIMD_WIDTH;
  for (; vectors >= 4; vectors -= 4, i += 4 * SIMD_WIDTH) {
    subtract_vectors(4, p, n, listed, x, i, y);
  }
  if (vectors == 3) {
    subtract_vectors(3, p, n, listed, x, i, y);
  } else if (vectors == 2) {
    subtract_vectors(2, p, n, listed, x, i, y);
  } else if (vectors == 1) {
    subtract_vectors(1, p, n, listed, x, i, y);
  }
}

/* Finds the step and its change of u. Returns 0 if there is none. */
static int find_step(struct sap_impulses *p) {
  const int32_t m = sap_impulses_size(p), ld = p->ld;
  double *step = p->step, *du = p->step + ld, *x = p->solution;
  const int is_factored = memcmp(p->kind, p->factored, (size_t)m) == 0;
  if (!is_factored) {
    list_unknowns(p);
  }
  /* the list ends with fixed unknowns that have a residual */
  const int32_t n_free = p->n_free, n = n_free + p->n_sliding;
  int32_t n_all = n;
  for (int32_t k = 0; k < m && n < m; ++k) {
    if (p->kind[k] == SAP_KIND_HELD && p->residual[k] != 0) {
      x[n_all] = held_step(p, k);
      p->listed[n_all++] = k;
    }
  }
  memset(du, 0, (size_t)ld * sizeof *du);
  subtract_listed(p, n_all - n, p->listed + n, x + n, du);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t k = p->listed[i];
    x[i] = du[k] + (i < n_free ? p->residual[k] : 0);
  }
  if (!is_factored && !factor_free(p, x)) {
    p->factored[0] = -1;
    return 0;
  }
  const int32_t ld_panel = panel_stride(p);
  if (is_factored && n_free > 0) {
    SAP_OF_ISA(sap_solve_forward_)(n, n_free, p->panel, ld_panel, x, x + n_free);
  }
  if (!solve_sliding(p, x + n_free)) {
    return 0;
  }
  if (n_free > 0) {
    SAP_OF_ISA(sap_solve_backward_)(n, n_free, p->panel, ld_panel, x, x + n_free);
  }
  memset(step, 0, (size_t)ld * sizeof *step);
  for (int32_t i = 0; i < n_all; ++i) {
    step[p->listed[i]] = x[i];
  }
  subtract_listed(p, n, p->listed, x, du);
  return 1;
}

#endif
