#include "solver/dense/unknowns.h"

#include <string.h>

#include "base/arithmetic.h"
#include "constraints/laws/torsional.h"
#include "problem/graph/branches.h"

/* Returns the rows of the panel, in whole vectors. Columns at multiples of 512 bytes would share
 * too few sets of the cache. */
static int32_t panel_stride(int32_t n, int32_t m) {
  const int32_t rows = (n + m + 8) & ~7;
  return rows % 64 == 0 ? rows + 8 : rows;
}

void sap_dense_unknowns_carve(struct sap_dense_unknowns *unknowns, struct sap_arena *arena,
                              int32_t widest, int any) {
  const size_t impulses = any ? SAP_DENSE_IMPULSES : 0, rows = SAP_DENSE_UNKNOWN_ROWS;
  const size_t m = impulses + rows, n = (size_t)widest;
  sap_impulses_carve(&unknowns->impulses, arena, impulses / 3, m, rows);
  unknowns->panel =
      sap_arena_take(arena, n * (size_t)panel_stride(widest, (int32_t)m), sizeof(double));
  unknowns->Y = sap_arena_take(arena, (m + 1) * n, sizeof(double));
  unknowns->product = sap_arena_take(arena, n, sizeof(double));
}

void sap_dense_unknowns_clear(struct sap_dense_unknowns *unknowns, int32_t n, int32_t m,
                              int is_condensed) {
  struct sap_impulses *p = &unknowns->impulses;
  p->n_contacts = p->n_rows = p->first[0] = 0;
  p->ld = sap_impulses_stride(m);
  memset(p->W, 0, (size_t)p->ld * (size_t)m * sizeof *p->W);
  memset(p->u, 0, (size_t)p->ld * sizeof *p->u);
  unknowns->J = unknowns->panel + (is_condensed ? n : 0);
  unknowns->ld = is_condensed ? panel_stride(n, m) : m;
}

/* ---- the unknowns ---------------------------------------------------------------------------- */

/* The list of the unknowns of an island. */
struct list {
  struct sap_dense_unknowns *to;
  const struct sap_workspace *w;
  const struct sap_island *island;
  int32_t k; /* number of unknowns so far */
};

/* Writes scale J of row r of a triple to row k of J. */
static void put_J(const struct list *list, const struct sap_patch *patch, int32_t place, int r,
                  double scale) {
  const struct sap_jacobian *J = &list->w->J;
  const int32_t *scalar = list->w->graph->tree.node_scalar, first = list->island->scalar_begin;
  const size_t ld = (size_t)list->to->ld;
  double *to = list->to->J + list->k;
  if (patch->is_diagonal || list->island->node_end - list->island->node_begin > 1) {
    for (int32_t j = first; j < list->island->scalar_end; ++j) {
      to[(size_t)(j - first) * ld] = 0;
    }
  }
  if (patch->is_diagonal) {
    to[(size_t)(J->scalar[r][place] - first) * ld] = scale * J->entry[r][place];
    return;
  }
  for (int high = 0; high < (patch->high < 0 ? 1 : 2); ++high) {
    const struct sap_packed_row row = sap_packed_row(J, patch, high, place, r);
    const int32_t s = scalar[high ? patch->high : patch->low] - first;
    for (int32_t j = 0; j < row.n; ++j) {
      to[(size_t)(s + j) * ld] = scale * row.J[j];
    }
  }
}

/* Adds row r of a triple in units of 1/scale, with its R and its impulse. */
static void add(struct list *list, const struct sap_patch *patch, int32_t place, int r,
                double scale, double R, double gamma) {
  const struct sap_pool *pool = &list->w->pool;
  const struct sap_impulses *p = &list->to->impulses;
  const int32_t k = list->k;
  p->W[(size_t)k * (size_t)(p->ld + 1)] = R;
  p->u[k] = scale * (pool->v_hat[r][place] - pool->v_c[r][place]);
  p->gamma[k] = gamma;
  put_J(list, patch, place, r, scale);
  list->k++;
}

/* Adds the contacts of a patch: tangential rows, those of torsion and rolling, and normal ones. */
static void add_contacts(struct list *list, const struct sap_patch *patch, int near) {
  const struct sap_pool *pool = &list->w->pool;
  struct sap_impulses *p = &list->to->impulses;
  for (int32_t i = patch->begin; i < patch->end; i += patch->pairs ? 2 : 1) {
    const double R_t = pool->contact.R_t[i];
    for (int r = 0; r < 2; ++r) {
      add(list, patch, i, r, 1, R_t, near ? pool->gamma[r][i] : 0);
    }
    for (int r = 0; patch->pairs && r < 3; ++r) {
      const double scale = pool->torsional.scale[r][i];
      if (scale > 0) {
        add(list, patch, i + 1, r, scale, R_t, near ? pool->gamma[r][i + 1] / scale : 0);
      }
    }
    add(list, patch, i, 2, 1, pool->contact.R_n[i], near ? pool->gamma[2][i] : 0);
    p->mu[p->n_contacts++] = pool->contact.mu[i];
    p->first[p->n_contacts] = list->k;
  }
}

void sap_dense_unknowns_list(const struct sap_dense_island *d, int is_condensed, int near) {
  const struct sap_workspace *w = d->w;
  const struct sap_island *island = d->island;
  struct sap_impulses *p = &d->unknowns->impulses;
  struct list list = {d->unknowns, w, island, 0};
  const int32_t n_rows = is_condensed ? 0 : d->n_rows;
  sap_dense_unknowns_clear(d->unknowns, d->n, d->n_impulses + n_rows, is_condensed);
  for (int32_t k = island->patch_begin; k < island->patch_end; ++k) {
    const struct sap_patch *patch = &w->graph->patch[k];
    if (!sap_laws[patch->law]->takes_rows) {
      add_contacts(&list, patch, near);
    }
  }
  p->n_rows = n_rows;
  const struct sap_dense_row *row = d->row;
  for (int32_t i = 0; i < n_rows; ++i, ++row) {
    p->lower[i] = w->pool.clamp.lower[row->r][row->place];
    p->upper[i] = w->pool.clamp.upper[row->r][row->place];
    add(&list, row->patch, row->place, row->r, 1, w->pool.clamp.R[row->r][row->place], 0);
  }
}

/* ---- the step from v* ------------------------------------------------------------------------ */

/* Returns the end of the nonzero columns of J (m, n), in whole strips. Columns behind it belong to
 * branches that nothing touches. */
static int32_t end_of_moved(int32_t n, int32_t m, const double *J,
                            const struct sap_vector_loops *loops) {
  int32_t end = n;
  while (end > 0) {
    const int32_t begin = (end - 1) / SAP_STRIP * SAP_STRIP;
    if (loops->find_entries(1, m * (end - begin), J + (size_t)begin * (size_t)m, 0, NULL) != 0) {
      break;
    }
    end = begin;
  }
  return end;
}

/* Returns the end of the entries of S in the strip of rows from `first` on, at most `end`. Entries
 * of other branches are zeros. */
static int32_t end_of_row(const uint64_t *strips, int32_t n, int32_t first, int32_t end) {
  const int32_t shift = sap_strip_shift(n);
  int32_t k = (end - 1) >> shift;
  while (k > first >> shift && !(strips[k] >> (first >> shift) & 1)) {
    --k;
  }
  const int32_t last = (k + 1) << shift;
  return last < end ? last : end;
}

/* A tree of the island: its factor S, and its columns of J and of Y. */
struct tree {
  int32_t n, m, scalar; /* velocities, unknowns, first scalar */
  const double *S, *J;
  const uint64_t *strips;
  double *Y;
};

static struct tree tree_at(const struct sap_dense_unknowns *unknowns, const struct sap_workspace *w,
                           const struct sap_island *island, int32_t node) {
  const struct sap_masses *masses = &w->plan->masses;
  const int32_t t = w->graph->node_tree[node], s = w->graph->tree.node_scalar[node];
  const int32_t m = sap_impulses_size(&unknowns->impulses);
  const size_t at = (size_t)(s - island->scalar_begin) * (size_t)m;
  return (struct tree){.n = sap_node_size(&w->graph->tree, node),
                       .m = m,
                       .scalar = s,
                       .S = masses->S + masses->tree_A[t],
                       .strips = masses->strips + masses->tree_v[t],
                       .J = unknowns->J + at,
                       .Y = unknowns->Y + at};
}

/* Finds the columns of Y of a tree, and adds their part to W. */
static void add_tree(const struct tree *tree, const struct sap_plan *plan,
                     const struct sap_impulses *p) {
  const int32_t n = tree->n, m = tree->m, end = end_of_moved(n, m, tree->J, plan->vectors);
  memset(tree->Y, 0, (size_t)m * (size_t)n * sizeof *tree->Y);
  for (int32_t i = 0; i < end; i += SAP_STRIP) {
    /* S is zero below the diagonal */
    const int32_t last = end_of_row(tree->strips, n, i, end);
    const size_t column = (size_t)i * (size_t)m;
    plan->kernels->multiply(m, end - i < SAP_STRIP ? end - i : SAP_STRIP, last - i, 1,
                            tree->J + column, m, tree->S + (size_t)i * (size_t)(n + 1), n,
                            tree->Y + column, m, 0);
  }
  plan->kernels->multiply(m, m, end, 1, tree->Y, m, tree->Y, m, p->W, p->ld, 0);
}

void sap_dense_unknowns_solve(const struct sap_dense_island *d) {
  const struct sap_dense_unknowns *unknowns = d->unknowns;
  const struct sap_workspace *w = d->w;
  const struct sap_island *island = d->island;
  const struct sap_plan *plan = w->plan;
  struct sap_impulses *p = &d->unknowns->impulses;
  for (int32_t node = island->node_begin; node < island->node_end; ++node) {
    const struct tree tree = tree_at(unknowns, w, island, node);
    add_tree(&tree, plan, p);
  }
  plan->find_impulses(p);
  for (int32_t node = island->node_begin; node < island->node_end; ++node) {
    const struct tree tree = tree_at(unknowns, w, island, node);
    double *dv = w->dv + tree.scalar;
    plan->vectors->multiply_rows(tree.n, tree.m, tree.Y, p->gamma, unknowns->product);
    plan->vectors->pull_inverse(tree.n, tree.strips, tree.S, unknowns->product, dv);
    sap_vector_add(tree.n, 1, dv, w->v + tree.scalar);
  }
}
