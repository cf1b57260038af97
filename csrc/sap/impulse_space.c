#include "sap/impulse_space.h"

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

static int fits(const struct sap_island *island) {
  const int32_t contacts = triples_of(island, SAP_LAW_DISK);
  const int32_t rows = triples_of(island, SAP_LAW_CLAMP) + triples_of(island, SAP_LAW_JOINT);
  const int32_t n = scalars_of(island);
  const int few = 3 * contacts <= n || (contacts <= SAP_FEW_CONTACTS && n > SAP_FEW_SCALARS);
  return contacts > 0 && contacts <= SAP_MOST_CONTACTS && few && n <= SAP_MOST_SCALARS &&
         island->triple_end - island->triple_begin == contacts + rows;
}

int sap_impulse_space_begin(struct sap_workspace *w, const struct sap_island *island) {
  w->impulse_room.n_marked = 0;
  return fits(island) && w->pool.soft == 0;
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

static int is_marked(const struct sap_impulse_room *room, int32_t row) {
  int32_t k = 0;
  while (k < room->n_marked && room->marked[k] != row) {
    ++k;
  }
  return k < room->n_marked;
}

int32_t sap_impulse_space_mark(struct sap_workspace *w, const struct sap_island *island) {
  struct sap_impulse_room *room = &w->impulse_room;
  int32_t n = 0;
  for (int32_t i = island->law_begin[SAP_LAW_JOINT]; i < island->law_begin[SAP_LAW_JOINT + 1];
       ++i) {
    for (int32_t r = 0; r < 3; ++r) {
      const int32_t row = 3 * i + r;
      if (state_of(w, r, i) == room->state[row] || is_marked(room, row)) {
        continue;
      }
      if (room->n_marked == SAP_MOST_MARKED) {
        return -1;
      }
      room->marked[room->n_marked++] = row;
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
  int32_t first; /* place of the first contact */
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
  const struct sap_junction_tree *tree = &f->w->plan->graph.tree;
  const int32_t n = sap_node_size(tree, node);
  double *columns = rows_of(f, tree->node_scalar[node]);
  for (int32_t k = 3 * (patch->begin - f->first); k < 3 * (patch->end - f->first); ++k) {
    for (int32_t j = 0; j < n; ++j) {
      columns[(size_t)j * (size_t)f->ld + (size_t)k] = J[j];
    }
    J += sap_stride(n);
  }
}

static void put_rows(const struct frame *f) {
  const struct sap_workspace *w = f->w;
  for (int32_t k = f->island->patch_begin; k < f->island->patch_end; ++k) {
    const struct sap_patch *patch = &w->plan->graph.patch[k];
    if (patch->law == SAP_LAW_DISK) {
      put_side(f, patch, patch->low, w->J.values + patch->J_low);
      if (patch->high >= 0) {
        put_side(f, patch, patch->high, w->J.values + patch->J_high);
      }
    }
  }
  const int32_t n_contact_rows = 3 * f->room->impulses.n_contacts;
  for (int32_t k = 0; k < f->room->n_marked; ++k) {
    const int32_t place = f->room->marked[k] / 3, r = f->room->marked[k] % 3;
    rows_of(f, w->J.scalar[r][place])[n_contact_rows + k] = w->J.entry[r][place];
  }
}

/* impulses of the unknowns as they were evaluated */
static void take_impulses(const struct frame *f, double *gamma) {
  const struct sap_impulse_room *room = f->room;
  double *const *from = f->w->pool.gamma;
  for (int32_t i = 0; i < room->impulses.n_contacts; ++i) {
    for (int r = 0; r < 3; ++r) {
      *gamma++ = from[r][f->first + i];
    }
  }
  for (int32_t k = 0; k < room->n_marked; ++k) {
    *gamma++ = from[room->marked[k] % 3][room->marked[k] / 3];
  }
}

/* b: the gradient is A (v - v*) - J^T gamma of all rows */
static void put_momentum(const struct frame *f) {
  double *gamma = f->room->impulses.gamma;
  take_impulses(f, gamma);
  for (int32_t s = f->island->scalar_begin; s < f->island->scalar_end; ++s) {
    double *column = rows_of(f, s), b = -f->w->gradient[s];
    for (int32_t k = 0; k < f->m; ++k) {
      b -= column[k] * gamma[k];
    }
    column[f->m] = b;
  }
}

/* W, u_0 and the constants of unknown k: row r of the triple at a place, under R */
static void put_unknown(const struct frame *f, int32_t k, int r, int32_t place, double R) {
  const struct sap_pool *pool = &f->w->pool;
  const struct sap_impulses *p = &f->room->impulses;
  double *column = p->W + (size_t)k * (size_t)p->ld;
  p->u[k] = pool->v_hat[r][place] - pool->v_c[r][place] - column[f->m];
  column[k] += R;
}

/* the problem in impulses; 0 where H_0 is not positive definite */
static int find_products(const struct frame *f) {
  const struct sap_kernels *kernels = f->w->plan->kernels;
  const struct sap_pool *pool = &f->w->pool;
  const struct sap_impulse_room *room = f->room;
  const struct sap_impulses *p = &room->impulses;
  if (kernels->factor(f->ld, f->n, room->panel, f->ld) < f->n) {
    return 0;
  }
  const double *Y = room->panel + f->n;
  memset(p->W, 0, (size_t)p->ld * (size_t)f->m * sizeof *p->W);
  memset(p->u, 0, (size_t)p->ld * sizeof *p->u);
  kernels->multiply(f->m + 1, f->m, f->n, 1, Y, f->ld, Y, f->ld, p->W, p->ld, 0);
  for (int32_t i = 0; i < p->n_contacts; ++i) {
    const int32_t place = f->first + i;
    for (int r = 0; r < 3; ++r) {
      const double *R = r < 2 ? pool->contact.R_t : pool->contact.R_n;
      put_unknown(f, 3 * i + r, r, place, R[place]);
    }
    p->mu[i] = pool->contact.mu[place];
  }
  for (int32_t k = 0; k < p->n_rows; ++k) {
    const int32_t place = room->marked[k] / 3, r = room->marked[k] % 3;
    put_unknown(f, 3 * p->n_contacts + k, r, place, pool->clamp.R[r][place]);
    p->lower[k] = pool->clamp.lower[r][place];
    p->upper[k] = pool->clamp.upper[r][place];
  }
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
static void leave_out(struct sap_workspace *w, const struct frame *f) {
  const struct sap_impulse_room *room = f->room;
  const size_t bytes = (size_t)room->impulses.n_contacts * sizeof(double);
  for (int e = 0; e < SAP_G_ENTRIES; ++e) {
    memset(w->pool.G[e] + f->first, 0, bytes);
  }
  for (int32_t k = 0; k < room->n_marked; ++k) {
    w->pool.G[diagonal[room->marked[k] % 3]][room->marked[k] / 3] = 0;
  }
}

double sap_impulse_space_direction(struct sap_workspace *w, const struct sap_island *island) {
  struct sap_impulse_room *room = &w->impulse_room;
  struct sap_impulses *p = &room->impulses;
  p->n_contacts = triples_of(island, SAP_LAW_DISK);
  p->n_rows = room->n_marked;
  const int32_t m = sap_impulses_size(p), n = scalars_of(island);
  p->ld = sap_impulses_stride(m);
  const struct frame f = {.room = room,
                          .w = w,
                          .island = island,
                          .first = island->law_begin[SAP_LAW_DISK],
                          .n = n,
                          .m = m,
                          .ld = n + m + 1};
  keep_states(w, island);
  leave_out(w, &f);
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
