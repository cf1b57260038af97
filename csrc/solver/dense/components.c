#include "solver/dense/components.h"

#include <string.h>

#include "constraints/kinds/kinds.h"

/* Upper limits of velocities. In wider components without contacts the islands eliminate velocities
 * that no row moves, which saves more. */
enum { WIDEST = 64, WIDEST_WITH_CONTACTS = 128 };

static void carve(void *context, struct sap_arena *arena) {
  struct sap_components *c = context;
  const size_t n = (size_t)c->room;
  int32_t **const arrays[] = {&c->first,     &c->size,          &c->offset,   &c->touched,
                              &c->row_begin, &c->contact_begin, &c->impulses, &c->island};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) {
    *arrays[k] = sap_arena_take(arena, n + 1, sizeof(int32_t));
  }
  c->is_unfit = sap_arena_take(arena, n, sizeof(int8_t));
  c->is_dense = sap_arena_take(arena, n, sizeof(int8_t));
  c->is_solved = sap_arena_take(arena, n, sizeof(int8_t));
}

/* ---- components ------------------------------------------------------------------------------ */

/* Returns the first tree of the trees that t has been joined with so far. */
static int32_t first_of(int32_t *first, int32_t t) {
  while (first[t] != t) {
    t = first[t] = first[first[t]];
  }
  return t;
}

/* Joins the trees of n constraints. */
static void join(int32_t *first, int32_t n, const int32_t *tree_a, const int32_t *tree_b) {
  for (int32_t i = 0; i < n; ++i) {
    if (tree_b[i] >= 0) {
      const int32_t a = first_of(first, tree_a[i]), b = first_of(first, tree_b[i]);
      first[a > b ? a : b] = a > b ? b : a;
    }
  }
}

static void find_first(const struct sap_components *c, const sap_problem *problem) {
  for (int32_t t = 0; t < c->n_trees; ++t) {
    c->first[t] = t;
  }
  join(c->first, problem->n_contacts, problem->tree_a, problem->tree_b);
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    join(c->first, group->n, group->tree_a, group->tree_b);
  }
  for (int32_t t = 0; t < c->n_trees; ++t) {
    /* first[t] <= t is final where its own is */
    const int32_t first = c->first[t] = c->first[c->first[t]];
    c->offset[t] = first < t ? c->size[first] : 0;
    c->size[t] = 0;
    c->size[first] += problem->tree_nv[t];
  }
}

/* ---- constraints ----------------------------------------------------------------------------- */

/* Counts rows and contacts of each component, at the place after its own. */
static void count_constraints(const struct sap_components *c, const sap_problem *problem) {
  int32_t *row = c->row_begin, *contact = c->contact_begin;
  const size_t n = (size_t)c->n_trees;
  const sap_spin *spin = problem->spin;
  memset(row, 0, (n + 1) * sizeof *row);
  memset(contact, 0, (n + 1) * sizeof *contact);
  memset(c->impulses, 0, n * sizeof *c->impulses);
  memset(c->is_unfit, 0, n);
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    for (int32_t i = 0; i < group->n; ++i) {
      row[c->first[group->tree_a[i]] + 1] += sap_rows_of(group, i);
    }
  }
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    const int32_t t = c->first[problem->tree_a[i]];
    contact[t + 1]++;
    c->impulses[t] += 3;
    c->is_unfit[t] |= problem->barrier && problem->barrier[i] != SAP_BARRIER_NONE;
  }
  for (int32_t k = 0; spin && problem->mu && spin->mu && k < spin->n; ++k) {
    const int32_t i = spin->contact[k];
    for (int r = 0; r < 3; ++r) {
      c->impulses[c->first[problem->tree_a[i]]] +=
          spin->mu[3 * (int64_t)k + r] / problem->mu[i] > 0;
    }
  }
}

/* Can dense_contacts.h solve the contacts, apart from their numbers and cores? */
static int takes_contacts(const sap_problem *problem, const sap_settings *settings) {
  const sap_spin *spin = problem->spin;
  return settings->friction == SAP_FRICTION_COULOMB && settings->soft_norm == 0 &&
         settings->start == SAP_START_STICKING && problem->J && problem->mu &&
         !(spin && spin->n > 0 && (!spin->J || !spin->mu));
}

/* Does component t, with so many rows and contacts, get dense storage? */
static int is_dense(const struct sap_components *c, const sap_problem *problem, int32_t t,
                    int32_t n_rows, int32_t n_contacts, int takes_contacts) {
  const int32_t n = c->size[t], m = c->impulses[t];
  if (n > (n_contacts > 0 ? WIDEST_WITH_CONTACTS : WIDEST) || n_rows + n_contacts == 0 ||
      (n_contacts > 0 && !takes_contacts) || c->is_unfit[t]) {
    return 0;
  }
  const int is_plain = m == 3 * n_contacts && n_rows <= SAP_DENSE_ROWS && n <= problem->tree_nv[t];
  return m <= SAP_DENSE_IMPULSES && (is_plain || m <= SAP_DENSE_FEWER_IMPULSES || m <= n);
}

/* Chooses the dense components, and turns counts into their consecutive places. */
static void choose(struct sap_components *c, const sap_problem *problem, int takes_contacts) {
  struct sap_component_counts *dense = &c->dense;
  int32_t *row = c->row_begin, *contact = c->contact_begin;
  *dense = (struct sap_component_counts){0};
  c->n_all = 0;
  for (int32_t t = 0; t < c->n_trees; ++t) {
    const int32_t first = c->first[t], n_rows = row[t + 1], n_contacts = contact[t + 1];
    const int is_touched = first < t || n_rows + n_contacts > 0;
    c->touched[t] = is_touched ? 0 : -1;
    c->is_dense[t] = first < t && c->is_dense[first];
    c->is_solved[t] = 0;
    c->island[t] = first < t ? c->island[first] : c->n_all;
    c->n_all += first == t && is_touched;
    row[t + 1] = row[t];
    contact[t + 1] = contact[t];
    if (first == t && is_dense(c, problem, t, n_rows, n_contacts, takes_contacts)) {
      c->is_dense[t] = 1;
      row[t + 1] += n_rows;
      contact[t + 1] += n_contacts;
      dense->n_components++;
      dense->widest = c->size[t] > dense->widest ? c->size[t] : dense->widest;
      if (c->size[t] > problem->tree_nv[t]) {
        dense->n_joined_rows += n_rows + (problem->spin ? 6 : 3) * n_contacts;
      }
    }
  }
  dense->n_rows = row[c->n_trees];
  dense->n_contacts = contact[c->n_trees];
}

int sap_components_find(struct sap_components *components, const sap_problem *problem,
                        const sap_settings *settings, const sap_allocator *allocator) {
  const int has_contacts = takes_contacts(problem, settings);
  components->n_trees = problem->n_trees;
  components->dense = (struct sap_component_counts){0};
  if (components->n_trees == 0 || (!has_contacts && problem->n_groups == 0)) {
    return 1;
  }
  if (components->n_trees > components->room) {
    components->room = components->n_trees;
    if (!sap_block_carve(&components->block, carve, components, allocator)) {
      components->room = 0;
      return 0;
    }
  }
  find_first(components, problem);
  count_constraints(components, problem);
  choose(components, problem, has_contacts);
  return 1;
}
