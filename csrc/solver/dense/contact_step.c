#include "solver/dense/contact_step.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"

static int is_bounded(const struct sap_dense_row *row) {
  return row->lower > -INFINITY || row->upper < INFINITY;
}

/* May any row meet a bound or leave it? */
static int may_turn(const struct sap_dense_component *tree) {
  for (const struct sap_dense_row *row = tree->row; row < tree->end; ++row) {
    if (is_bounded(row)) {
      return 1;
    }
  }
  return 0;
}

/* In a wide tree W of up to two thirds of n impulses costs less than H and the rounds of activated
 * rows. */
int sap_contact_step_condenses(const struct sap_dense_component *tree) {
  enum { WIDE = 24 };
  const int64_t n_rows = tree->end - tree->row;
  const int are_few = n_rows <= SAP_DENSE_UNKNOWN_ROWS &&
                      3 * (tree->n_impulses + n_rows) <= 2 * tree->n && tree->n > WIDE;
  return tree->contact == tree->contact_end ||
         (n_rows > SAP_DENSE_ROWS && !(are_few && may_turn(tree)));
}

/* Lists the unknowns of the contacts, and makes room for so many rows, which follow. */
static void list_contacts(struct sap_dense *dense, const struct sap_dense_component *tree,
                          int32_t n_rows, int is_condensed) {
  const struct sap_unknowns_sizes sizes = {
      .n = tree->n,
      .n_contacts = (int32_t)(tree->contact_end - tree->contact),
      .n_impulses = tree->n_impulses,
      .n_rows = n_rows,
      .is_condensed = is_condensed};
  sap_dense_unknowns_begin(&dense->unknowns, &sizes, tree->contact);
}

static void solve_impulses(struct sap_dense *dense, const struct sap_dense_component *tree) {
  int32_t k = 0;
  list_contacts(dense, tree, (int32_t)(tree->end - tree->row), 0);
  for (const struct sap_dense_row *row = tree->row; row < tree->end; ++row) {
    sap_dense_unknowns_add(&dense->unknowns, tree->n, k++, row);
  }
  sap_dense_unknowns_solve(&dense->unknowns, tree->n, &tree->inverse, dense->masses.kernels,
                           dense->masses.loops, dense->find_impulses, tree->v);
}

/* ---- condensed ------------------------------------------------------------------------------- */

/* Starts the impulses of contacts at their evaluated values. */
static void begin_near(struct sap_dense *dense, const struct sap_dense_component *tree) {
  double *gamma = dense->unknowns.impulses.gamma;
  for (const struct sap_dense_contact *c = tree->contact; c < tree->contact_end; ++c) {
    double of_contact[6];
    const int32_t n = sap_dense_contact_impulses(c, of_contact);
    memcpy(gamma, of_contact, (size_t)n * sizeof *gamma);
    gamma += n;
  }
}

/* Activates the rows that change their state in the step. Returns their number, or -1 if one cannot
 * be activated. */
static int32_t add_activated(struct sap_dense *dense, const struct sap_dense_component *tree,
                             const double *dv) {
  const struct sap_vector_loops *loops = dense->masses.loops;
  int32_t n_activated = 0;
  for (struct sap_dense_row *row = tree->row; row < tree->end; ++row) {
    if (row->is_unknown || !is_bounded(row)) {
      continue;
    }
    const double y = row->y - sap_row_multiply(row, loops, dv) * row->inverse_R;
    const double gamma = sap_clamp_impulse(y, row->lower, row->upper);
    if (gamma == (sap_row_is_free(row) ? y : row->gamma)) {
      continue;
    }
    if (!sap_condensed_add(&dense->condensed, &dense->unknowns, row, gamma, dense->masses.kernels,
                           loops)) {
      return -1;
    }
    row->is_unknown = 1;
    ++n_activated;
  }
  return n_activated;
}

static enum sap_contact_step solve_condensed(struct sap_dense *dense,
                                             const struct sap_dense_component *tree, int is_first) {
  const int32_t n = tree->n;
  double *b = dense->dv, *dv = dense->dv;
  for (int32_t i = 0; i < n; ++i) {
    b[i] = dense->of_rows[i] - dense->momentum[i];
  }
  for (struct sap_dense_row *row = tree->row; row < tree->end; ++row) {
    row->is_unknown = 0;
  }
  list_contacts(dense, tree, 0, 1);
  if (!is_first) {
    begin_near(dense, tree);
  }
  sap_dense_component_assemble(dense, tree, dense->unknowns.panel, dense->unknowns.ld);
  if (!sap_condensed_begin(&dense->condensed, &dense->unknowns, n, b, dense->masses.kernels)) {
    return SAP_CONTACT_STEP_FAILS;
  }
  int32_t n_activated;
  do {
    sap_condensed_find(&dense->condensed, &dense->unknowns, dense->masses.kernels,
                       dense->find_impulses, dv);
    n_activated = add_activated(dense, tree, dv);
  } while (n_activated > 0);
  sap_vector_add(n, 1, dv, tree->v);
  return n_activated == 0 ? SAP_CONTACT_STEP_SETTLES : SAP_CONTACT_STEP_LEAVES_ROWS;
}

enum sap_contact_step sap_contact_step_take(struct sap_dense *dense,
                                            const struct sap_dense_component *tree, int is_first) {
  if (sap_contact_step_condenses(tree)) {
    return solve_condensed(dense, tree, is_first);
  }
  solve_impulses(dense, tree);
  return SAP_CONTACT_STEP_SETTLES;
}
