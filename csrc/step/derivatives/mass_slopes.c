#include "step/derivatives/mass_slopes.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "problem/regularization/chain_rule.h"
#include "problem/regularization/regularization.h"

void sap_mass_slopes_measure(struct sap_mass_slopes *slopes, const struct sap_gather *gather) {
  slopes->is_found = 0;
  slopes->n_contacts = gather->problem.n_contacts;
  slopes->n_rows = gather->elements.n_rows;
  slopes->nv = gather->forest->nv;
}

void sap_mass_slopes_carve(struct sap_mass_slopes *slopes, struct sap_arena *arena) {
  const size_t n_rows = (size_t)slopes->n_rows, nv = (size_t)slopes->nv;
  slopes->contact = sap_arena_take(arena, 9 * (size_t)slopes->n_contacts, sizeof(double));
  slopes->row = sap_arena_take(arena, 9 * n_rows, sizeof(double));
  slopes->by_ln_w = sap_arena_take(arena, 2 * n_rows, sizeof(double));
  slopes->inverse = sap_arena_take(arena, nv, sizeof(double));
  slopes->is_inverse = sap_arena_take(arena, nv, 1);
  slopes->product = sap_arena_take(arena, SAP_MASS_RANK * nv, sizeof(double));
}

/* Returns S of a tree, by which A^-1 = S^T S; NULL if A is not positive definite. */
static const double *find_S(struct sap_gather *gather, int32_t tree) {
  int64_t begin = 0;
  for (int32_t t = 0; t < tree; ++t) {
    begin += (int64_t)gather->problem.tree_nv[t] * gather->problem.tree_nv[t];
  }
  return sap_free_motion_inverse(&gather->free_motion, tree, begin);
}

/* ---- the slopes ------------------------------------------------------------------------------ */

/* Problem and slopes, and the first tree whose block of A is not positive definite, or -1. */
struct find {
  struct sap_mass_slopes *slopes;
  struct sap_gather *gather;
  int32_t wrong;
};

/* Adds J A^-1 J^T of one side of some rows to W. */
static void add_side(struct find *find, const struct sap_row_set *rows, int side, const double *J,
                     double W[9]) {
  const struct sap_gather *gather = find->gather;
  const struct sap_row_side *at = &rows->side[side];
  const struct sap_free_motion *motion = &gather->free_motion;
  const int32_t n = gather->problem.tree_nv[at->tree],
                first = gather->forest->tree_dofadr[at->tree];
  const double *S = find_S(find->gather, at->tree);
  if (!S) {
    find->wrong = at->tree;
  } else if (rows->dof < 0) {
    motion->loops->add_gram(n, motion->strips + first, S, rows->n_rows, J + at->offset, W);
  } else {
    double *inverse = find->slopes->inverse + first;
    if (!find->slopes->is_inverse[first]) {
      motion->loops->square_columns(n, motion->strips + first, S, inverse);
      find->slopes->is_inverse[first] = 1;
    }
    W[0] += J[at->offset] * J[at->offset] * inverse[rows->dof];
  }
}

/* Writes W/|W|^2 of some rows. Returns their w. */
static double find_rows(struct find *find, const struct sap_row_set *rows, const double *J,
                        double W[9]) {
  memset(W, 0, 9 * sizeof *W);
  for (int side = 0; side < 2 && rows->side[side].tree >= 0; ++side) {
    add_side(find, rows, side, J, W);
  }
  const double square = sap_vector_dot(9, W, W);
  for (int k = 0; k < 9; ++k) {
    W[k] /= square;
  }
  return sqrt(square) / rows->n_rows;
}

/* Finds the derivatives of R and v_hat of row i by ln w; bounds have none. */
static void find_row(const sap_constraints *group, const sap_group_parameters *p, int64_t i,
                     double w, double by_ln_w[2]) {
  struct sap_row by[SAP_ROW_SLOPES];
  const double R_nr = sap_near_rigid(p->beta) * w;
  sap_row_slopes_find(group, p, i, by);
  by_ln_w[0] = by[SAP_ROW_BY_R_NR].R * R_nr + by[SAP_ROW_BY_W].R * w;
  by_ln_w[1] = by[SAP_ROW_BY_R_NR].v_hat * R_nr + by[SAP_ROW_BY_W].v_hat * w;
}

/* Finds the slopes of group g, whose rows begin at row `begin`. Returns the number of its rows. */
static int64_t find_group(struct find *find, int32_t g, int64_t begin) {
  const struct sap_gather *gather = find->gather;
  const sap_constraints *group = gather->problem.groups + g;
  const sap_group_parameters *p = &gather->parameters.groups[g].parameters;
  int64_t first = 0, offset = 0;
  for (int32_t c = 0; c < group->n; ++c) {
    int64_t length = 0;
    for (int32_t row = 0; row < sap_rows_of(group, c); row += 3) {
      const struct sap_row_batch batch =
          sap_row_batch_of(&gather->problem, group, c, row, first, offset);
      const int64_t at = begin + batch.first;
      const double w = find_rows(find, &batch.rows, group->J, find->slopes->row + 9 * at);
      for (int32_t r = 0; r < batch.rows.n_rows; ++r) {
        find_row(group, p, batch.first + r, w, find->slopes->by_ln_w + 2 * (at + r));
      }
      length += sap_length_of(&batch.rows);
    }
    first += sap_rows_of(group, c);
    offset += length;
  }
  return first;
}

/* Finds the slopes of the gathered problem, unless they are found. Returns find.wrong. */
static int32_t find_all(struct sap_mass_slopes *slopes, struct sap_gather *gather) {
  const sap_problem *problem = &gather->problem;
  struct find find = {slopes, gather, -1};
  int64_t offset = 0, row = 0;
  if (slopes->is_found) {
    return -1;
  }
  memset(slopes->is_inverse, 0, (size_t)slopes->nv);
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    const struct sap_row_set rows = sap_rows_of_contact(problem, i, offset);
    find_rows(&find, &rows, problem->J, slopes->contact + 9 * (int64_t)i);
    offset += sap_length_of(&rows);
  }
  for (int32_t g = 0; g < problem->n_groups; ++g) {
    row += find_group(&find, g, row);
  }
  slopes->is_found = find.wrong < 0;
  return find.wrong;
}

/* ---- a change -------------------------------------------------------------------------------- */

/* One change, and its tree. */
struct push {
  const struct sap_mass_slopes *slopes;
  const struct sap_gather *gather;
  int32_t rank, tree, n; /* n velocities of the tree */
};

/* Finds U A^-1. Returns 0 if the block of A is not positive definite. */
static int find_product(const struct push *push, struct sap_gather *gather,
                        const struct sap_mass_change *of) {
  const double *S = find_S(gather, push->tree), *U = of->U;
  double *product = push->slopes->product;
  memset(product, 0, sizeof *product * (size_t)push->rank * (size_t)push->n);
  for (int32_t k = 0; S && k < push->rank; ++k, product += push->n, U += of->n) {
    for (int32_t i = 0; i < of->n; ++i) {
      product[of->dof[i] - gather->forest->tree_dofadr[push->tree]] = U[i];
    }
    sap_free_motion_multiply(&gather->free_motion, push->tree, S, product);
  }
  return S != NULL;
}

/* Returns Z W : Z of one side of some rows, for the row `column` of U A^-1. */
static double find_part(const struct push *push, const struct sap_row_set *rows,
                        const struct sap_row_side *of, const double *J, const double W[9],
                        const double *column) {
  const double *row = J + of->offset;
  double z[3], sum = 0.0;
  if (rows->dof >= 0) {
    z[0] = row[0] * column[rows->dof];
    return z[0] * W[0] * z[0];
  }
  for (int32_t r = 0; r < rows->n_rows; ++r, row += of->step) {
    z[r] = sap_vector_dot(push->n, row, column);
  }
  for (int32_t r = 0; r < rows->n_rows; ++r) {
    sum += z[r] * sap_vector_dot(rows->n_rows, W + 3 * (size_t)r, z);
  }
  return sum;
}

/* Returns d(ln w) of some rows with W/|W|^2. */
static double change_mass(const struct push *push, const struct sap_row_set *rows, const double *J,
                          const double W[9]) {
  double sum = 0.0;
  for (int side = 0; side < 2; ++side) {
    const struct sap_row_side *of = &rows->side[side];
    const double *column = push->slopes->product;
    for (int32_t k = 0; k < push->rank && of->tree == push->tree; ++k, column += push->n) {
      sum += find_part(push, rows, of, J, W, column);
    }
  }
  return -sum;
}

/* R_t is in proportion to w, and so is R_n where k does not bound it. */
static void push_contacts(const struct push *push, const sap_differential *change) {
  const sap_problem *problem = &push->gather->problem;
  const sap_parameters *p = &push->gather->parameters;
  int64_t offset = 0;
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    const struct sap_row_set rows = sap_rows_of_contact(problem, i, offset);
    const double share =
        change_mass(push, &rows, problem->J, push->slopes->contact + 9 * (int64_t)i);
    const double soft = 1.0 / (p->dt * p->k[i] * (p->dt + p->tau_d[i]));
    change->R_t[i] += share * problem->R_t[i];
    change->R_n[i] += problem->R_n[i] > soft ? share * problem->R_n[i] : 0.0;
    offset += sap_length_of(&rows);
  }
}

/* Does group g, whose rows begin at row `begin`. Returns the number of its rows. */
static int64_t push_group(const struct push *push, int32_t g, int64_t begin,
                          const sap_group_differential *to) {
  const sap_problem *problem = &push->gather->problem;
  const sap_constraints *group = problem->groups + g;
  int64_t first = 0, offset = 0;
  for (int32_t c = 0; c < group->n; ++c) {
    int64_t length = 0;
    for (int32_t row = 0; row < sap_rows_of(group, c); row += 3) {
      const struct sap_row_batch batch = sap_row_batch_of(problem, group, c, row, first, offset);
      const int64_t at = begin + batch.first;
      const double share = change_mass(push, &batch.rows, group->J, push->slopes->row + 9 * at);
      for (int32_t r = 0; r < batch.rows.n_rows; ++r) {
        to->R[batch.first + r] += share * push->slopes->by_ln_w[2 * (at + r)];
        to->v_hat[batch.first + r] += share * push->slopes->by_ln_w[2 * (at + r) + 1];
      }
      length += sap_length_of(&batch.rows);
    }
    first += sap_rows_of(group, c);
    offset += length;
  }
  return first;
}

int32_t sap_mass_slopes_push(struct sap_mass_slopes *slopes, struct sap_gather *gather,
                             const struct sap_mass_change *of, const sap_differential *change) {
  const sap_forest *forest = gather->forest;
  const int32_t wrong = find_all(slopes, gather);
  struct push push = {.slopes = slopes, .gather = gather, .rank = of->rank};
  while (of->dof[0] >= forest->tree_dofadr[push.tree] + forest->tree_dofnum[push.tree]) {
    ++push.tree;
  }
  push.n = forest->tree_dofnum[push.tree];
  if (wrong >= 0 || !find_product(&push, gather, of)) {
    return wrong >= 0 ? wrong : push.tree;
  }
  push_contacts(&push, change);
  int64_t row = 0;
  for (int32_t g = 0; g < gather->problem.n_groups; ++g) {
    row += push_group(&push, g, row, &change->groups[g]);
  }
  return -1;
}
