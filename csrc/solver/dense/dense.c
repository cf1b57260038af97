#include "solver/dense/dense.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "constraints/kinds/kinds.h"
#include "problem/problem_check.h"
#include "solver/dense/contact_step.h"
#include "solver/newton/iterate.h"
#include "solver/dense/dense_evaluate.h"

enum { MOST_CONTACT_STEPS = SAP_DENSE_RECORDS - 1 };

/* ---- memory ---------------------------------------------------------------------------------- */

static void carve(void *context, struct sap_arena *arena) {
  struct sap_dense *a = context;
  const struct sap_component_counts *counts = &a->components.dense;
  const size_t n_rows = (size_t)counts->n_rows, widest = (size_t)counts->widest;
  a->row = sap_arena_take(arena, n_rows, sizeof *a->row);
  a->entry = sap_arena_take(arena, n_rows * SAP_FEW_ENTRIES, sizeof(int32_t));
  a->few = sap_arena_take(arena, n_rows * SAP_FEW_ENTRIES, sizeof(double));
  a->contact = sap_arena_take(arena, (size_t)counts->n_contacts, sizeof *a->contact);
  sap_dense_unknowns_carve(&a->unknowns, arena, counts->widest, counts->n_contacts > 0);
  sap_condensed_carve(&a->condensed, arena, counts->widest);
  sap_joined_trees_carve(&a->joined, arena, counts);
  a->v = sap_arena_take(arena, (size_t)a->room.nv, sizeof(double));
  a->records.first = sap_arena_take(arena, (size_t)a->records.capacity, sizeof *a->records.first);
  double **const of_tree[] = {&a->dw,      &a->momentum, &a->momentum_star,
                              &a->impulse, &a->gradient, &a->scale,
                              &a->error,   &a->dv,       &a->of_rows};
  for (size_t k = 0; k < sizeof of_tree / sizeof *of_tree; ++k) {
    *of_tree[k] = sap_arena_take(arena, widest, sizeof(double));
  }
  a->root = sap_arena_take(arena, widest * SAP_ROWS_AT_ONCE, sizeof(double));
}

static int fits(const struct sap_rows_room *needed, const struct sap_rows_room *room) {
  return needed->nv <= room->nv && needed->n_rows <= room->n_rows &&
         needed->n_joined_rows <= room->n_joined_rows && needed->n_contacts <= room->n_contacts &&
         needed->widest <= room->widest && needed->n_records <= room->n_records;
}

int sap_dense_fit(struct sap_dense *dense, const sap_sizes *sizes, const sap_settings *settings,
                  const sap_allocator *allocator) {
  const struct sap_component_counts *counts = &dense->components.dense;
  const int32_t n_records = settings->record_history ? SAP_DENSE_RECORDS * counts->n_components : 0;
  dense->records = (struct sap_records){.first = dense->records.first, .capacity = n_records};
  const struct sap_rows_room needed = {.nv = sizes->nv,
                                       .n_rows = counts->n_rows,
                                       .n_joined_rows = counts->n_joined_rows,
                                       .n_contacts = counts->n_contacts,
                                       .widest = counts->widest,
                                       .n_records = n_records};
  if (!fits(&needed, &dense->room)) {
    dense->room = needed;
    if (!sap_block_carve(&dense->block, carve, dense, allocator)) {
      dense->room = (struct sap_rows_room){0};
      return 0;
    }
  }
  return 1;
}

/* ---- rows and contacts by component ---------------------------------------------------------- */

/* Packs the nonzero entries of J (n) of a row if they are few. Returns the number of packed
 * ones. */
static int32_t pack_entries(struct sap_dense_row *row, const struct sap_vector_loops *loops,
                            int32_t n, const double *J, int32_t *entry, double *few) {
  const int32_t count = loops->find_entries(1, n, J, SAP_FEW_ENTRIES, entry);
  if (count <= 0) {
    row->n_entries = n;
    row->J = J;
    return 0;
  }
  row->n_entries = count;
  row->entry = entry;
  row->J = few;
  for (int32_t k = 0; k < count; ++k) {
    few[k] = J[entry[k]];
  }
  return count;
}

/* Returns the number of velocities of the trees of a constraint. */
static int64_t width_of(const sap_problem *problem, int32_t a, int32_t b) {
  return (int64_t)problem->tree_nv[a] + (b < 0 ? 0 : problem->tree_nv[b]);
}

/* Lists the rows of each dense component, in the order of the groups. */
static void list_rows(struct sap_dense *dense, const sap_problem *problem) {
  struct sap_joined_trees *joined = &dense->joined;
  const struct sap_components *c = &dense->components;
  int32_t *end = c->row_begin; /* end of the listed rows; finally the begin of the next tree */
  int32_t place = 0, packed = 0;
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    const double *J = group->J;
    for (int32_t i = 0, k = 0; i < group->n; ++i) {
      const int32_t a = group->tree_a[i], tree = c->first[a], dof = sap_dof_of(group, i);
      const int32_t n_rows = sap_rows_of(group, i);
      const double *J_i = J;
      if (!c->is_dense[tree]) {
        J += dof >= 0 ? 1 : n_rows * width_of(problem, a, group->tree_b[i]);
        k += n_rows;
        place += n_rows;
        continue;
      }
      if (dof >= 0) {
        ++J;
      } else {
        J_i = sap_joined_trees_rows(joined, problem->tree_nv, a, group->tree_b[i], n_rows, &J);
      }
      for (const int32_t last = k + n_rows; k < last; ++k, ++place) {
        struct sap_dense_row *row = &dense->row[end[tree]++];
        *row = (struct sap_dense_row){.J = J_i,
                                      .n_entries = 1,
                                      .place = place,
                                      .R = group->R[k],
                                      .inverse_R = 1 / group->R[k],
                                      .v_hat = group->v_hat[k],
                                      .lower = group->lower[k],
                                      .upper = group->upper[k]};
        if (dof < 0) {
          packed += pack_entries(row, dense->masses.loops, c->size[tree], J_i,
                                 dense->entry + packed, dense->few + packed);
        } else {
          row->entry = &dense->entry[packed];
          dense->entry[packed++] = dof + c->offset[a];
        }
        J_i += c->size[tree];
      }
    }
  }
  memmove(end + 1, end, (size_t)problem->n_trees * sizeof *end);
  end[0] = 0;
}

/* ---- one tree -------------------------------------------------------------------------------- */

/* Is the tree at rest: is |v| small compared with |v* - v|, the gain of the free motion? */
static int is_at_rest(const struct sap_dense_component *tree) {
  static const double little = 1e-3;
  double kept = 0, gained = 0;
  for (int32_t i = 0; i < tree->n; ++i) {
    const double mass = tree->A[(int64_t)i * (tree->n + 1)], gain = tree->v_star[i] - tree->v[i];
    kept += mass * tree->v[i] * tree->v[i];
    gained += mass * gain * gain;
  }
  return kept <= little * little * gained;
}

/* Sets v = v*, where the step to all impulses begins. Returns 0 if v was v* already. */
static int begin_at_star(const struct sap_dense_component *tree) {
  const size_t bytes = (size_t)tree->n * sizeof *tree->v;
  const int is_new = memcmp(tree->v, tree->v_star, bytes) != 0;
  memcpy(tree->v, tree->v_star, bytes);
  return is_new;
}

/* Records an iterate. A step of a tree with contacts has no decrease, since there is no cost. */
static void record(struct sap_dense *dense, const struct sap_dense_component *tree,
                   double cost_before, double gradient, double scale,
                   const struct sap_tree_result *now) {
  const int32_t any = now->iterations > 0;
  const sap_iteration here = {
      .island = tree->island,
      .iteration = now->iterations,
      .trials = any,
      .step = any,
      .cost = now->cost,
      .decrease = any && tree->contact == tree->contact_end ? cost_before - now->cost : 0,
      .momentum_error = sap_momentum_error(gradient, scale)};
  sap_records_add(&dense->records, &here);
}

/* Solves a tree. Returns 1 if (20) holds; 0 if a step reduces the gradient too little. */
static int solve_tree(struct sap_dense *dense, const struct sap_dense_component *tree,
                      const sap_settings *settings, int32_t n_islands,
                      struct sap_tree_result *result) {
  static const double share = 0.5; /* largest share of the gradient after a useful step */
  const int has_contacts = tree->contact < tree->contact_end;
  const int condensed = sap_contact_step_condenses(tree);
  const int32_t contact_steps = condensed ? MOST_CONTACT_STEPS : 1;
  const int32_t most =
      settings->max_iterations < contact_steps ? settings->max_iterations : contact_steps;
  for (int32_t i = 0; i < tree->n; ++i) {
    dense->error[i] = tree->A[(int64_t)i * (tree->n + 1)];
  }
  dense->masses.loops->inverse_roots(0, tree->n, dense->error, dense->scale);
  sap_tree_multiply(dense, tree, tree->v_star, dense->momentum_star);
  double before = INFINITY, cost = 0;
  enum sap_contact_step step = SAP_CONTACT_STEP_LEAVES_ROWS;
  const int from_star = has_contacts && !condensed;
  if (from_star && !is_at_rest(tree)) {
    begin_at_star(tree);
  }
  for (result->iterations = 0;; ++result->iterations) {
    sap_tree_evaluate(dense, tree, result);
    const double scale = sqrt(fmax(result->norms.momentum, result->norms.impulse));
    const double gradient = sqrt(result->norms.gradient);
    record(dense, tree, cost, gradient, scale, result);
    cost = result->cost;
    if (gradient <= sap_share_of_tolerance(settings, n_islands, scale) && result->cost < INFINITY) {
      sap_dense_certify(dense, tree, result);
      return 1;
    }
    const int is_first = result->iterations == 0;
    const int falls = gradient < share * before;
    if (result->iterations == most || !(gradient < INFINITY) ||
        (!falls && step == SAP_CONTACT_STEP_SETTLES)) {
      return 0;
    }
    if (from_star && begin_at_star(tree)) {
      sap_tree_evaluate(dense, tree, result);
    }
    step = sap_contact_step_take(dense, tree, is_first);
    if (step == SAP_CONTACT_STEP_FAILS) {
      return 0;
    }
    before = sqrt(result->norms.gradient);
  }
}

/* ---- the components -------------------------------------------------------------------------- */

static struct sap_sums sums_of(const struct sap_dense_component *tree,
                               const struct sap_tree_result *result) {
  return (struct sap_sums){.outcome = SAP_CONVERGED,
                           .tree = -1,
                           .iterations = result->iterations,
                           .total_iterations = result->iterations,
                           .n_scalars = tree->n,
                           .cost = result->cost,
                           .gradient = result->norms.gradient,
                           .momentum = result->norms.momentum,
                           .impulse = result->norms.impulse,
                           .coulomb = result->norms.gradient,
                           .bound = result->bound,
                           .complementarity = result->complementarity};
}

/* Solves component t. Returns 0 if it is left to the islands. */
static int solve_component(struct sap_dense *dense, const sap_problem *problem, const double *guess,
                           const sap_settings *settings, int32_t t, struct sap_sums *sums) {
  const struct sap_components *c = &dense->components;
  const struct sap_masses *masses = &dense->masses;
  const int64_t v = masses->tree_v[t], block = masses->tree_A[t];
  const int is_joined = c->size[t] > problem->tree_nv[t];
  const int32_t n_records = dense->records.n;
  struct sap_dense_component tree = {.island = c->island[t],
                                     .n = c->size[t],
                                     .A = problem->A + block,
                                     .inverse = {masses->S + block, masses->strips + v},
                                     .v_star = problem->v_star + v,
                                     .v = dense->v + v,
                                     .row = dense->row + c->row_begin[t],
                                     .end = dense->row + c->row_begin[t + 1],
                                     .contact = dense->contact + c->contact_begin[t],
                                     .contact_end = dense->contact + c->contact_begin[t + 1],
                                     .n_impulses = c->impulses[t]};
  struct sap_tree_result result;
  if (is_joined) {
    const struct sap_joined_trees *joined = &dense->joined;
    sap_joined_trees_gather(joined, problem, masses, guess, t);
    tree.A = joined->A;
    tree.inverse = (struct sap_tree_inverse){joined->S, joined->strips};
    tree.v_star = joined->v_star;
    tree.v = joined->v;
  } else {
    memcpy(tree.v, guess + v, (size_t)tree.n * sizeof *tree.v);
  }
  if (!solve_tree(dense, &tree, settings, c->n_all, &result) ||
      !isfinite(result.norms.momentum + result.norms.impulse + result.cost + result.bound)) {
    dense->records.n = n_records;
    return 0;
  }
  if (is_joined) {
    sap_joined_trees_scatter(&dense->joined, problem, masses, t, dense->v);
  }
  const struct sap_sums part = sums_of(&tree, &result);
  sap_sums_add(sums, &part);
  return 1;
}

int32_t sap_dense_solve(struct sap_dense *dense, const sap_problem *problem, const double *v_guess,
                        const sap_settings *settings, struct sap_sums *sums) {
  struct sap_components *c = &dense->components;
  const double *guess = v_guess ? v_guess : problem->v_star;
  int32_t n_solved = 0;
  dense->joined.components = c;
  dense->joined.used = 0;
  sap_dense_contacts_list(problem, &dense->joined, dense->contact);
  list_rows(dense, problem);
  for (int32_t t = 0; t < c->n_trees; ++t) {
    if (c->first[t] < t) {
      c->is_solved[t] = c->is_solved[c->first[t]];
    } else if (c->is_dense[t] && !c->is_unfit[t]) {
      c->is_solved[t] = (int8_t)solve_component(dense, problem, guess, settings, t, sums);
      n_solved += c->is_solved[t];
    }
  }
  return n_solved;
}

static void write_rows(const struct sap_dense *dense, int32_t begin, int32_t end,
                       const sap_solution *solution) {
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_dense_row *row = &dense->row[i];
    if (solution->group_gamma) {
      solution->group_gamma[row->place] = row->gamma;
    }
    if (solution->group_v_c) {
      solution->group_v_c[row->place] = row->v_c;
    }
  }
}

void sap_dense_write(const struct sap_dense *dense, const sap_problem *problem,
                     const sap_solution *solution) {
  const struct sap_components *c = &dense->components;
  for (int32_t t = 0; t < c->n_trees; ++t) {
    if (!c->is_solved[t]) {
      continue;
    }
    const int64_t v = dense->masses.tree_v[t];
    memcpy(solution->v + v, dense->v + v, (size_t)problem->tree_nv[t] * sizeof *dense->v);
    if (c->first[t] < t) {
      continue;
    }
    write_rows(dense, c->row_begin[t], c->row_begin[t + 1], solution);
    for (int32_t i = c->contact_begin[t]; i < c->contact_begin[t + 1]; ++i) {
      sap_dense_contact_write(&dense->contact[i], solution);
    }
    if (solution->islands) {
      solution->islands[c->island[t]] =
          (sap_island_report){SAP_ALGORITHM_DELASSUS, SAP_STORAGE_DENSE, 0};
    }
  }
}

size_t sap_dense_memory(const struct sap_dense *dense) {
  return dense->block.capacity + dense->components.block.capacity;
}

void sap_dense_release(struct sap_dense *dense, const sap_allocator *allocator) {
  sap_block_release(&dense->block, allocator);
  sap_block_release(&dense->components.block, allocator);
  dense->room = (struct sap_rows_room){0};
  dense->components.room = 0;
}
