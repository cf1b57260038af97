#include "step/presolve/presolve.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "constraints/laws/clamp.h"
#include "step/step_tuning.h"

/* ---- workspace ------------------------------------------------------------------------------ */

static void carve_fixed(void *context, struct sap_arena *arena) {
  struct sap_presolve *presolve = context;
  const struct sap_forest *f = presolve->elements->forest;
  presolve->block = sap_arena_take(arena, (size_t)f->n_trees + 1, sizeof(int64_t));
  presolve->trees = sap_arena_take(arena, (size_t)f->n_trees, sizeof(int32_t));
  presolve->is_in = sap_arena_take(arena, (size_t)f->n_trees, 1);
  presolve->place = sap_arena_take(arena, (size_t)f->n_trees, sizeof(int64_t));
  presolve->next = sap_arena_take(arena, (size_t)f->n_trees, sizeof(int64_t));
}

static void carve_listed(struct sap_presolve *presolve, struct sap_arena *arena) {
  const size_t n = (size_t)presolve->n;
  presolve->row = sap_arena_take(arena, n + 1, sizeof *presolve->row);
  presolve->part = sap_arena_take(arena, (size_t)presolve->n_parts, sizeof *presolve->part);
  presolve->J = sap_arena_take(arena, (size_t)presolve->n_entries, sizeof(double));
  presolve->response = sap_arena_take(arena, (size_t)presolve->n_entries, sizeof(double));
  presolve->level = sap_arena_take(arena, n, sizeof(int64_t));
  presolve->order = sap_arena_take(arena, n, sizeof(int64_t));
  presolve->level_end = sap_arena_take(arena, n + 1, sizeof(int64_t));
}

/* Returns 1 if some step may have constraints for the presolve. */
static int is_needed(const struct sap_elements *e) {
  int needed = e && e->n_flexes > 0 && !e->flexes_elsewhere;
  for (int32_t t = 0; e && t < e->n_tendons; ++t) {
    needed |= e->tendon_tree[2 * (int64_t)t] < -1;
  }
  for (int32_t i = 0; e && i < e->n_equalities; ++i) {
    needed |= e->equality_kind[i] == SAP_EQUALITY_AHEAD;
  }
  return needed;
}

sap_status sap_presolve_create(struct sap_presolve *presolve,
                               const struct sap_element_gather *elements,
                               const sap_allocator *allocator) {
  memset(presolve, 0, sizeof *presolve);
  presolve->allocator = sap_allocator_or_default(allocator);
  presolve->elements = elements;
  presolve->needed = is_needed(elements->elements);
  presolve->flexes = elements->elements && elements->elements->n_flexes > 0;
  if (!presolve->needed) {
    return SAP_OK;
  }
  if (!sap_block_carve_zeros(&presolve->fixed, carve_fixed, presolve, &presolve->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  const struct sap_forest *f = elements->forest;
  for (int32_t t = 0; t < f->n_trees; ++t) {
    presolve->block[t + 1] = presolve->block[t] + (int64_t)f->tree_dofnum[t] * f->tree_dofnum[t];
    presolve->widest = f->tree_dofnum[t] > presolve->widest ? f->tree_dofnum[t] : presolve->widest;
  }
  return SAP_OK;
}

void sap_presolve_release(struct sap_presolve *presolve) {
  sap_block_release(&presolve->fixed, &presolve->allocator);
  sap_block_release(&presolve->listed, &presolve->allocator);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int32_t dof_of(const struct sap_engine_jacobian *J, int32_t i) {
  return J->column == NULL ? i : J->column[i];
}

/* Lists and marks the trees that a row moves and returns their number, or -1 if a column is no
 * dof. */
static int32_t mark_trees(struct sap_presolve *presolve, const struct sap_engine_jacobian *J) {
  const struct sap_element_gather *g = presolve->elements;
  int32_t n = 0, known = 1;
  for (int32_t i = 0; i < J->n; ++i) {
    const int32_t dof = dof_of(J, i);
    if (dof < 0 || dof >= g->forest->nv) {
      known = 0;
    } else if (sap_entry_moves(J->value[i]) && !presolve->is_in[g->dof_tree[dof]]) {
      presolve->is_in[g->dof_tree[dof]] = 1;
      presolve->trees[n++] = g->dof_tree[dof];
    }
  }
  for (int32_t i = 0; i < n && !known; ++i) {
    presolve->is_in[presolve->trees[i]] = 0;
  }
  return known ? n : -1;
}

/* Writes the entries of a row; its trees are marked and have a place. */
static void put_entries(struct sap_presolve *presolve, const struct sap_presolve_row *row) {
  const int32_t *tree_of = presolve->elements->dof_tree;
  for (int32_t i = 0; i < row->J.n; ++i) {
    const int32_t dof = dof_of(&row->J, i), tree = tree_of[dof];
    if (presolve->is_in[tree]) {
      presolve->J[presolve->place[tree] + dof] = row->sign * row->J.value[i];
    }
  }
}

/* Adds an upper limit of the memory that a row takes. */
static void count(struct sap_presolve *presolve, const struct sap_presolve_row *row) {
  const struct sap_forest *f = presolve->elements->forest;
  const int64_t entries = (int64_t)row->J.n * presolve->widest;
  presolve->n += 1;
  presolve->n_parts += row->J.n < f->n_trees ? row->J.n : f->n_trees;
  presolve->n_entries += entries < f->nv ? entries : f->nv;
}

/* Counts a row, or keeps it if `keep`; returns 0 if it does not belong to this forest. */
static int add(struct sap_presolve *presolve, struct sap_presolve_row row, int keep) {
  if (!keep) {
    count(presolve, &row);
    return 1;
  }
  const struct sap_forest *f = presolve->elements->forest;
  const int32_t n = mark_trees(presolve, &row.J);
  row.part = presolve->n_parts;
  for (int32_t i = 0; i < n; ++i) {
    const int32_t tree = presolve->trees[i], first = f->tree_dofadr[tree],
                  n_t = f->tree_dofnum[tree];
    presolve->part[presolve->n_parts++] =
        (struct sap_presolve_part){tree, first, n_t, presolve->n_entries};
    presolve->place[tree] = presolve->n_entries - first;
    memset(presolve->J + presolve->n_entries, 0, (size_t)n_t * sizeof *presolve->J);
    presolve->n_entries += n_t;
  }
  if (n > 0) {
    put_entries(presolve, &row);
    presolve->row[presolve->n++] = row;
  }
  for (int32_t i = 0; i < n; ++i) {
    presolve->is_in[presolve->trees[i]] = 0;
  }
  return n >= 0;
}

/* Returns the lower bound of the velocity of a gap that must not close. */
static double least_velocity(double phi0, double dt) {
  return -phi0 / (phi0 > 0.0 ? dt : SAP_PRESOLVE_TIME);
}

/* Returns the engine's row of a tendon limit with the distance nearest to phi0, or -1. */
static int32_t engine_row_of(const struct sap_element_state *state, int32_t tendon, double phi0) {
  int32_t best = -1;
  for (int32_t i = 0; i < state->n_rows && state->efc_type[i] < SAP_ROW_CONTACT; ++i) {
    if (state->efc_type[i] == SAP_ROW_TENDON_LIMIT && state->efc_id[i] == tendon &&
        fabs(state->efc_pos[i] - phi0) <= 1e-9 + 1e-9 * fabs(phi0)) {
      best = i;
    }
  }
  return best;
}

static int add_limits(struct sap_presolve *presolve, const struct sap_element_state *state,
                      double dt, int keep) {
  const struct sap_elements *e = presolve->elements->elements;
  for (int32_t t = 0; t < e->n_tendons; ++t) {
    const double *range = e->tendon_range + 2 * (int64_t)t;
    for (int upper = 0; upper < 2 && sap_is_presolved_limit(e, t); ++upper) {
      const double sign = upper ? -1.0 : 1.0, phi0 = sign * (state->ten_length[t] - range[upper]);
      const struct sap_presolve_row row = {.J = sap_tendon_row(e, state, t),
                                           .sign = sign,
                                           .velocity = least_velocity(phi0, dt),
                                           .upper = INFINITY,
                                           .engine_row = engine_row_of(state, t, phi0)};
      if (isfinite(phi0) && !add(presolve, row, keep)) {
        return 0;
      }
    }
  }
  return 1;
}

static int add_engine_rows(struct sap_presolve *presolve, const struct sap_element_state *state,
                           double dt, int keep) {
  const struct sap_elements *e = presolve->elements->elements;
  for (int32_t i = 0; i < presolve->elements->n_engine_rows; ++i) {
    if (!sap_is_presolved_row(e, state, i)) {
      continue;
    }
    const int holds = state->efc_type[i] == SAP_ROW_EQUALITY;
    const double bound = holds ? INFINITY : dt * state->efc_frictionloss[i];
    struct sap_presolve_row row = {.sign = 1.0,
                                   .velocity = holds ? -state->efc_pos[i] / SAP_PRESOLVE_TIME : 0.0,
                                   .lower = -bound,
                                   .upper = bound,
                                   .engine_row = i};
    if (!sap_constraint_row(state, presolve->elements->forest->nv, i, &row.J) ||
        !add(presolve, row, keep)) {
      return 0;
    }
  }
  return 1;
}

/* Adds the normal and the friction rows, or the edges of a pyramid, which have no friction. */
static int add_contact(struct sap_presolve *presolve, const struct sap_element_state *state,
                       const struct sap_contact_list *contacts, int32_t i, enum sap_cone cone,
                       double dt, int keep) {
  const int32_t dim = *sap_int32s_at(contacts->dim, i), first = *sap_int32s_at(contacts->row, i);
  const int is_cone = dim == 1 || cone == SAP_CONE_ELLIPTIC;
  const int32_t end = first + (is_cone ? dim : 2 * (dim - 1));
  const double *mu = sap_doubles_at(contacts->friction, i);
  const double least = least_velocity(*sap_doubles_at(contacts->dist, i), dt);
  const int64_t normal = presolve->n;
  for (int32_t r = first; r < end; ++r) {
    struct sap_presolve_row row = {
        .sign = 1.0, .velocity = least, .upper = INFINITY, .engine_row = r};
    if (is_cone && r > first) {
      row.velocity = 0.0;
      row.back = presolve->n - normal;
      row.mu = mu[r - first - 1];
    }
    if (r >= state->n_rows ||
        !sap_constraint_row(state, presolve->elements->forest->nv, r, &row.J) ||
        !add(presolve, row, keep)) {
      return 0;
    }
    if (is_cone && presolve->n == normal) {
      return 1; /* nothing moves along the normal */
    }
  }
  return 1;
}

static int add_contacts(struct sap_presolve *presolve, const struct sap_element_state *state,
                        const struct sap_contact_list *contacts, enum sap_cone cone, double dt,
                        int keep) {
  const int takes_flexes = presolve->flexes && !presolve->elements->elements->flexes_elsewhere;
  for (int32_t i = 0; i < contacts->count && takes_flexes; ++i) {
    if (*sap_int32s_at(contacts->exclude, i) == 0 &&
        sap_is_flex_contact(presolve, sap_int32s_at(contacts->geom, i)) &&
        !add_contact(presolve, state, contacts, i, cone, dt, keep)) {
      return 0;
    }
  }
  return 1;
}

static int add_rows(struct sap_presolve *presolve, const struct sap_element_state *state,
                    const struct sap_contact_list *contacts, enum sap_cone cone, double dt,
                    int keep) {
  presolve->n = presolve->n_parts = presolve->n_entries = 0;
  return add_engine_rows(presolve, state, dt, keep) && add_limits(presolve, state, dt, keep) &&
         add_contacts(presolve, state, contacts, cone, dt, keep);
}

/* Finds the levels. A row is on the level after the last earlier row that moves a tree of its own.
 * Friction is on a later level than its normal. */
static void find_levels(struct sap_presolve *presolve) {
  memset(presolve->next, 0, sizeof *presolve->next * (size_t)presolve->elements->forest->n_trees);
  memset(presolve->level_end, 0, sizeof *presolve->level_end * ((size_t)presolve->n + 1));
  for (int64_t r = 0; r < presolve->n; ++r) {
    const struct sap_presolve_row *row = presolve->row + r;
    int64_t level = row->back > 0 ? presolve->level[r - row->back] + 1 : 0;
    for (int64_t p = row->part; p < row[1].part; ++p) {
      const int64_t next = presolve->next[presolve->part[p].tree];
      level = level > next ? level : next;
    }
    for (int64_t p = row->part; p < row[1].part; ++p) {
      presolve->next[presolve->part[p].tree] = level + 1;
    }
    presolve->level[r] = level;
    presolve->level_end[level + 1] += 1;
  }
  for (int64_t l = 0; l < presolve->n; ++l) {
    presolve->level_end[l + 1] += presolve->level_end[l];
  }
  for (int64_t r = 0; r < presolve->n; ++r) {
    presolve->order[presolve->level_end[presolve->level[r]]++] = r;
  }
}

/* ---- impulses ------------------------------------------------------------------------------- */

/* Finds A^-1 J^T and w of a row; a block that cannot be factored does not move. */
static void find_response(struct sap_presolve *presolve, struct sap_presolve_row *row, int64_t end,
                          struct sap_free_motion *motion) {
  for (int64_t p = row->part; p < end; ++p) {
    const struct sap_presolve_part *part = &presolve->part[p];
    const int32_t n = part->n;
    double *U = presolve->response + part->at;
    const double *S = sap_free_motion_inverse(motion, part->tree, presolve->block[part->tree]);
    if (!S) {
      memset(U, 0, sizeof *U * (size_t)n);
      continue;
    }
    memcpy(U, presolve->J + part->at, sizeof *U * (size_t)n);
    row->w += sap_free_motion_multiply(motion, part->tree, S, U);
  }
  row->inverse = row->w > 0.0 ? 1.0 / row->w : 0.0;
  const struct sap_presolve_part *part = presolve->part + row->part;
  row->is_edge = row->back == 0 && end - row->part == 2 && part[0].n == 3 && part[1].n == 3;
}

/* Moves a row from `speed` to its target velocity, as far as its bounds allow. Returns the change
 * of its impulse. */
static inline double relax(struct sap_presolve_row *row, double speed) {
  const double before = row->impulse;
  const double wanted = before + (row->velocity - speed) * row->inverse;
  row->impulse = sap_clamp_impulse(wanted, row->lower, row->upper);
  return row->impulse - before;
}

/* Does the same, and moves the trees, for an edge of a flex: it joins two vertices, trees of three
 * dofs. */
static inline double relax_edge(const struct sap_presolve *presolve, struct sap_presolve_row *row,
                                const struct sap_presolve_part *part, double *v) {
  const double *J = presolve->J + part->at, *U = presolve->response + part->at;
  double *a = v + part[0].first, *b = v + part[1].first;
  const double speed =
      (J[0] * a[0] + J[1] * a[1] + J[2] * a[2]) + (J[3] * b[0] + J[4] * b[1] + J[5] * b[2]);
  const double change = relax(row, speed);
  for (int j = 0; j < 3; ++j) {
    a[j] += change * U[j];
    b[j] += change * U[3 + j];
  }
  return change;
}

static double relax_any(const struct sap_presolve *presolve, struct sap_presolve_row *row,
                        const struct sap_presolve_part *begin, double *v) {
  const struct sap_presolve_part *end = presolve->part + row[1].part;
  double speed = 0.0;
  for (const struct sap_presolve_part *p = begin; p < end; ++p) {
    speed += sap_vector_dot(p->n, presolve->J + p->at, v + p->first);
  }
  if (row->back > 0) {
    row->upper = row->mu * row[-row->back].impulse;
    row->lower = -row->upper;
  }
  const double change = relax(row, speed);
  for (const struct sap_presolve_part *p = begin; p < end && change != 0.0; ++p) {
    sap_vector_add(p->n, change, presolve->response + p->at, v + p->first);
  }
  return change;
}

/* Sweeps all rows; returns the largest velocity change of a row by its own impulse. */
static double sweep(struct sap_presolve *presolve, double *v) {
  double most = 0.0;
  for (int64_t i = 0; i < presolve->n; ++i) {
    struct sap_presolve_row *row = presolve->row + presolve->order[i];
    const struct sap_presolve_part *part = presolve->part + row->part;
    if (row->w > 0.0) {
      const double change =
          row->is_edge ? relax_edge(presolve, row, part, v) : relax_any(presolve, row, part, v);
      most = sap_larger(fabs(change) * row->w, most);
    }
  }
  return most;
}

static int64_t most_sweeps(int64_t n_rows) {
  const int64_t n = SAP_MOST_ROWS_SWEPT / n_rows;
  return n > SAP_MOST_SWEEPS ? SAP_MOST_SWEEPS : n > SAP_LEAST_SWEEPS ? n : SAP_LEAST_SWEEPS;
}

sap_status sap_presolve_run(struct sap_presolve *presolve, const struct sap_element_state *state,
                            const struct sap_contact_list *contacts, enum sap_cone cone, double dt,
                            struct sap_free_motion *motion) {
  if (!presolve->needed) {
    return SAP_OK;
  }
  int known = add_rows(presolve, state, contacts, cone, dt, 0);
  if (presolve->n == 0 && known) {
    return SAP_OK;
  }
  struct sap_arena arena = {NULL, 0};
  carve_listed(presolve, &arena);
  if (!sap_block_reserve(&presolve->listed, arena.used, &presolve->allocator)) {
    presolve->n = 0;
    return SAP_OUT_OF_MEMORY;
  }
  arena = (struct sap_arena){presolve->listed.base, 0};
  carve_listed(presolve, &arena);
  known = known && add_rows(presolve, state, contacts, cone, dt, 1);
  if (!known) {
    presolve->n = 0;
    return SAP_INVALID_ARGUMENT;
  }
  presolve->row[presolve->n].part = presolve->n_parts;
  find_levels(presolve);
  for (int64_t r = 0; r < presolve->n; ++r) {
    find_response(presolve, presolve->row + r, presolve->row[r + 1].part, motion);
  }
  const double first = sweep(presolve, motion->v_star);
  const int64_t most = most_sweeps(presolve->n);
  double last = first;
  for (int64_t i = 1; i < most && last > sap_last_correction * first; ++i) {
    last = sweep(presolve, motion->v_star);
  }
  for (int64_t p = 0; p < presolve->n_parts; ++p) {
    const struct sap_presolve_part *part = &presolve->part[p];
    for (int32_t i = part->first; i < part->first + part->n; ++i) {
      motion->a_star[i] = (motion->v_star[i] - motion->v_0[i]) / dt;
    }
  }
  return SAP_OK;
}

void sap_presolve_scatter(const struct sap_presolve *presolve, double dt, double *qfrc_constraint,
                          double *rows) {
  for (int64_t r = 0; r < presolve->n; ++r) {
    const struct sap_presolve_row *row = presolve->row + r;
    const double force = row->impulse / dt;
    for (int64_t p = row->part; p < row[1].part; ++p) {
      const struct sap_presolve_part *part = &presolve->part[p];
      sap_vector_add(part->n, force, presolve->J + part->at, qfrc_constraint + part->first);
    }
    if (row->engine_row >= 0) {
      rows[row->engine_row] = force;
    }
  }
}
