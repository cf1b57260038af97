#include "problem/regularization/masses.h"

#include <math.h>

#include "base/fail.h"
#include "problem/problem_check.h"

sap_status sap_check_scalars(double dt, double sigma, double beta, sap_delassus delassus,
                             sap_error *error) {
  const struct {
    const char *name;
    double value;
    int zero_allowed;
  } scalars[] = {{"dt", dt, 0}, {"sigma", sigma, 0}, {"beta", beta, 1}};
  for (size_t s = 0; s < sizeof scalars / sizeof *scalars; ++s) {
    const double x = scalars[s].value;
    if (!isfinite(x) || x < 0 || (x == 0 && !scalars[s].zero_allowed)) {
      return sap_invalid(
          error, scalars[s].name, -1, x,
          scalars[s].zero_allowed ? "must be finite and >= 0" : "must be finite and > 0");
    }
  }
  if (delassus != SAP_DELASSUS_BLOCK && delassus != SAP_DELASSUS_DIAGONAL) {
    return sap_invalid(error, "delassus", -1, delassus, "must be a sap_delassus");
  }
  return SAP_OK;
}

/* W (3, 3) += J diag(A)^-1 J^T of n_rows <= 3 rows */
static void add_diagonal_estimate(int32_t n, const double *A, int32_t n_rows, const double *J,
                                  double W[9]) {
  for (int32_t r = 0; r < n_rows; ++r) {
    for (int32_t c = 0; c < n_rows; ++c) {
      for (int32_t j = 0; j < n; ++j) {
        W[3 * r + c] += J[(int64_t)r * n + j] * J[(int64_t)c * n + j] / A[(int64_t)j * (n + 1)];
      }
    }
  }
}

void sap_add_delassus(const struct sap_masses *masses, sap_delassus delassus, int32_t n,
                      const double *A, int32_t tree, int32_t n_rows, const double *J, double W[9]) {
  const int64_t block = masses->tree_A[tree];
  if (delassus == SAP_DELASSUS_DIAGONAL) {
    add_diagonal_estimate(n, A + block, n_rows, J, W);
    return;
  }
  masses->loops->add_gram(n, masses->strips + masses->tree_v[tree], masses->S + block, n_rows, J,
                          W);
}

double sap_inverse_mass(const double W[9], int32_t n_rows) {
  double sum = 0;
  for (int i = 0; i < 9; ++i) {
    sum += W[i] * W[i];
  }
  return sqrt(sum) / n_rows;
}

static void carve(struct sap_masses *masses, struct sap_arena *arena, int32_t n_trees,
                  const sap_sizes *sizes) {
  masses->S = sap_arena_take(arena, (size_t)sizes->nA, sizeof(double));
  masses->strips = sap_arena_take(arena, (size_t)sizes->nv, sizeof(uint64_t));
  masses->tree_A = sap_arena_take(arena, (size_t)n_trees, sizeof(int64_t));
  masses->tree_v = sap_arena_take(arena, (size_t)n_trees, sizeof(int64_t));
  masses->inverse = sap_arena_take(arena, (size_t)sizes->nv, sizeof(double));
  masses->island = sap_arena_take(arena, (size_t)n_trees, sizeof(int32_t));
  masses->load = sap_arena_take(arena, (size_t)n_trees, sizeof(double));
}

sap_status sap_masses_find(struct sap_masses *masses, const sap_problem *problem,
                           struct sap_block *block, const sap_allocator *allocator,
                           sap_error *error) {
  sap_problem trees = *problem;
  trees.n_contacts = trees.n_groups = 0;
  trees.spin = NULL;
  sap_sizes sizes;
  const sap_status status = sap_problem_sizes(&trees, &sizes, error);
  if (status != SAP_OK) {
    return status;
  }
  struct sap_arena arena = {NULL, 0};
  carve(masses, &arena, problem->n_trees, &sizes);
  if (!sap_block_reserve(block, arena.used, allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  arena = (struct sap_arena){block->base, 0};
  carve(masses, &arena, problem->n_trees, &sizes);
  masses->kernels = sap_kernels_best();
  masses->loops = sap_vector_loops_of(sap_kernels_best_set());
  int64_t offset = 0, v = 0;
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    masses->tree_A[t] = offset;
    masses->tree_v[t] = v;
    masses->inverse[v] = 0;
    v += problem->tree_nv[t];
    offset += (int64_t)problem->tree_nv[t] * problem->tree_nv[t];
  }
  return sap_invert_mass(problem, 0, problem->n_trees, NULL, masses->S, masses->strips, NULL,
                         error);
}
