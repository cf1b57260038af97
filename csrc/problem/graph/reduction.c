#include "problem/graph/reduction.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "problem/problem_tuning.h"

/* Is the tree worth a look? */
static int is_large(const sap_problem *problem, const int8_t *left_out, int32_t t) {
  return problem->tree_nv[t] > SAP_WHOLE_VELOCITIES && !(left_out && left_out[t]);
}

void sap_reduction_clear(struct sap_reduction *reduction, const sap_problem *problem) {
  reduction->size = problem->tree_nv;
  reduction->tree = NULL;
}

static void carve(struct sap_reduction *reduction, struct sap_arena *arena,
                  const sap_problem *problem, const int8_t *left_out, int32_t **size) {
  const size_t n_trees = (size_t)problem->n_trees;
  *size = sap_arena_take(arena, n_trees, sizeof(int32_t));
  reduction->tree = sap_arena_take(arena, n_trees, sizeof *reduction->tree);
  for (int32_t i = 0; i < problem->n_trees; ++i) {
    const size_t n = (size_t)problem->tree_nv[i];
    if (!is_large(problem, left_out, i)) {
      if (reduction->tree) {
        reduction->tree[i] = NULL;
      }
      continue;
    }
    struct sap_reduced_tree *made = sap_arena_take(arena, 1, sizeof *made);
    struct sap_reduced_tree tree = {.n = (int32_t)n};
    tree.u = sap_arena_take(arena, n, sizeof(int32_t));
    tree.panel = sap_arena_take(arena, n * n, sizeof(double));
    tree.A = sap_arena_take(arena, n * n, sizeof(double));
    double **const whole[] = {&tree.v,       &tree.dw,       &tree.momentum,
                              &tree.impulse, &tree.gradient, &tree.error};
    for (size_t k = 0; k < sizeof whole / sizeof *whole; ++k) {
      *whole[k] = sap_arena_take(arena, n, sizeof(double));
    }
    if (made) {
      *made = tree;
      reduction->tree[i] = made;
    }
  }
}

/* Adds |J| by column like add_columns(), for any number of rows. */
static void add_rows(int32_t n, const double *J, int64_t step, int32_t n_rows, double *sum) {
  for (int32_t r = 0; r < n_rows; ++r) {
    for (int32_t j = 0; j < n; ++j) {
      sum[j] += fabs(J[r * step + j]);
    }
  }
}

/* Adds |J| by column for rows of one entry each. */
static void add_entries(const struct sap_triple_rows *rows, struct sap_reduced_tree *tree) {
  for (int32_t r = 0; tree && r < rows->n; ++r) {
    tree->v[rows->dof[r]] += fabs(rows->J[r]);
  }
}

/* Sums |J| by velocity into v of each large tree. */
static void sum_columns(struct sap_reduction *reduction, const sap_problem *problem,
                        const struct sap_triples *triples, const struct sap_vector_loops *loops) {
  for (int32_t i = 0; i < problem->n_trees; ++i) {
    if (reduction->tree[i]) {
      memset(reduction->tree[i]->v, 0, (size_t)reduction->tree[i]->n * sizeof(double));
    }
  }
  const double *J = problem->J;
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    const int32_t sides[2] = {problem->tree_a[i], problem->tree_b[i]};
    for (int s = 0; s < 2 && sides[s] >= 0; ++s) {
      const int32_t n = problem->tree_nv[sides[s]];
      if (reduction->tree[sides[s]]) {
        loops->add_columns(n, J, reduction->tree[sides[s]]->v);
      }
      J += 3 * (int64_t)n;
    }
  }
  for (int32_t i = triples->n_contacts; i < triples->n; ++i) {
    const struct sap_triple_rows *rows = &triples->rows[i - triples->n_contacts];
    const int32_t a = triples->tree_a[i], b = triples->tree_b[i];
    if (rows->dof) {
      add_entries(rows, reduction->tree[a]);
    } else if (reduction->tree[a]) {
      add_rows(problem->tree_nv[a], rows->J, rows->a_step, rows->n, reduction->tree[a]->v);
    }
    if (b >= 0 && reduction->tree[b]) {
      add_rows(problem->tree_nv[b], rows->J + rows->b, rows->b_step, rows->n,
               reduction->tree[b]->v);
    }
  }
}

/* Divides the velocities by the sums; 0 if that saves too little or a sum is not finite. */
static int divide(struct sap_reduced_tree *tree) {
  int finite = 1;
  tree->n_u = 0;
  for (int32_t j = 0; j < tree->n; ++j) {
    tree->n_u += tree->v[j] == 0;
    finite &= tree->v[j] <= DBL_MAX;
  }
  tree->n_t = tree->n - tree->n_u;
  tree->t = tree->u + tree->n_u;
  for (int32_t j = 0, n_u = 0, n_t = 0; j < tree->n; ++j) {
    *(tree->v[j] == 0 ? &tree->u[n_u++] : &tree->t[n_t++]) = j;
  }
  const int is_worth_it =
      tree->n_u >= SAP_FEWEST_ELIMINATED && SAP_ELIMINATED_ONE_IN * tree->n_u >= tree->n;
  return finite && is_worth_it && tree->n_t > 0;
}

/* Computes A' = A_tt - B B^T, B = A_tu L_uu^-T; 0 if A_uu or A' is not positive definite. */
static int eliminate(struct sap_reduced_tree *tree, const struct sap_kernels *kernels) {
  const int32_t n = tree->n, n_u = tree->n_u, n_t = tree->n_t;
  for (int32_t j = 0; j < n; ++j) {
    const double *column = tree->A_whole + (int64_t)tree->u[j] * n;
    double *to = tree->panel + (int64_t)j * n;
    for (int32_t i = j; i < n; ++i) {
      to[i] = column[tree->u[i]]; /* u, then t */
    }
  }
  if (kernels->factor(n, n_u, tree->panel, n) < n_u) {
    return 0;
  }
  const double *B = tree->panel + n_u;
  double *left = tree->panel + (int64_t)n_u * (n + 1);
  kernels->multiply(n_t, n_t, n_u, -1, B, n, B, n, left, n, 1);
  for (int32_t j = 0; j < n_t; ++j) {
    for (int32_t i = j; i < n_t; ++i) {
      tree->A[(int64_t)j * n_t + i] = tree->A[(int64_t)i * n_t + j] = left[(int64_t)j * n + i];
    }
  }
  return kernels->factor(n_t, n_t, left, n) == n_t;
}

sap_status sap_reduction_find(struct sap_reduction *reduction, const sap_problem *problem,
                              const struct sap_triples *triples, const int8_t *left_out,
                              const struct sap_kernels *kernels,
                              const struct sap_vector_loops *loops, const sap_allocator *memory) {
  sap_reduction_clear(reduction, problem);
  int any_large = 0;
  for (int32_t i = 0; i < problem->n_trees; ++i) {
    any_large |= is_large(problem, left_out, i);
  }
  const int given = problem->A && problem->v_star && (problem->n_contacts == 0 || problem->J);
  if (!any_large || triples->n == 0 || !given) {
    return SAP_OK;
  }
  int32_t *size;
  struct sap_arena arena = {NULL, 0};
  carve(reduction, &arena, problem, left_out, &size);
  if (!sap_block_reserve(&reduction->block, arena.used, memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  arena = (struct sap_arena){reduction->block.base, 0};
  carve(reduction, &arena, problem, left_out, &size);
  sum_columns(reduction, problem, triples, loops);
  const double *A = problem->A, *v_star = problem->v_star;
  int32_t n_reduced = 0;
  for (int32_t i = 0; i < problem->n_trees; ++i) {
    const int32_t n = problem->tree_nv[i];
    struct sap_reduced_tree *tree = reduction->tree[i];
    size[i] = n;
    if (tree) {
      tree->A_whole = A;
      tree->v_star = v_star;
      if (divide(tree) && eliminate(tree, kernels)) {
        size[i] = tree->n_t;
        ++n_reduced;
      } else {
        reduction->tree[i] = NULL;
      }
    }
    A += (int64_t)n * n;
    v_star += n;
  }
  reduction->size = size;
  if (n_reduced == 0) {
    sap_reduction_clear(reduction, problem);
  }
  return SAP_OK;
}

/* Sets y = A x for the whole tree. */
static void multiply_whole(const struct sap_reduced_tree *tree,
                           const struct sap_vector_loops *loops, const double *x, double *y) {
  const int32_t scalar[2] = {0, tree->n};
  loops->multiply_mass(0, 1, scalar, &tree->A_whole, NULL, x, y);
}

/* Returns |D x|^2 over u. */
static double eliminated_norm(const struct sap_reduced_tree *tree, const double *x) {
  double sum = 0;
  for (int32_t k = 0; k < tree->n_u; ++k) {
    const int32_t j = tree->u[k];
    sum += x[j] * x[j] / tree->A_whole[(int64_t)j * (tree->n + 1)];
  }
  return sum;
}

double sap_reduced_bind(const struct sap_reduced_tree *tree, const struct sap_vector_loops *loops,
                        double *v_star, double *scale, double *momentum_star) {
  double *A_v_star = tree->momentum;
  multiply_whole(tree, loops, tree->v_star, A_v_star);
  for (int32_t k = 0; k < tree->n_t; ++k) {
    const int32_t j = tree->t[k];
    v_star[k] = tree->v_star[j];
    scale[k] = 1 / sqrt(tree->A_whole[(int64_t)j * (tree->n + 1)]);
    momentum_star[k] = A_v_star[j];
  }
  return eliminated_norm(tree, A_v_star);
}

double sap_reduced_restore(const struct sap_reduced_tree *tree, const struct sap_kernels *kernels,
                           const struct sap_vector_loops *loops, const double *v_t,
                           const double *dw_t, double *momentum) {
  /* dw_u = -A_uu^-1 A_ut dw_t = -L_uu^-T B^T dw_t */
  double *dw_u = tree->gradient;
  memset(dw_u, 0, (size_t)tree->n_u * sizeof *dw_u);
  kernels->solve_backward(tree->n, tree->n_u, tree->panel, tree->n, dw_u, dw_t);
  for (int32_t k = 0; k < tree->n_u; ++k) {
    const int32_t j = tree->u[k];
    tree->v[j] = tree->v_star[j] + dw_u[k];
    tree->dw[j] = tree->v[j] - tree->v_star[j];
  }
  for (int32_t k = 0; k < tree->n_t; ++k) {
    tree->v[tree->t[k]] = v_t[k];
    tree->dw[tree->t[k]] = dw_t[k];
  }
  multiply_whole(tree, loops, tree->dw, tree->momentum);
  for (int32_t k = 0; k < tree->n_t; ++k) {
    momentum[k] = tree->momentum[tree->t[k]];
  }
  return eliminated_norm(tree, tree->momentum);
}
