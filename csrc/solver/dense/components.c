#include "solver/dense/components.h"

#include <string.h>

#include "constraints/laws.h"

static void carve(void *context, struct sap_arena *arena) {
  struct sap_components *c = context;
  const size_t n = (size_t)c->room;
  int32_t **const numbers[] = {&c->first,      &c->size,     &c->touched, &c->n_rows,
                               &c->n_contacts, &c->impulses, &c->island};
  int8_t **const marks[] = {&c->has_core, &c->is_dense, &c->is_other, &c->is_solved};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; ++k) {
    *numbers[k] = sap_arena_take(arena, n, sizeof(int32_t));
  }
  for (size_t k = 0; k < sizeof marks / sizeof *marks; ++k) {
    *marks[k] = sap_arena_take(arena, n, sizeof(int8_t));
  }
}

/* ---- components ------------------------------------------------------------------------------ */

/* Returns the first tree of the trees that t has been joined with so far. */
static int32_t first_of(int32_t *first, int32_t t) {
  while (first[t] != t) {
    t = first[t] = first[first[t]];
  }
  return t;
}

static void find_first(const struct sap_components *c, const sap_problem *problem,
                       const struct sap_triples *triples) {
  int32_t *first = c->first;
  for (int32_t t = 0; t < c->n_trees; ++t) {
    first[t] = t;
  }
  for (int32_t i = 0; i < triples->n; ++i) {
    if (triples->tree_b[i] >= 0) {
      const int32_t a = first_of(first, triples->tree_a[i]);
      const int32_t b = first_of(first, triples->tree_b[i]);
      first[a > b ? a : b] = a > b ? b : a;
    }
  }
  for (int32_t t = 0; t < c->n_trees; ++t) {
    first[t] = first[first[t]]; /* first[t] <= t is final where its own is */
    c->size[t] = 0;
    c->size[first[t]] += problem->tree_nv[t];
  }
}

/* ---- constraints ----------------------------------------------------------------------------- */

/* Counts rows, contacts and impulses of each component. */
static void count_constraints(const struct sap_components *c, const sap_problem *problem,
                              const struct sap_triples *triples) {
  const size_t bytes = (size_t)c->n_trees * sizeof(int32_t);
  memset(c->n_rows, 0, bytes);
  memset(c->n_contacts, 0, bytes);
  memset(c->impulses, 0, bytes);
  memset(c->has_core, 0, (size_t)c->n_trees);
  for (int32_t i = 0; i < triples->n_contacts; ++i) {
    const int32_t t = c->first[triples->tree_a[i]];
    c->n_contacts[t]++;
    c->impulses[t] += 3;
    c->has_core[t] |= triples->law && sap_laws[triples->law[i]]->wall;
  }
  for (int32_t i = triples->n_contacts; i < triples->n; ++i) {
    const struct sap_triple_rows *rows = &triples->rows[i - triples->n_contacts];
    const int32_t t = c->first[triples->tree_a[i]];
    c->n_rows[t] += rows->group ? rows->n : 0;
    for (int r = 0; !rows->group && r < 3; ++r) {
      c->impulses[t] += problem->spin->mu[3 * rows->row + r] > 0;
    }
  }
}

/* Is a tree with mass matrix A (n, n) a chain? Otherwise the last row has zeros for branches that
 * its last joint does not move. */
static int is_chain(int64_t n, const double *A) {
  const double *last = A + n * (n - 1);
  int64_t k = 0;
  while (k < n && last[k] != 0) {
    ++k;
  }
  return k == n;
}

/* Can contact_step.h solve the contacts, apart from their cores? */
static int takes_contacts(const sap_problem *problem, const sap_settings *settings) {
  return settings->friction != SAP_FRICTION_LAGGED && settings->soft_norm == 0 &&
         settings->start == SAP_START_STICKING && problem->A && problem->J && problem->mu;
}

/* Does component t, whose mass matrix begins at first_A, get dense storage? With convex friction a
 * step of Newton's method over v costs less than the Delassus problem, unless the impulses are few
 * and the tree is a chain: H has then no zeros. */
static int is_dense(const struct sap_components *c, const sap_problem *problem, int32_t t,
                    int64_t first_A, sap_friction friction, int takes_contacts) {
  const int32_t n = c->size[t], m = c->impulses[t];
  const int32_t n_rows = c->n_rows[t], n_contacts = c->n_contacts[t];
  if (n > (n_contacts > 0 ? SAP_DENSE_VELOCITIES_WITH_CONTACTS : SAP_DENSE_VELOCITIES) ||
      n_rows + n_contacts == 0 || (n_contacts > 0 && !takes_contacts) || c->has_core[t]) {
    return 0;
  }
  const int is_plain = m == 3 * n_contacts && n_rows <= SAP_DENSE_ROWS && n <= problem->tree_nv[t];
  if (n_contacts > 0 && friction == SAP_FRICTION_CONVEX) {
    return is_plain && m <= SAP_DENSE_IMPULSES && 3 * m <= 2 * n &&
           is_chain(n, problem->A + first_A);
  }
  return m <= SAP_DENSE_IMPULSES && (is_plain || m <= SAP_DENSE_FEWER_IMPULSES || m <= n);
}

static void choose(struct sap_components *c, const sap_problem *problem, sap_friction friction,
                   int takes_contacts) {
  int64_t first_A = 0;
  c->n_all = c->n_dense = 0;
  for (int32_t t = 0; t < c->n_trees; ++t) {
    const int64_t n = problem->tree_nv[t];
    const int32_t first = c->first[t];
    const int is_touched = first < t || c->n_rows[t] + c->n_contacts[t] > 0;
    c->touched[t] = is_touched ? 0 : -1;
    c->is_dense[t] =
        (int8_t)(first < t ? c->is_dense[first]
                           : is_dense(c, problem, t, first_A, friction, takes_contacts));
    c->is_other[t] = !c->is_dense[t];
    c->is_solved[t] = 0;
    c->island[t] = first < t ? c->island[first] : c->n_all;
    c->n_all += first == t && is_touched;
    c->n_dense += first == t && c->is_dense[t];
    first_A += n * n;
  }
}

int sap_components_find(struct sap_components *components, const sap_problem *problem,
                        const struct sap_triples *triples, const sap_settings *settings,
                        const sap_allocator *allocator) {
  const int has_contacts = takes_contacts(problem, settings);
  if (components->version == triples->version && components->version > 0) {
    memset(components->is_solved, 0, (size_t)components->n_trees);
    return 1;
  }
  components->version = 0;
  components->n_trees = problem->n_trees;
  components->n_dense = 0;
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
  find_first(components, problem, triples);
  count_constraints(components, problem, triples);
  choose(components, problem, settings->friction, has_contacts);
  components->version = triples->n_contacts == 0 ? triples->version : 0;
  return 1;
}
