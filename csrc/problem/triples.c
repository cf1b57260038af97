#include "problem/triples.h"

#include <string.h>

#include "constraints/kinds/kinds.h"

/* Counts the single-row constraints from i on that one triple holds. */
static int32_t count_singles(const sap_constraints *group, int32_t i) {
  const int has_dof = sap_dof_of(group, i) >= 0;
  int32_t n = 1;
  while (n < 3 && i + n < group->n && sap_rows_of(group, i + n) == 1 &&
         group->tree_a[i + n] == group->tree_a[i] && group->tree_b[i + n] == group->tree_b[i] &&
         (sap_dof_of(group, i + n) >= 0) == has_dof) {
    ++n;
  }
  return n;
}

struct list {
  int32_t *tree_a, *tree_b;
  int32_t *law;
  struct sap_triple_rows *rows;
  int32_t n; /* number of triples after the contacts */
};

static void add(struct list *list, int32_t n_contacts, int32_t tree_a, int32_t tree_b, int32_t law,
                struct sap_triple_rows rows) {
  list->tree_a[n_contacts + list->n] = tree_a;
  list->tree_b[n_contacts + list->n] = tree_b;
  list->law[n_contacts + list->n] = law;
  list->rows[list->n++] = rows;
}

static void add_contacts(const struct list *list, const sap_problem *problem,
                         sap_friction friction) {
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    list->tree_a[i] = problem->tree_a[i];
    list->tree_b[i] = problem->tree_b[i];
    list->law[i] = 0;
  }
  for (int law = 0; law < SAP_N_LAWS; ++law) {
    if (sap_laws[law]->claim) {
      sap_laws[law]->claim(problem, friction, list->law);
    }
  }
}

/* Adds the second triples, in the order of their contacts. */
static void add_spin(struct list *list, const sap_problem *problem) {
  const double *J = problem->spin ? problem->spin->J : NULL;
  for (int32_t k = 0; problem->spin && k < problem->spin->n; ++k) {
    const int32_t i = problem->spin->contact[k], a = problem->tree_a[i], b = problem->tree_b[i];
    const int64_t n_a = problem->tree_nv[a], n_b = b < 0 ? 0 : problem->tree_nv[b];
    add(list, problem->n_contacts, a, b, list->law[i],
        (struct sap_triple_rows){
            .J = J, .a_step = n_a, .b = 3 * n_a, .b_step = n_b, .row = k, .n = 3});
    J += 3 * (n_a + n_b);
  }
}

static void add_group(struct list *list, const sap_problem *problem, const sap_constraints *group,
                      int64_t place) {
  const double *J = group->J;
  int64_t row = 0;
  for (int32_t i = 0; i < group->n;) {
    const int32_t a = group->tree_a[i], b = group->tree_b[i], size = sap_rows_of(group, i);
    const int has_dof = sap_dof_of(group, i) >= 0;
    const int64_t n_a = has_dof ? 1 : problem->tree_nv[a], n_b = b < 0 ? 0 : problem->tree_nv[b];
    const int32_t law = has_dof ? SAP_LAW_JOINT : (int32_t)sap_kinds[group->kind]->law;
    const int32_t count = size == 1 ? count_singles(group, i) : 1;
    const int32_t n_rows = size * count;
    for (int32_t r = 0; r < n_rows; r += 3) {
      struct sap_triple_rows rows = {.group = group,
                                     .dof = has_dof ? group->dof + i : NULL,
                                     .J = J + r * n_a,
                                     .a_step = n_a,
                                     .b = size * n_a + r * (n_b - n_a),
                                     .b_step = n_b,
                                     .row = row + r,
                                     .place = place + row + r,
                                     .n = n_rows - r < 3 ? n_rows - r : 3};
      if (size == 1) {
        rows.a_step = rows.b_step = n_a + n_b; /* doubles, from one constraint to the next */
      }
      add(list, problem->n_contacts, a, b, law, rows);
    }
    J += n_rows * (n_a + n_b);
    row += n_rows;
    i += count;
  }
}

static void add_groups(struct list *list, const sap_problem *problem) {
  int64_t place = 0;
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    add_group(list, problem, group, place);
    for (int32_t i = 0; i < group->n; ++i) {
      place += sap_rows_of(group, i);
    }
  }
}

static void find_laws(struct sap_triples *triples, const sap_problem *problem,
                      sap_friction friction) {
  for (int law = 0; law < SAP_N_LAWS; ++law) {
    triples->present[law] =
        sap_laws[law]->claim && sap_laws[law]->claim(problem, friction, NULL) > 0;
  }
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    triples->present[sap_kinds[group->kind]->law] |= group->n > 0;
    for (int32_t i = 0; group->dof && !triples->present[SAP_LAW_JOINT] && i < group->n; ++i) {
      triples->present[SAP_LAW_JOINT] = group->dof[i] >= 0;
    }
  }
  triples->has_laws = triples->has_walls = 0;
  for (int law = 0; law < SAP_N_LAWS; ++law) {
    triples->has_laws |= triples->present[law];
    triples->has_walls |= triples->present[law] && sap_laws[law]->wall;
  }
}

/* ---- lists that are kept --------------------------------------------------------------------- */

/* Returns 1 if the list of a problem follows from its friction and indices alone. */
static int follows_from_indices(const sap_problem *problem) {
  return !problem->spin && !problem->barrier;
}

static int are_equal(const int32_t *x, const int32_t *y, int32_t n) {
  return n == 0 || (x && y && memcmp(x, y, (size_t)n * sizeof *x) == 0);
}

/* The arrays of indices of a group. */
enum { N_INDICES = 4 };
static const int32_t *index_of(const sap_constraints *group, int k) {
  const int32_t *const indices[N_INDICES] = {group->tree_a, group->tree_b, group->dof, group->size};
  return indices[k];
}

/* Copies the groups with their indices, and the lengths of trees. The list has the trees of
 * contacts. */
static void copy_groups(struct sap_triples *triples, const sap_problem *problem,
                        sap_friction friction) {
  int32_t *to = triples->index;
  memcpy(to, problem->tree_nv, (size_t)problem->n_trees * sizeof *to);
  to += problem->n_trees;
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *group = &problem->groups[g];
    triples->group[g] = *group;
    for (int k = 0; k < N_INDICES; ++k) {
      const int32_t *index = index_of(group, k), n = index ? group->n : 0;
      if (n > 0) {
        memcpy(to, index, (size_t)n * sizeof *to);
      }
      to += n;
    }
  }
  triples->is_kept = 1;
  triples->friction = friction;
  triples->groups = problem->groups;
  triples->n_groups = problem->n_groups;
  triples->n_trees = problem->n_trees;
}

int sap_triples_are_of(const struct sap_triples *triples, const sap_problem *problem,
                       sap_friction friction) {
  const int32_t *copy = triples->index, n_trees = triples->n_trees, n = triples->n_contacts;
  if (!triples->is_kept || triples->friction != friction || !follows_from_indices(problem) ||
      triples->groups != problem->groups || triples->n_groups != problem->n_groups ||
      n_trees != problem->n_trees || n != problem->n_contacts ||
      !are_equal(copy, problem->tree_nv, n_trees) ||
      !are_equal(triples->tree_a, problem->tree_a, n) ||
      !are_equal(triples->tree_b, problem->tree_b, n)) {
    return 0;
  }
  copy += n_trees;
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    const sap_constraints *now = &problem->groups[g], *then = &triples->group[g];
    if (then->kind != now->kind || then->n != now->n || then->J != now->J) {
      return 0;
    }
    for (int k = 0; k < N_INDICES; ++k) {
      const int32_t *index = index_of(now, k), n_index = index ? now->n : 0;
      if (index_of(then, k) != index || !are_equal(copy, index, n_index)) {
        return 0;
      }
      copy += n_index;
    }
  }
  return 1;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Numbers of triples, of those after the contacts, and of copied groups and indices. */
struct room {
  size_t n, n_rows, n_groups, n_indices;
};

/* Leaves room for one triple after the contacts for each row. */
static struct room find_room(const sap_problem *problem, const sap_sizes *sizes) {
  const int has_copies = follows_from_indices(problem);
  const size_t n_spins = problem->spin ? (size_t)problem->spin->n : 0;
  struct room room = {.n_rows = n_spins + (size_t)sizes->n_rows,
                      .n_groups = has_copies ? (size_t)problem->n_groups : 0,
                      .n_indices = has_copies ? (size_t)problem->n_trees : 0};
  for (int32_t g = 0; g < problem->n_groups && has_copies; ++g) {
    room.n_indices += N_INDICES * (size_t)problem->groups[g].n;
  }
  room.n = (size_t)problem->n_contacts + room.n_rows;
  return room;
}

static struct list carve(struct sap_triples *triples, struct sap_arena *arena,
                         const struct room *room) {
  triples->group = sap_arena_take(arena, room->n_groups, sizeof *triples->group);
  triples->index = sap_arena_take(arena, room->n_indices, sizeof *triples->index);
  return (struct list){.tree_a = sap_arena_take(arena, room->n, sizeof(int32_t)),
                       .tree_b = sap_arena_take(arena, room->n, sizeof(int32_t)),
                       .law = sap_arena_take(arena, room->n, sizeof(int32_t)),
                       .rows = sap_arena_take(arena, room->n_rows, sizeof(struct sap_triple_rows))};
}

sap_status sap_triples_list(struct sap_triples *triples, const sap_problem *problem,
                            const sap_sizes *sizes, sap_friction friction,
                            const sap_allocator *memory) {
  const int32_t n_contacts = problem->n_contacts;
  find_laws(triples, problem, friction);
  triples->version++;
  triples->sizes = *sizes;
  triples->n = triples->n_contacts = n_contacts;
  triples->tree_a = problem->tree_a;
  triples->tree_b = problem->tree_b;
  triples->law = NULL;
  triples->rows = NULL;
  triples->is_kept = 0;
  if (!triples->has_laws) {
    return SAP_OK;
  }
  const struct room room = find_room(problem, sizes);
  struct sap_arena arena = {NULL, 0};
  carve(triples, &arena, &room);
  if (!sap_block_reserve(&triples->block, arena.used, memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  arena = (struct sap_arena){triples->block.base, 0};
  struct list list = carve(triples, &arena, &room);
  if (!list.tree_a || !list.tree_b || !list.law ||
      (problem->spin && problem->spin->n > 0 && !list.rows)) {
    return SAP_OUT_OF_MEMORY; /* only the analyzer needs this: there is room */
  }
  add_contacts(&list, problem, friction);
  add_spin(&list, problem);
  add_groups(&list, problem);
  triples->n += list.n;
  triples->tree_a = list.tree_a;
  triples->tree_b = list.tree_b;
  triples->law = list.law;
  triples->rows = list.rows;
  if (follows_from_indices(problem)) {
    copy_groups(triples, problem, friction);
  }
  return SAP_OK;
}
