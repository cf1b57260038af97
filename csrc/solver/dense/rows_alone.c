#include "solver/dense/rows_alone.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/arithmetic.h"
#include "constraints/kinds/kinds.h"
#include "problem/groups.h"
#include "problem/problem_check.h"
#include "solver/dense/contact_step.h"
#include "solver/newton/iterate.h"
#include "solver/dense/tree_at.h"

/* Of trees that are wider the islands eliminate what no row moves, which pays more. */
enum { MOST_CONTACT_STEPS = 4, MOST_CONTACTS = 36, WIDEST = 64 };

/* ---- what is solved here --------------------------------------------------------------------- */

/* no contacts, or such as contacts_alone.h is for */
static int takes_contacts(const sap_problem *problem, const sap_settings *settings) {
  if (problem->n_contacts == 0) {
    return 1;
  }
  const sap_spin *spin = problem->spin;
  if (problem->n_contacts > MOST_CONTACTS || (spin && spin->n > 0 && (!spin->J || !spin->mu)) ||
      settings->friction != SAP_FRICTION_COULOMB || settings->soft_norm != 0 ||
      settings->start != SAP_START_STICKING || !problem->tree_b || !problem->J || !problem->mu) {
    return 0;
  }
  int32_t others = 0;
  for (int32_t i = 0; problem->barrier && i < problem->n_contacts; ++i) {
    others += problem->barrier[i] != SAP_BARRIER_NONE;
  }
  return others == 0;
}

/* Do the numbers of constraints that no regularization makes keep their rules? */
static int numbers_are_given(const sap_problem *problem, const struct sap_regularization *physical,
                             const sap_sizes *sizes) {
  if (!physical) {
    return sap_check_given(problem, NULL) == SAP_OK &&
           sap_check_constraints(problem, sizes, NULL) == SAP_OK;
  }
  return physical->parameters->groups || sap_check_groups(problem, NULL) == SAP_OK;
}

/* Finds the components of a problem for dense storage; 0 where it is none, or without memory. */
static int find_components(struct sap_rows_alone *alone, const sap_problem *problem,
                           const struct sap_regularization *physical, const sap_settings *settings,
                           const sap_allocator *allocator, enum sap_dense_outcome *why) {
  *why = SAP_DENSE_UNFIT;
  if (!settings->islands || !takes_contacts(problem, settings) || !problem->A || !problem->v_star ||
      sap_problem_sizes(problem, &alone->sizes, NULL) != SAP_OK ||
      alone->sizes.n_rows + problem->n_contacts == 0) {
    return 0;
  }
  if (!sap_joined_trees_find(&alone->joined, problem, &alone->sizes, allocator)) {
    *why = SAP_DENSE_NO_MEMORY;
    return 0;
  }
  return alone->joined.widest <= WIDEST && sap_check_groups_given(problem, NULL) == SAP_OK &&
         numbers_are_given(problem, physical, &alone->sizes);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void carve(void *context, struct sap_arena *arena) {
  struct sap_rows_alone *a = context;
  const size_t n_trees = (size_t)a->n_trees, nv = (size_t)a->sizes.nv;
  const size_t widest = (size_t)a->joined.widest;
  a->masses.S = sap_arena_take(arena, (size_t)a->sizes.nA, sizeof(double));
  a->masses.strips = sap_arena_take(arena, nv, sizeof(uint64_t));
  a->masses.tree_A = sap_arena_take(arena, n_trees, sizeof(int64_t));
  a->masses.tree_v = sap_arena_take(arena, n_trees, sizeof(int64_t));
  a->masses.inverse = sap_arena_take(arena, nv, sizeof(double));
  a->masses.island = sap_arena_take(arena, n_trees, sizeof(int32_t));
  a->masses.load = sap_arena_take(arena, n_trees, sizeof(double));
  a->row_begin = sap_arena_take(arena, n_trees + 1, sizeof(int32_t));
  a->position = sap_arena_take(arena, n_trees, sizeof(int32_t));
  a->row = sap_arena_take(arena, (size_t)a->sizes.n_rows, sizeof *a->row);
  a->entry = sap_arena_take(arena, (size_t)a->sizes.n_rows * SAP_FEW_ENTRIES, sizeof(int32_t));
  a->few = sap_arena_take(arena, (size_t)a->sizes.n_rows * SAP_FEW_ENTRIES, sizeof(double));
  a->contact_begin = sap_arena_take(arena, n_trees + 1, sizeof(int32_t));
  a->contact = sap_arena_take(arena, (size_t)a->n_contacts, sizeof *a->contact);
  a->impulses = sap_arena_take(arena, n_trees, sizeof(int32_t));
  sap_unknowns_alone_carve(&a->unknowns, arena, a->joined.widest, a->n_contacts > 0);
  sap_condensed_carve(&a->condensed, arena, a->joined.widest);
  sap_joined_trees_carve(&a->joined, arena);
  a->v = sap_arena_take(arena, nv, sizeof(double));
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
  return needed->nv <= room->nv && needed->nA <= room->nA && needed->n_rows <= room->n_rows &&
         needed->n_joined_rows <= room->n_joined_rows && needed->n_trees <= room->n_trees &&
         needed->n_contacts <= room->n_contacts && needed->widest <= room->widest &&
         needed->n_records <= room->n_records;
}

static int make_room(struct sap_rows_alone *alone, const sap_problem *problem,
                     const sap_settings *settings, const sap_allocator *allocator) {
  alone->n_trees = problem->n_trees;
  alone->n_contacts = problem->n_contacts;
  const int32_t n_records =
      settings->record_history ? alone->n_trees * (MOST_CONTACT_STEPS + 1) : 0;
  alone->records = (struct sap_records){.first = alone->records.first, .capacity = n_records};
  const struct sap_joined_trees *joined = &alone->joined;
  const struct sap_rows_room needed = {.nv = alone->sizes.nv,
                                       .nA = alone->sizes.nA,
                                       .n_rows = alone->sizes.n_rows,
                                       .n_joined_rows = joined->any ? joined->n_rows : 0,
                                       .n_trees = alone->n_trees,
                                       .n_contacts = alone->n_contacts,
                                       .widest = joined->widest,
                                       .n_records = n_records};
  if (!fits(&needed, &alone->room)) {
    alone->room = (struct sap_rows_room){0};
    if (!sap_block_carve(&alone->block, carve, alone, allocator)) {
      return 0;
    }
    alone->room = needed;
  }
  int64_t A = 0, v = 0;
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    const int64_t n = problem->tree_nv[t];
    alone->masses.tree_A[t] = A;
    alone->masses.tree_v[t] = v;
    A += n * n;
    v += n;
  }
  alone->masses.kernels = sap_kernels_best();
  alone->masses.loops = sap_vector_loops_of(sap_kernels_best_set());
  alone->find_impulses = sap_impulses_of(sap_kernels_best_set());
  return 1;
}

/* ---- rows and contacts by tree --------------------------------------------------------------- */

/* which trees have any, and where those of each component begin */
static void count_constraints(struct sap_rows_alone *alone, const sap_problem *problem) {
  const int32_t *first = alone->joined.first;
  int32_t *row = alone->row_begin, *contact = alone->contact_begin;
  memset(row, 0, ((size_t)problem->n_trees + 1) * sizeof *row);
  memset(contact, 0, ((size_t)problem->n_trees + 1) * sizeof *contact);
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    for (int32_t i = 0; i < group->n; ++i) {
      row[first[group->tree_a[i]] + 1] += sap_rows_of(group, i);
    }
  }
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    contact[first[problem->tree_a[i]] + 1]++;
  }
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    alone->position[t] = first[t] < t || row[t + 1] + contact[t + 1] > 0 ? 0 : -1;
    row[t + 1] += row[t];
    contact[t + 1] += contact[t];
  }
}

/* J (n) of a row as its entries where they are few; returns how many were packed */
static int32_t pack_entries(struct sap_row_alone *row, const struct sap_vector_loops *loops,
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

/* of each component, in the order of the groups */
static void list_rows(struct sap_rows_alone *alone, const sap_problem *problem) {
  struct sap_joined_trees *joined = &alone->joined;
  int32_t *end = alone->row_begin; /* of the rows listed, until it is the next tree's begin */
  int32_t place = 0, packed = 0;
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    const double *J = group->J;
    for (int32_t i = 0, k = 0; i < group->n; ++i) {
      const int32_t a = group->tree_a[i], tree = joined->first[a], dof = sap_dof_of(group, i);
      const int32_t n_rows = sap_rows_of(group, i);
      const double *J_i = J;
      if (dof >= 0) {
        ++J;
      } else {
        J_i = sap_joined_trees_rows(joined, problem->tree_nv, a, group->tree_b[i], n_rows, &J);
      }
      for (const int32_t last = k + n_rows; k < last; ++k, ++place) {
        struct sap_row_alone *row = &alone->row[end[tree]++];
        *row = (struct sap_row_alone){.J = J_i,
                                      .n_entries = 1,
                                      .place = place,
                                      .R = group->R[k],
                                      .inverse_R = 1 / group->R[k],
                                      .v_hat = group->v_hat[k],
                                      .lower = group->lower[k],
                                      .upper = group->upper[k]};
        if (dof < 0) {
          packed += pack_entries(row, alone->masses.loops, joined->size[tree], J_i,
                                 alone->entry + packed, alone->few + packed);
        } else {
          row->entry = &alone->entry[packed];
          alone->entry[packed++] = dof + joined->offset[a];
        }
        J_i += joined->size[tree];
      }
    }
  }
  memmove(end + 1, end, (size_t)problem->n_trees * sizeof *end);
  end[0] = 0;
}

/* ---- one tree -------------------------------------------------------------------------------- */

/* 1 where v is next to nothing beside what the free motion gains in the step, as of what lies */
static int is_at_rest(const struct sap_tree_alone *tree) {
  static const double little = 1e-3;
  double kept = 0, gained = 0;
  for (int32_t i = 0; i < tree->n; ++i) {
    const double mass = tree->A[(int64_t)i * (tree->n + 1)], gain = tree->v_star[i] - tree->v[i];
    kept += mass * tree->v[i] * tree->v[i];
    gained += mass * gain * gain;
  }
  return kept <= little * little * gained;
}

/* v*, where the step to all impulses begins; 0 where v is that already */
static int begin_at_star(const struct sap_tree_alone *tree) {
  const size_t bytes = (size_t)tree->n * sizeof *tree->v;
  const int is_new = memcmp(tree->v, tree->v_star, bytes) != 0;
  memcpy(tree->v, tree->v_star, bytes);
  return is_new;
}

/* A step of a tree with contacts lowers no cost. */
static void record(struct sap_rows_alone *alone, const struct sap_tree_alone *tree,
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
  sap_records_add(&alone->records, &here);
}

/* 1 where (20) came to hold; 0 once a step leaves too much */
static int solve_tree(struct sap_rows_alone *alone, const struct sap_tree_alone *tree,
                      const sap_settings *settings, int32_t n_islands,
                      struct sap_tree_result *result) {
  static const double share = 0.5; /* of the gradient before a step, where it leads to the end */
  const int has_contacts = tree->contact < tree->contact_end;
  const int condensed = sap_contact_step_condenses(tree);
  const int32_t contact_steps = condensed ? MOST_CONTACT_STEPS : 1;
  const int32_t most =
      settings->max_iterations < contact_steps ? settings->max_iterations : contact_steps;
  for (int32_t i = 0; i < tree->n; ++i) {
    alone->error[i] = tree->A[(int64_t)i * (tree->n + 1)];
  }
  alone->masses.loops->inverse_roots(0, tree->n, alone->error, alone->scale);
  sap_tree_multiply(alone, tree, tree->v_star, alone->momentum_star);
  double before = INFINITY, cost = 0;
  enum sap_contact_step step = SAP_CONTACT_STEP_LEAVES_ROWS;
  const int from_star = has_contacts && !condensed;
  if (from_star && !is_at_rest(tree)) {
    begin_at_star(tree);
  }
  for (result->iterations = 0;; ++result->iterations) {
    sap_tree_evaluate(alone, tree, result);
    const double scale = sqrt(fmax(result->norms.momentum, result->norms.impulse));
    const double gradient = sqrt(result->norms.gradient);
    record(alone, tree, cost, gradient, scale, result);
    cost = result->cost;
    if (gradient <= sap_share_of_tolerance(settings, n_islands, scale) && result->cost < INFINITY) {
      sap_tree_certify(alone, tree, result);
      return 1;
    }
    const int is_first = result->iterations == 0;
    const int falls = gradient < share * before;
    if (result->iterations == most || !(gradient < INFINITY) ||
        (!falls && step == SAP_CONTACT_STEP_SETTLES)) {
      return 0;
    }
    if (from_star && begin_at_star(tree)) {
      sap_tree_evaluate(alone, tree, result);
    }
    step = sap_contact_step_take(alone, tree, is_first);
    if (step == SAP_CONTACT_STEP_FAILS) {
      return 0;
    }
    before = sqrt(result->norms.gradient);
  }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void add(struct sap_tree_result *sum, const struct sap_tree_result *part) {
  sum->norms.momentum += part->norms.momentum;
  sum->norms.impulse += part->norms.impulse;
  sum->norms.gradient += part->norms.gradient;
  sum->cost += part->cost;
  sum->bound += part->bound;
  sum->complementarity += part->complementarity;
}

static void write(const struct sap_rows_alone *alone, sap_solution *solution) {
  memcpy(solution->v, alone->v, (size_t)alone->sizes.nv * sizeof *alone->v);
  for (int64_t i = 0; i < alone->sizes.n_rows; ++i) {
    const struct sap_row_alone *row = &alone->row[i];
    if (solution->group_gamma) {
      solution->group_gamma[row->place] = row->gamma;
    }
    if (solution->group_v_c) {
      solution->group_v_c[row->place] = row->v_c;
    }
  }
  for (int32_t i = 0; i < alone->n_contacts; ++i) {
    sap_contact_alone_write(&alone->contact[i], solution);
  }
}

static void conclude(const struct sap_rows_alone *alone, const struct sap_tree_result *sum,
                     const sap_settings *settings, sap_solution *solution) {
  const double gradient = sqrt(sum->norms.gradient);
  const double scale = sqrt(fmax(sum->norms.momentum, sum->norms.impulse));
  const int64_t n_constraints = alone->sizes.n_rows + alone->n_contacts;
  int64_t n_scalars = 0;
  for (int32_t t = 0; t < alone->n_trees; ++t) {
    const int64_t next = t + 1 < alone->n_trees ? alone->masses.tree_v[t + 1] : alone->sizes.nv;
    n_scalars += alone->position[t] >= 0 ? next - alone->masses.tree_v[t] : 0;
  }
  const double square = sum->bound + (double)n_scalars * DBL_MIN;
  solution->outcome = SAP_CONVERGED;
  solution->tree = -1;
  solution->cost = sum->cost;
  solution->momentum_error = sap_momentum_error(gradient, scale);
  solution->coulomb_error =
      settings->friction == SAP_FRICTION_CONVEX ? NAN : solution->momentum_error;
  solution->complementarity_error =
      sum->complementarity == 0 ? 0
                                : sum->complementarity / (double)n_constraints / fabs(sum->cost);
  solution->velocity_error_bound = sqrt(square);
  solution->cost_gap_bound = 0.5 * square;
}

enum sap_dense_outcome sap_rows_alone_solve(struct sap_rows_alone *alone,
                                            const sap_problem *problem,
                                            const struct sap_regularization *physical,
                                            const double *v_guess, const sap_settings *settings,
                                            const sap_allocator *allocator,
                                            sap_solution *solution) {
  enum sap_dense_outcome why;
  if (!find_components(alone, problem, physical, settings, allocator, &why)) {
    return why;
  }
  if (!make_room(alone, problem, settings, allocator)) {
    return SAP_DENSE_NO_MEMORY;
  }
  const struct sap_masses *masses = &alone->masses;
  struct sap_joined_trees *joined = &alone->joined;
  const double *guess = v_guess ? v_guess : problem->v_star;
  sap_problem complete = *problem;
  if (physical) {
    complete.R_t = physical->R_t;
    complete.R_n = physical->R_n;
    complete.v_hat_n = physical->v_hat_n;
  }
  count_constraints(alone, problem);
  if (!sap_contacts_alone_fit(problem, joined, alone->row_begin, alone->impulses) ||
      sap_first_non_finite(alone->sizes.nv, problem->v_star) >= 0 ||
      sap_first_non_finite(alone->sizes.nv, guess) >= 0 ||
      sap_invert_mass(problem, 0, problem->n_trees, alone->position, masses->S, masses->strips,
                      NULL, NULL) != SAP_OK ||
      (physical && sap_regularize_with(problem, &alone->sizes, physical, masses, NULL) != SAP_OK) ||
      !sap_contacts_alone_list(&complete, joined, alone->contact_begin, alone->contact)) {
    return SAP_DENSE_UNFIT;
  }
  list_rows(alone, problem);
  int32_t n_islands = 0;
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    n_islands += alone->position[t] >= 0 && joined->size[t] > 0;
  }
  struct sap_tree_result sum = {.iterations = 0};
  int32_t most = 0, total = 0, island = 0;
  memcpy(alone->v, problem->v_star, (size_t)alone->sizes.nv * sizeof *alone->v);
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    if (alone->position[t] < 0 || joined->size[t] == 0) {
      continue;
    }
    const int64_t v = masses->tree_v[t], block = masses->tree_A[t];
    const int is_joined = joined->size[t] > problem->tree_nv[t];
    struct sap_tree_alone tree = {.island = island++,
                                  .n = problem->tree_nv[t],
                                  .A = problem->A + block,
                                  .inverse = {masses->S + block, masses->strips + v},
                                  .v_star = problem->v_star + v,
                                  .v = alone->v + v,
                                  .row = alone->row + alone->row_begin[t],
                                  .end = alone->row + alone->row_begin[t + 1],
                                  .contact = alone->contact + alone->contact_begin[t],
                                  .contact_end = alone->contact + alone->contact_begin[t + 1],
                                  .n_impulses = alone->impulses[t]};
    struct sap_tree_result result;
    if (is_joined) {
      sap_joined_trees_gather(joined, problem, masses, guess, t);
      tree.n = joined->size[t];
      tree.A = joined->A;
      tree.inverse = (struct sap_tree_inverse){joined->S, joined->strips};
      tree.v_star = joined->v_star;
      tree.v = joined->v;
    } else {
      memcpy(tree.v, guess + v, (size_t)tree.n * sizeof *tree.v);
    }
    if (!solve_tree(alone, &tree, settings, n_islands, &result)) {
      return SAP_DENSE_FAILED;
    }
    if (is_joined) {
      sap_joined_trees_scatter(joined, problem, masses, t, alone->v);
    }
    add(&sum, &result);
    total += result.iterations;
    most = result.iterations > most ? result.iterations : most;
  }
  if (!isfinite(sum.norms.momentum + sum.norms.impulse + sum.cost + sum.bound)) {
    return SAP_DENSE_FAILED;
  }
  write(alone, solution);
  for (int32_t i = 0; solution->islands && i < n_islands; ++i) {
    solution->islands[i] = (sap_island_report){SAP_ALGORITHM_DELASSUS, SAP_STORAGE_DENSE, 0};
  }
  solution->iterations = most;
  solution->total_iterations = total;
  solution->n_islands = n_islands;
  conclude(alone, &sum, settings, solution);
  return SAP_DENSE_SOLVED;
}

size_t sap_rows_alone_memory(const struct sap_rows_alone *alone) {
  return alone->block.capacity + alone->joined.block.capacity;
}

void sap_rows_alone_release(struct sap_rows_alone *alone, const sap_allocator *allocator) {
  sap_block_release(&alone->block, allocator);
  sap_block_release(&alone->joined.block, allocator);
  alone->room = (struct sap_rows_room){0};
}
