#include "solver/dense/impulse_space.h"

#include <math.h>
#include <string.h>

static const int diagonal[3] = {SAP_G_11, SAP_G_22, SAP_G_NN};

/* ---- where it applies ------------------------------------------------------------------------ */

static int32_t scalars_of(const struct sap_island *island) {
  return island->scalar_end - island->scalar_begin;
}

static int32_t triples_of(const struct sap_island *island, int law) {
  return island->law_begin[law + 1] - island->law_begin[law];
}

static void list_unknown(struct sap_impulse_room *room, int32_t place, int32_t row, double scale) {
  room->impulses.gamma[room->n_unknowns] = 0; /* from here on, then from step to step */
  room->unknown[room->n_unknowns++] = (struct sap_unknown){place, row, scale};
}

/* The impulses of a contact: tangential ones, those of torsion and rolling where it has any, and
 * the normal one. 0 where they are too many. */
static int list_contact(struct sap_impulse_room *room, const struct sap_pool *pool, int32_t place,
                        int is_wide) {
  int32_t n = 3;
  for (int r = 0; r < 3 && is_wide; ++r) {
    n += pool->wide.scale[r][place] > 0;
  }
  if (room->n_unknowns + n > SAP_MOST_IMPULSES) {
    return 0;
  }
  list_unknown(room, place, 0, 1);
  list_unknown(room, place, 1, 1);
  for (int r = 0; r < 3 && is_wide; ++r) {
    if (pool->wide.scale[r][place] > 0) {
      list_unknown(room, place + 1, r, pool->wide.scale[r][place]);
    }
  }
  list_unknown(room, place, 2, 1);
  room->impulses.first[++room->impulses.n_contacts] = room->n_unknowns;
  return 1;
}

static int list_contacts(struct sap_workspace *w, const struct sap_island *island) {
  struct sap_impulse_room *room = &w->impulse_room;
  const int32_t wide = island->law_begin[SAP_LAW_WIDE];
  room->n_unknowns = room->impulses.n_contacts = room->impulses.first[0] = 0;
  for (int32_t i = island->law_begin[SAP_LAW_DISK]; i < wide; ++i) {
    if (!list_contact(room, &w->pool, i, 0)) {
      return 0;
    }
  }
  for (int32_t i = wide; i < island->law_begin[SAP_LAW_WIDE + 1]; i += 2) {
    if (!list_contact(room, &w->pool, i, 1)) {
      return 0;
    }
  }
  return 1;
}

int sap_impulse_space_begin(struct sap_workspace *w, const struct sap_island *island) {
  const int32_t n = scalars_of(island);
  const int32_t contacts = triples_of(island, SAP_LAW_DISK) + triples_of(island, SAP_LAW_WIDE);
  const int32_t rows = triples_of(island, SAP_LAW_CLAMP) + triples_of(island, SAP_LAW_JOINT);
  if (contacts == 0 || contacts + rows < island->triple_end - island->triple_begin ||
      n > SAP_MOST_SCALARS || w->pool.soft != 0 || !list_contacts(w, island)) {
    return 0;
  }
  const int32_t m = w->impulse_room.n_unknowns;
  return m <= n || (m <= SAP_FEW_IMPULSES && n > SAP_FEW_SCALARS);
}

/* ---- rows that are unknowns ------------------------------------------------------------------ */

enum { FREE, LOW, HIGH };

/* where a joint row is between its bounds, as it was evaluated */
static int8_t state_of(const struct sap_workspace *w, int r, int32_t place) {
  const struct sap_pool *pool = &w->pool;
  if (pool->G[diagonal[r]][place] > 0) {
    return FREE;
  }
  return pool->gamma[r][place] <= pool->clamp.lower[r][place] ? LOW : HIGH;
}

static void keep_states(struct sap_workspace *w, const struct sap_island *island) {
  for (int32_t i = island->law_begin[SAP_LAW_JOINT]; i < island->law_begin[SAP_LAW_JOINT + 1];
       ++i) {
    for (int r = 0; r < 3; ++r) {
      w->impulse_room.state[3 * (size_t)i + (size_t)r] = state_of(w, r, i);
    }
  }
}

/* where the unknowns of joint rows begin */
static int32_t first_marked(const struct sap_impulse_room *room) {
  return room->impulses.first[room->impulses.n_contacts];
}

static int is_marked(const struct sap_impulse_room *room, int32_t place, int32_t row) {
  int32_t k = first_marked(room);
  while (k < room->n_unknowns &&
         !(room->unknown[k].place == place && room->unknown[k].row == row)) {
    ++k;
  }
  return k < room->n_unknowns;
}

int32_t sap_impulse_space_mark(struct sap_workspace *w, const struct sap_island *island) {
  struct sap_impulse_room *room = &w->impulse_room;
  int32_t n = 0;
  for (int32_t i = island->law_begin[SAP_LAW_JOINT]; i < island->law_begin[SAP_LAW_JOINT + 1];
       ++i) {
    for (int32_t r = 0; r < 3; ++r) {
      if (state_of(w, r, i) == room->state[3 * i + r] || is_marked(room, i, r)) {
        continue;
      }
      if (room->n_unknowns - first_marked(room) == SAP_MOST_MARKED) {
        return -1;
      }
      list_unknown(room, i, r, 1);
      ++n;
    }
  }
  return n;
}

/* ---- the problem ----------------------------------------------------------------------------- */

/* of one island */
struct frame {
  struct sap_impulse_room *room;
  const struct sap_workspace *w;
  const struct sap_island *island;
  int32_t n, m, ld;
};

/* a block of the assembled H_0 to its place in the panel */
static void copy_block(const struct frame *f, struct sap_place from, int32_t row, int32_t column) {
  const struct sap_junction_tree *tree = &f->w->plan->graph.tree;
  const double *values = f->w->plan->factor.values + from.offset;
  const int32_t r = tree->node_scalar[row] - f->island->scalar_begin;
  const int32_t c = tree->node_scalar[column] - f->island->scalar_begin;
  const size_t bytes = (size_t)sap_node_size(tree, row) * sizeof(double);
  for (int32_t j = 0; j < sap_node_size(tree, column); ++j) {
    memcpy(f->room->panel + (size_t)(c + j) * (size_t)f->ld + (size_t)r,
           values + (size_t)j * (size_t)from.ld, bytes);
  }
}

static void put_mass(const struct frame *f) {
  const struct sap_plan *plan = f->w->plan;
  const struct sap_island *island = f->island;
  for (int32_t i = island->node_begin; i < island->node_end; ++i) {
    copy_block(f, plan->factor.diagonal[i], i, i);
  }
  for (int32_t k = island->patch_begin; k < island->patch_end; ++k) {
    const struct sap_patch *patch = &plan->graph.patch[k];
    if (patch->edge >= 0) {
      copy_block(f, plan->factor.edge[patch->edge], patch->high, patch->low);
    }
  }
}

/* first of the rows of unknowns in the column of a scalar */
static double *rows_of(const struct frame *f, int32_t scalar) {
  return f->room->panel + (size_t)(scalar - f->island->scalar_begin) * (size_t)f->ld + f->n;
}

/* rows of one side of a patch of contacts */
static void put_side(const struct frame *f, const struct sap_patch *patch, int32_t node,
                     const double *J) {
  const struct sap_impulse_room *room = f->room;
  const struct sap_junction_tree *tree = &f->w->plan->graph.tree;
  const int32_t n = sap_node_size(tree, node);
  const size_t stride = (size_t)sap_stride(n);
  double *columns = rows_of(f, tree->node_scalar[node]);
  for (int32_t k = 0; k < first_marked(room); ++k) {
    const struct sap_unknown *of = &room->unknown[k];
    if (patch->begin <= of->place && of->place < patch->end) {
      const double *row = J + (size_t)(3 * (of->place - patch->begin) + of->row) * stride;
      for (int32_t j = 0; j < n; ++j) {
        columns[(size_t)j * (size_t)f->ld + (size_t)k] = of->scale * row[j];
      }
    }
  }
}

static void put_rows(const struct frame *f) {
  const struct sap_workspace *w = f->w;
  for (int32_t k = f->island->patch_begin; k < f->island->patch_end; ++k) {
    const struct sap_patch *patch = &w->plan->graph.patch[k];
    if (patch->law == SAP_LAW_DISK || patch->law == SAP_LAW_WIDE) {
      put_side(f, patch, patch->low, w->J.values + patch->J_low);
      if (patch->high >= 0) {
        put_side(f, patch, patch->high, w->J.values + patch->J_high);
      }
    }
  }
  for (int32_t k = first_marked(f->room); k < f->m; ++k) {
    const struct sap_unknown *unknown = &f->room->unknown[k];
    rows_of(f, w->J.scalar[unknown->row][unknown->place])[k] =
        w->J.entry[unknown->row][unknown->place];
  }
}

/* b: the gradient is A (v - v*) - J^T gamma of all rows */
static void put_momentum(const struct frame *f) {
  double *gamma = f->room->impulses.step;
  for (int32_t k = 0; k < f->m; ++k) {
    const struct sap_unknown *unknown = &f->room->unknown[k];
    gamma[k] = f->w->pool.gamma[unknown->row][unknown->place] / unknown->scale;
  }
  for (int32_t s = f->island->scalar_begin; s < f->island->scalar_end; ++s) {
    double *column = rows_of(f, s), b = -f->w->gradient[s];
    for (int32_t k = 0; k < f->m; ++k) {
      b -= column[k] * gamma[k];
    }
    column[f->m] = b;
  }
}

/* R and mu of contacts, R and bounds of rows */
static void put_laws(const struct frame *f) {
  const struct sap_pool *pool = &f->w->pool;
  const struct sap_impulses *p = &f->room->impulses;
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    const int32_t place = f->room->unknown[p->first[i]].place;
    for (int32_t k = p->first[i]; k < p->first[i + 1] - 1; ++k) {
      p->W[(size_t)k * (size_t)(p->ld + 1)] += pool->contact.R_t[place];
    }
    p->W[(size_t)(p->first[i + 1] - 1) * (size_t)(p->ld + 1)] += pool->contact.R_n[place];
    p->mu[i] = pool->contact.mu[place];
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int32_t k = first_marked(f->room) + i;
    const struct sap_unknown *row = &f->room->unknown[k];
    p->W[(size_t)k * (size_t)(p->ld + 1)] += pool->clamp.R[row->row][row->place];
    p->lower[i] = pool->clamp.lower[row->row][row->place];
    p->upper[i] = pool->clamp.upper[row->row][row->place];
  }
}

/* the problem in impulses; 0 where H_0 is not positive definite */
static int find_products(const struct frame *f) {
  const struct sap_kernels *kernels = f->w->plan->kernels;
  const struct sap_pool *pool = &f->w->pool;
  const struct sap_impulses *p = &f->room->impulses;
  if (kernels->factor(f->ld, f->n, f->room->panel, f->ld) < f->n) {
    return 0;
  }
  const double *Y = f->room->panel + f->n;
  memset(p->W, 0, (size_t)p->ld * (size_t)f->m * sizeof *p->W);
  memset(p->u, 0, (size_t)p->ld * sizeof *p->u);
  kernels->multiply(f->m + 1, f->m, f->n, 1, Y, f->ld, Y, f->ld, p->W, p->ld, 0);
  for (int32_t k = 0; k < f->m; ++k) {
    const struct sap_unknown *of = &f->room->unknown[k];
    const double lacks = pool->v_hat[of->row][of->place] - pool->v_c[of->row][of->place];
    p->u[k] = of->scale * lacks - p->W[(size_t)k * (size_t)p->ld + (size_t)f->m];
  }
  put_laws(f);
  return 1;
}

/* dv = L^-T (L^-1 b + (J L^-T)^T gamma) */
static void find_velocity(const struct frame *f, double *dv) {
  const double *gamma = f->room->impulses.gamma;
  for (int32_t s = 0; s < f->n; ++s) {
    const double *column = rows_of(f, f->island->scalar_begin + s);
    double sum = column[f->m];
    for (int32_t k = 0; k < f->m; ++k) {
      sum += column[k] * gamma[k];
    }
    dv[s] = sum;
  }
  f->w->plan->kernels->solve_backward(f->n, f->n, f->room->panel, f->ld, dv, f->room->scratch);
}

/* ---- the step -------------------------------------------------------------------------------- */

/* G of what is unknown is 0 */
static void leave_out(const struct frame *f) {
  const struct sap_pool *pool = &f->w->pool;
  const int32_t *begin = f->island->law_begin;
  const int32_t first = begin[SAP_LAW_DISK], wide = begin[SAP_LAW_WIDE];
  const int32_t end = begin[SAP_LAW_WIDE + 1];
  for (int e = 0; e < SAP_G_ENTRIES; ++e) {
    memset(pool->G[e] + first, 0, (size_t)(end - first) * sizeof(double));
  }
  for (int e = 0; e < 9 && wide < end; ++e) {
    memset(pool->wide.cross[e] + wide, 0, (size_t)(end - wide) * sizeof(double));
  }
  for (int32_t k = first_marked(f->room); k < f->m; ++k) {
    pool->G[diagonal[f->room->unknown[k].row]][f->room->unknown[k].place] = 0;
  }
}

double sap_impulse_space_direction(struct sap_workspace *w, const struct sap_island *island) {
  struct sap_impulse_room *room = &w->impulse_room;
  struct sap_impulses *p = &room->impulses;
  const int32_t m = room->n_unknowns, n = scalars_of(island);
  p->n_rows = m - first_marked(room);
  p->ld = sap_impulses_stride(m);
  const struct frame f = {.room = room, .w = w, .island = island, .n = n, .m = m, .ld = n + m + 1};
  keep_states(w, island);
  leave_out(&f);
  sap_assemble(w, island, SAP_DOUBLE);
  memset(room->panel, 0, (size_t)f.ld * (size_t)f.n * sizeof *room->panel);
  put_mass(&f);
  put_rows(&f);
  put_momentum(&f);
  if (!find_products(&f)) {
    return INFINITY;
  }
  const double rest = w->plan->find_impulses(p);
  find_velocity(&f, w->dv + island->scalar_begin);
  double zero = 0; /* NaN where dv is not finite */
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    zero += 0 * w->dv[i];
  }
  return zero == 0 ? rest : INFINITY;
}
