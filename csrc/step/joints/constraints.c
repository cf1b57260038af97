#include "step/joints/constraints.h"

#include <math.h>
#include <string.h>

#include "constraints/kinds/kinds.h"
#include "linalg/kernels/kernels.h"
#include "step/joints/element_rows.h"
#include "problem/products/vectors.h"

/* beta of Eq. (21) for these kinds */
static const double near_rigid = 0.1;

/* groups in the order of the engine's rows, controllers last */
enum { EQUALITIES, FRICTIONS, LIMITS, CONTROLLERS };
static const sap_kind kinds[SAP_ELEMENT_GROUPS] = {
    [EQUALITIES] = SAP_BILATERAL,
    [FRICTIONS] = SAP_DRY_FRICTION,
    [LIMITS] = SAP_LIMIT,
    [CONTROLLERS] = SAP_CONTROLLER,
};

/* ---- workspace ------------------------------------------------------------------------------ */

static void carve_fixed(void *context, struct sap_arena *arena) {
  struct sap_element_gather *g = context;
  const size_t nv = (size_t)g->forest->nv, n = (size_t)g->elements->n_controllers;
  g->dof_tree = sap_arena_take(arena, nv, sizeof(int32_t));
  g->change = sap_arena_take(arena, nv, sizeof(double));
  g->smooth = sap_arena_take(arena, nv, sizeof(double));
  g->friction_dof = sap_arena_take(arena, nv, sizeof(int32_t));
  g->friction = sap_arena_take(arena, nv, sizeof(double));
  g->controlled = sap_arena_take(arena, (size_t)g->forest->n_trees, 1);
  g->controller = sap_arena_take(arena, n, sizeof(int32_t));
  g->range = sap_arena_take(arena, n, 2 * sizeof(double));
  g->moment = sap_arena_take(arena, n, sizeof *g->moment);
  sap_open_limits_carve(&g->open, arena,
                        (size_t)g->elements->n_limits + (size_t)g->elements->n_tendons);
}

static void carve_listed(struct sap_element_gather *g, struct sap_arena *arena, size_t n) {
  g->label = sap_arena_take(arena, n, sizeof(struct sap_row_label));
  g->scale = sap_arena_take(arena, n, sizeof(double));
  for (int i = 0; i < SAP_ELEMENT_VALUES; ++i) {
    g->value[i] = sap_arena_take(arena, n, sizeof(double));
  }
  double **const rows[] = {
      &g->release, &g->release_impulse, &g->row_slip_speed, &g->R,   &g->v_hat,
      &g->lower,   &g->upper,           &g->gamma,          &g->v_c, &g->force};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    *rows[i] = sap_arena_take(arena, n, sizeof(double));
  }
  g->is_angle = sap_arena_take(arena, n, 1);
  g->size = sap_arena_take(arena, n, sizeof(int32_t));
  g->tree_a = sap_arena_take(arena, n, sizeof(int32_t));
  g->tree_b = sap_arena_take(arena, n, sizeof(int32_t));
  g->dof = sap_arena_take(arena, n, sizeof(int32_t));
}

static void list_frictions(struct sap_element_gather *g) {
  const double *loss = g->elements->dof_frictionloss;
  for (int32_t i = 0; i < g->forest->nv && loss; ++i) {
    if (loss[i] > 0.0) {
      g->friction_dof[g->n_frictions] = i;
      g->friction[g->n_frictions++] = loss[i];
    }
  }
}

/* Counts upper limits of the rows of limits and controllers, and of their entries of J, for any
 * step. */
static void count_lasting(struct sap_element_gather *g) {
  const struct sap_elements *e = g->elements;
  const struct sap_forest *f = g->forest;
  for (int32_t l = 0; l < e->n_limits; ++l) {
    const int32_t tree = g->dof_tree[e->limit_dofadr[l]];
    g->n_lasting += 2;
    g->nJ_lasting += e->limit_ball[l] ? f->tree_dofnum[tree] : 2;
  }
  for (int32_t t = 0; t < e->n_tendons; ++t) {
    if (e->tendon_limited[t]) {
      g->n_lasting += 2;
      g->nJ_lasting += 2 * sap_width_of(f, e->tendon_tree + 2 * (int64_t)t);
    }
  }
  g->n_lasting += e->n_controllers;
  for (int32_t c = 0; c < e->n_controllers; ++c) {
    g->nJ_lasting += sap_width_of(f, e->controller_tree + 2 * (int64_t)c);
  }
}

sap_status sap_element_gather_create(struct sap_element_gather *gather,
                                     const struct sap_elements *elements,
                                     const struct sap_forest *forest,
                                     const sap_allocator *allocator) {
  memset(gather, 0, sizeof *gather);
  gather->allocator = sap_allocator_or_default(allocator);
  gather->forest = forest;
  gather->loops = sap_vector_loops_of(sap_kernels_best_set());
  gather->elements = elements;
  if (elements == NULL) {
    return SAP_OK;
  }
  if (!sap_block_carve_zeros(&gather->fixed, carve_fixed, gather, &gather->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  for (int32_t t = 0; t < forest->n_trees; ++t) {
    for (int32_t i = 0; i < forest->tree_dofnum[t]; ++i) {
      gather->dof_tree[forest->tree_dofadr[t] + i] = t;
    }
  }
  for (int32_t c = 0; c < elements->n_controllers; ++c) {
    for (int side = 0; side < 2; ++side) {
      const int32_t tree = elements->controller_tree[2 * (int64_t)c + side];
      if (tree >= 0) {
        gather->controlled[tree] = 1;
      }
    }
  }
  list_frictions(gather);
  count_lasting(gather);
  return SAP_OK;
}

void sap_element_gather_release(struct sap_element_gather *gather) {
  sap_block_release(&gather->fixed, &gather->allocator);
  sap_block_release(&gather->listed, &gather->allocator);
  sap_block_release(&gather->jacobian, &gather->allocator);
}

/* ---- room for the rows ---------------------------------------------------------------------- */

static int set_fault(enum sap_fault value, int64_t at, enum sap_fault *fault, int64_t *index) {
  *fault = value;
  *index = at;
  return 0;
}

/* Returns one more than the largest id of rows of a type. */
static int32_t end_of_ids(const struct sap_element_gather *g, int32_t type) {
  const struct sap_elements *e = g->elements;
  return type == SAP_ROW_EQUALITY       ? e->n_equalities
         : type == SAP_ROW_DOF_FRICTION ? g->forest->nv
         : type == SAP_ROW_JOINT_LIMIT  ? INT32_MAX
                                        : e->n_tendons;
}

/* Returns the entries of J of row i of an equality constraint, 0 if the row is wrong. */
static int64_t equality_entries(const struct sap_element_gather *g,
                                const struct sap_element_state *state, int32_t i) {
  const struct sap_elements *e = g->elements;
  const int32_t id = state->efc_id[i];
  if (e->equality_kind[id] != SAP_EQUALITY_ROWS) {
    return sap_width_of(g->forest, e->equality_tree + 2 * (int64_t)id);
  }
  int32_t tree[2] = {-1, -1};
  struct sap_engine_jacobian row;
  const int known =
      sap_constraint_row(state, g->forest->nv, i, &row) && sap_row_trees(g, &row, tree);
  return known ? sap_width_of(g->forest, tree) : 0;
}

/* Returns an upper limit of the entries of J of the rows [begin, end), which are of one type. */
static int64_t most_entries(const struct sap_element_gather *g,
                            const struct sap_element_state *state, int32_t begin, int32_t end) {
  const int32_t type = state->efc_type[begin];
  if (type != SAP_ROW_EQUALITY && type != SAP_ROW_TENDON_FRICTION) {
    return type == SAP_ROW_DOF_FRICTION ? end - begin : 0;
  }
  const int32_t *tree = g->elements->tendon_tree;
  int64_t entries = 0;
  for (int32_t i = begin; i < end; ++i) {
    entries += type == SAP_ROW_EQUALITY
                   ? equality_entries(g, state, i)
                   : sap_width_of(g->forest, tree + 2 * (int64_t)state->efc_id[i]);
  }
  return entries;
}

/* Finds upper limits of the rows and entries of J in this step. Checks the engine's rows and counts
 * those other than contact rows. Returns 0 with a fault. */
static int measure(struct sap_element_gather *g, const struct sap_element_state *state, size_t *n,
                   size_t *nJ, enum sap_fault *fault, int64_t *index) {
  const int32_t n_frictions = g->left_out ? g->n_frictions : 0;
  int64_t rows = g->n_lasting + n_frictions, entries = g->nJ_lasting + n_frictions;
  int32_t end = 0;
  while (end < state->n_rows && state->efc_type[end] < SAP_ROW_CONTACT) {
    const int32_t begin = end, type = state->efc_type[begin], ids = end_of_ids(g, type);
    for (; end < state->n_rows && state->efc_type[end] == type; ++end) {
      if (type < 0 || state->efc_id[end] < 0 || state->efc_id[end] >= ids) {
        return set_fault(SAP_FAULT_ROWS, end, fault, index);
      }
    }
    rows += type == SAP_ROW_JOINT_LIMIT || type == SAP_ROW_TENDON_LIMIT ? 0 : end - begin;
    entries += most_entries(g, state, begin, end);
  }
  g->n_engine_rows = end;
  *n = (size_t)rows;
  *nJ = (size_t)entries;
  return 1;
}

static int reserve(struct sap_element_gather *g, size_t n, size_t nJ) {
  if (n < g->room && nJ <= g->room_J) {
    return 1;
  }
  g->room = 0;
  struct sap_arena arena = {NULL, 0};
  carve_listed(g, &arena, n);
  if (!sap_block_reserve(&g->listed, arena.used, &g->allocator) ||
      !sap_block_reserve(&g->jacobian, sizeof(double) * nJ, &g->allocator)) {
    return 0;
  }
  arena = (struct sap_arena){g->listed.base, 0};
  carve_listed(g, &arena, n);
  g->J = (double *)(void *)g->jacobian.base;
  g->room = n + 1;
  g->room_J = nJ;
  return 1;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Closes the group of the constraints since the last one. */
static void end_group(struct sap_element_cursor *at, int group, const double *J) {
  struct sap_element_gather *g = at->gather;
  const int32_t first = at->first;
  if (g->n_constraints == first) {
    return;
  }
  const int64_t row = g->first_row[g->n_groups];
  g->groups[g->n_groups] = (sap_constraints){.kind = kinds[group],
                                             .n = g->n_constraints - first,
                                             .size = group == EQUALITIES ? g->size + first : NULL,
                                             .tree_a = g->tree_a + first,
                                             .tree_b = g->tree_b + first,
                                             .J = J,
                                             .R = g->R + row,
                                             .v_hat = g->v_hat + row,
                                             .lower = g->lower + row,
                                             .upper = g->upper + row,
                                             .dof = g->dof + first};
  g->nJ[g->n_groups] = at->J - J;
  g->first_row[++g->n_groups] = g->n_rows;
  at->first = g->n_constraints;
}

static int gather_group(struct sap_element_cursor *at, const struct sap_element_state *state,
                        int group) {
  switch (group) {
    case EQUALITIES: return sap_gather_equalities(at, state);
    case FRICTIONS: return sap_gather_frictions(at, state);
    case LIMITS: return sap_gather_limits(at, state);
    default: sap_gather_controllers(at, state); return 1;
  }
}

sap_status sap_element_gather_begin(struct sap_element_gather *gather,
                                    const struct sap_element_state *state, enum sap_fault *fault,
                                    int64_t *index) {
  *fault = SAP_FAULT_NONE;
  *index = -1;
  gather->n_groups = gather->n_rows = gather->n_constraints = gather->n_acting = 0;
  gather->n_engine_rows = gather->open.n = 0;
  gather->first_row[0] = 0;
  if (gather->elements == NULL) {
    return SAP_OK;
  }
  size_t n, nJ;
  if (!measure(gather, state, &n, &nJ, fault, index)) {
    return SAP_OK;
  }
  if (!reserve(gather, n, nJ)) {
    return SAP_OUT_OF_MEMORY;
  }
  if (gather->elements->n_controllers > 0 && !sap_remove_controllers(gather, state)) {
    set_fault(SAP_FAULT_ROWS, -1, fault, index);
  }
  return SAP_OK;
}

int sap_element_gather_run(struct sap_element_gather *gather, const struct sap_element_state *state,
                           uint8_t *touched) {
  struct sap_element_cursor at = {gather, touched, gather->J, 0};
  int known = 1;
  for (int group = 0; gather->elements && group < SAP_ELEMENT_GROUPS && known; ++group) {
    const double *J = at.J;
    known = gather_group(&at, state, group);
    end_group(&at, group, J);
  }
  return known;
}

void sap_element_gather_parameters(struct sap_element_gather *gather,
                                   const sap_parameters *parameters) {
  for (int32_t i = 0; i < gather->n_groups; ++i) {
    const int64_t row = gather->first_row[i];
    const sap_kind kind = gather->groups[i].kind;
    const int bounded = kind == SAP_CONTROLLER;
    const int released = gather->n_released > 0 && sap_kinds[kind]->released;
    for (int p = 0; p < SAP_ELEMENT_VALUES; ++p) {
      gather->parameter[i][p] = gather->value[p] + row;
    }
    gather->regularization[i] = (sap_group_regularization){
        .parameters = {.dt = parameters->dt,
                       .sigma = parameters->sigma,
                       .beta = near_rigid,
                       .delassus = parameters->delassus,
                       .value = gather->parameter[i],
                       .slip_speed = gather->slip_speed > 0.0 && kind == SAP_DRY_FRICTION
                                         ? gather->row_slip_speed + row
                                         : NULL,
                       .release = released ? gather->release + row : NULL,
                       .release_impulse = released ? gather->release_impulse + row : NULL},
        .R = gather->R + row,
        .v_hat = gather->v_hat + row,
        .lower = bounded ? NULL : gather->lower + row,
        .upper = bounded ? NULL : gather->upper + row};
  }
  const int64_t row = gather->n_rows - gather->n_acting; /* controllers are the last group */
  for (int32_t c = 0; c < gather->n_acting; ++c) {
    gather->lower[row + c] = parameters->dt * gather->range[2 * (int64_t)c];
    gather->upper[row + c] = parameters->dt * gather->range[2 * (int64_t)c + 1];
  }
}
