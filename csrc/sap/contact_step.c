#include "sap/contact_step.h"

#include <math.h>
#include <string.h>

/* 1 where a row may meet a bound or leave it */
static int may_turn(const struct sap_tree_alone *tree) {
  for (const struct sap_row_alone *row = tree->row; row < tree->end; ++row) {
    if (row->lower > -INFINITY || row->upper < INFINITY) {
      return 1;
    }
  }
  return 0;
}

/* In a wide tree impulses of two thirds of n make a W that costs less than a second H, which rows
 * that turn would ask for. */
int sap_contact_step_condenses(const struct sap_tree_alone *tree) {
  enum { WIDE = 24 };
  const int64_t n_rows = tree->end - tree->row;
  const int are_few = n_rows <= SAP_ALONE_UNKNOWN_ROWS &&
                      3 * (tree->n_impulses + n_rows) <= 2 * tree->n && tree->n > WIDE;
  return tree->contact < tree->contact_end && n_rows > SAP_ALONE_ROWS &&
         !(are_few && may_turn(tree));
}

static int8_t side_of(const struct sap_row_alone *row) {
  return (int8_t)((row->y > row->upper) - (row->y < row->lower));
}

int32_t sap_contact_step_mark(const struct sap_tree_alone *tree, int is_first) {
  int32_t changed = 0, unknown = 0;
  for (struct sap_row_alone *row = tree->row; row < tree->end; ++row) {
    const int8_t side = side_of(row);
    const int turns = !is_first && !row->is_unknown && side != row->side;
    row->side = side;
    row->is_unknown = !is_first && (row->is_unknown || turns);
    changed += turns;
    unknown += row->is_unknown;
  }
  return unknown > SAP_ALONE_UNKNOWN_ROWS ? -1 : changed;
}

/* unknowns of the contacts and of so many rows, those that are unknown or all */
static void list_unknowns(struct sap_rows_alone *alone, const struct sap_tree_alone *tree,
                          int32_t n_rows) {
  const struct sap_unknowns_sizes sizes = {
      .n = tree->n,
      .n_contacts = (int32_t)(tree->contact_end - tree->contact),
      .n_impulses = tree->n_impulses,
      .n_rows = n_rows,
      .is_condensed = sap_contact_step_condenses(tree)};
  int32_t k = 0;
  sap_unknowns_alone_begin(&alone->unknowns, &sizes, tree->contact);
  for (const struct sap_row_alone *row = tree->row; row < tree->end; ++row) {
    if (row->is_unknown || !sizes.is_condensed) {
      sap_unknowns_alone_add(&alone->unknowns, tree->n, k++, row);
    }
  }
}

static void solve_impulses(struct sap_rows_alone *alone, const struct sap_tree_alone *tree) {
  list_unknowns(alone, tree, (int32_t)(tree->end - tree->row));
  sap_unknowns_alone_solve(&alone->unknowns, tree->n, tree->S, alone->masses.kernels,
                           alone->masses.loops, alone->find_impulses, tree->v);
}

/* impulses begin as they were evaluated */
static void begin_near(struct sap_rows_alone *alone, const struct sap_tree_alone *tree) {
  double *gamma = alone->unknowns.impulses.gamma;
  for (const struct sap_contact_alone *c = tree->contact; c < tree->contact_end; ++c) {
    double of_contact[6];
    const int32_t n = sap_contact_alone_impulses(c, of_contact);
    memcpy(gamma, of_contact, (size_t)n * sizeof *gamma);
    gamma += n;
  }
  for (const struct sap_row_alone *row = tree->row; row < tree->end; ++row) {
    if (row->is_unknown) {
      *gamma++ = row->gamma;
    }
  }
}

static int solve_condensed(struct sap_rows_alone *alone, const struct sap_tree_alone *tree,
                           int is_first) {
  const int32_t n = tree->n;
  double *b = alone->dv;
  int32_t n_rows = 0;
  for (int32_t i = 0; i < n; ++i) {
    b[i] = -alone->momentum[i];
  }
  for (const struct sap_row_alone *row = tree->row; row < tree->end; ++row) {
    n_rows += row->is_unknown;
    if (!row->is_unknown) {
      sap_row_add(row, alone->masses.loops, row->gamma, b);
    }
  }
  list_unknowns(alone, tree, n_rows);
  if (!is_first) {
    begin_near(alone, tree);
  }
  sap_tree_alone_assemble(alone, tree, alone->unknowns.panel, alone->unknowns.ld);
  return sap_unknowns_alone_step(&alone->unknowns, n, b, alone->masses.kernels,
                                 alone->find_impulses, tree->v);
}

int sap_contact_step_take(struct sap_rows_alone *alone, const struct sap_tree_alone *tree,
                          int is_first) {
  if (sap_contact_step_condenses(tree)) {
    return solve_condensed(alone, tree, is_first);
  }
  solve_impulses(alone, tree);
  return 1;
}
