/* Turns rows of an engine's Jacobians into rows of constraints, for constraints.h alone. */
#ifndef SAPWOOD_STEP_JOINTS_ELEMENT_ROWS_H
#define SAPWOOD_STEP_JOINTS_ELEMENT_ROWS_H

#include <math.h>

#include "step/joints/element_gather.h"
#include "step/dynamics/engine_jacobian.h"
#include "step/step_tuning.h"

/* Finds a sparse row; returns 0 if it does not lie in its arrays. */
static inline int sap_sparse_row(const double *value, const int32_t *column, int64_t length,
                                 int64_t start, int64_t count, struct sap_engine_jacobian *row) {
  if (start < 0 || count < 0 || start > length || count > length - start) {
    return 0;
  }
  *row = (struct sap_engine_jacobian){(int32_t)count, column + start, value + start};
  return 1;
}

/* Find row i of the engine's constraints, the moment of an actuator force, the row of a tendon.
 * They return 0 if the row does not lie in its arrays. */
int sap_constraint_row(const struct sap_element_state *state, int32_t nv, int32_t i,
                       struct sap_engine_jacobian *row);
static inline int sap_moment_row(const struct sap_element_state *state, int32_t output,
                                 struct sap_engine_jacobian *row) {
  return sap_sparse_row(state->actuator_moment, state->moment_colind, state->n_moment_entries,
                        state->moment_rowadr[output], state->moment_rownnz[output], row);
}
struct sap_engine_jacobian sap_tendon_row(const struct sap_elements *elements,
                                          const struct sap_element_state *state, int32_t tendon);

/* Is an entry more than the round-off of 0? */
static inline int sap_entry_moves(double value) { return fabs(value) > sap_still; }

/* Returns 1 if an entry moves its dof by more than round-off, 0 if not. Returns -1 if it moves a
 * dof outside the two trees, or if its column is no dof. */
static inline int sap_dof_moves(const struct sap_element_gather *gather, int32_t dof, double value,
                                const int32_t *tree) {
  if (dof < 0 || dof >= gather->forest->nv) {
    return -1;
  }
  const int32_t of = gather->dof_tree[dof];
  return value != 0.0 && of != tree[0] && of != tree[1] ? -1 : sap_entry_moves(value);
}

/* Returns the same for a row: 1 if any of its entries moves a dof. */
int sap_long_row_moves(const struct sap_element_gather *gather,
                       const struct sap_engine_jacobian *row, const int32_t *tree);
static inline int sap_row_moves(const struct sap_element_gather *gather,
                                const struct sap_engine_jacobian *row, const int32_t *tree) {
  return row->n == 1 && row->column ? sap_dof_moves(gather, row->column[0], row->value[0], tree)
                                    : sap_long_row_moves(gather, row, tree);
}

/* Adds the trees that a row moves to tree, where -1 stands for none. Returns 0 if there are more
 * than two, or if a column is no dof. */
int sap_row_trees(const struct sap_element_gather *gather, const struct sap_engine_jacobian *row,
                  int32_t tree[2]);

/* Adds the part of a row in a tree, times `scale`, to J (the velocities of the tree). */
void sap_add_row_part(const struct sap_element_gather *gather,
                      const struct sap_engine_jacobian *row, int32_t tree, double scale, double *J);

/* Adds factor * row to x (nv); the row is sparse and its columns are dofs. */
static inline void sap_add_row(const struct sap_engine_jacobian *row, double factor, double *x) {
  for (int32_t i = 0; i < row->n; ++i) {
    x[row->column[i]] += factor * row->value[i];
  }
}

/* Returns the number of dofs of two trees together (-1 or less for none). */
static inline int64_t sap_width_of(const struct sap_forest *forest, const int32_t *tree) {
  return (tree[0] < 0 ? 0 : forest->tree_dofnum[tree[0]]) +
         (int64_t)(tree[1] < 0 ? 0 : forest->tree_dofnum[tree[1]]);
}

/* The place of the next constraint. The caller appends its rows one by one, writes its block of J,
 * and then closes it. */
struct sap_element_cursor {
  struct sap_element_gather *gather;
  uint8_t *touched;
  double *J;
  int32_t first; /* first constraint of the group */
};

/* Appends a row and returns its number; the caller sets its values. */
static inline int32_t sap_append_row(struct sap_element_gather *gather, struct sap_row_label label,
                                     double scale, int is_angle) {
  const int32_t row = gather->n_rows++;
  gather->label[row] = label;
  gather->scale[row] = scale;
  gather->release[row] = INFINITY;
  gather->release_impulse[row] = INFINITY;
  gather->is_angle[row] = (uint8_t)is_angle;
  return row;
}

/* Writes J of `size` rows of the engine, times `scale`. */
void sap_write_rows(const struct sap_element_cursor *at, int32_t size,
                    const struct sap_engine_jacobian *row, double scale, const int32_t *tree);

/* Writes J of one row with `value` (count) from `dof` on. */
void sap_write_dofs(const struct sap_element_cursor *at, int32_t dof, int32_t count,
                    const double *value);

/* Closes a constraint of `size` rows between two trees, the second -1 for none. `dof` is the only
 * dof that it moves, counted in the first tree, or -1. */
static inline void sap_append(struct sap_element_cursor *at, int32_t size, int32_t tree_a,
                              int32_t tree_b, int32_t dof) {
  struct sap_element_gather *g = at->gather;
  const int32_t c = g->n_constraints++;
  g->size[c] = size;
  g->tree_a[c] = tree_a;
  g->tree_b[c] = tree_b;
  g->dof[c] = dof;
  at->touched[tree_a] = 1;
  if (tree_b >= 0) {
    at->touched[tree_b] = 1;
  }
}

void sap_append_constraint(struct sap_element_cursor *at, int32_t size, const int32_t *tree);

/* Appends a constraint of one row that has `value` at `dof` and moves nothing else. */
static inline void sap_append_joint(struct sap_element_cursor *at, int32_t dof, double value) {
  const struct sap_element_gather *g = at->gather;
  const int32_t tree = g->dof_tree[dof];
  sap_append(at, 1, tree, -1, dof - g->forest->tree_dofadr[tree]);
  *at->J++ = value;
}

/* Gather the equalities, the frictions, the limits; they return 0 if the engine's rows are not
 * those of the elements. */
int sap_gather_equalities(struct sap_element_cursor *at, const struct sap_element_state *state);
int sap_gather_frictions(struct sap_element_cursor *at, const struct sap_element_state *state);
int sap_gather_limits(struct sap_element_cursor *at, const struct sap_element_state *state);

/* Finds the smooth forces without controllers, the moments of these, and those that act; returns 0
 * as above. */
int sap_remove_controllers(struct sap_element_gather *gather,
                           const struct sap_element_state *state);
/* Gathers the constraints of the acting controllers. */
void sap_gather_controllers(struct sap_element_cursor *at, const struct sap_element_state *state);

#endif
