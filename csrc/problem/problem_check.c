#include "problem/problem_check.h"

#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "base/memory.h"
#include "base/fail.h"
#include "constraints/laws.h"
#include "problem/graph/branches.h"
#include "problem/capacity.h"
#include "problem/groups.h"
#include "problem/products/vectors.h"

/* Counts the entries of J of three rows of contact i. */
static int64_t count_entries(const sap_problem *problem, int32_t i) {
  const int32_t a = problem->tree_a[i], b = problem->tree_b[i];
  return 3 * ((int64_t)problem->tree_nv[a] + (b >= 0 ? problem->tree_nv[b] : 0));
}

/* Finds nJ_spin; the indices of the contacts have been checked. */
static sap_status measure_torsional(const sap_problem *problem, sap_sizes *sizes,
                                    sap_error *error) {
  const sap_spin *spin = problem->spin;
  if (spin && (spin->n < 0 || spin->n > problem->n_contacts)) {
    return sap_invalid(error, "spin_contact", -1, spin->n,
                       "must be from none to all of the contacts");
  }
  if (spin && spin->n > 0 && !spin->contact) {
    return sap_invalid(error, "spin_contact", -1, NAN, "must be given");
  }
  for (int32_t k = 0; spin && k < spin->n; ++k) {
    const int32_t i = spin->contact[k];
    if (i < 0 || i >= problem->n_contacts) {
      return sap_invalid(error, "spin_contact", k, i, "must be the index of a contact");
    }
    if (k > 0 && i <= spin->contact[k - 1]) {
      return sap_invalid(error, "spin_contact", k, i, "must be ascending");
    }
    sizes->nJ_spin += count_entries(problem, i);
  }
  return SAP_OK;
}

sap_status sap_problem_sizes(const sap_problem *problem, sap_sizes *sizes, sap_error *error) {
  *sizes = (sap_sizes){0};
  if (problem->n_trees < 0 || problem->n_trees > SAP_MOST_ENTRIES) {
    return sap_invalid(error, "n_trees", -1, problem->n_trees, "must be from 0 to 2^28");
  }
  if (problem->n_contacts < 0 || problem->n_contacts > SAP_MOST_ENTRIES) {
    return sap_invalid(error, "n_contacts", -1, problem->n_contacts, "must be from 0 to 2^28");
  }
  const struct {
    const char *name;
    const int32_t *x;
    int32_t n;
  } arrays[] = {{"tree_nv", problem->tree_nv, problem->n_trees},
                {"tree_a", problem->tree_a, problem->n_contacts},
                {"tree_b", problem->tree_b, problem->n_contacts}};
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; ++a) {
    if (arrays[a].n > 0 && !arrays[a].x) {
      return sap_invalid(error, arrays[a].name, -1, NAN, "must be given");
    }
  }
  for (int32_t t = 0; t < problem->n_trees; ++t) {
    const int64_t n = problem->tree_nv[t];
    if (n < 1) {
      return sap_invalid(error, "tree_nv", t, (double)n, "must be >= 1");
    }
    sizes->nv += n;
    if (n > 1 << 15 || sizes->nv > SAP_MOST_ENTRIES) {
      return sap_invalid(error, "tree_nv", t, (double)n,
                         "must be at most 2^15, and the sum at most 2^28");
    }
    sizes->nA += n * n;
  }
  for (int32_t i = 0; i < problem->n_contacts; ++i) {
    const int32_t a = problem->tree_a[i], b = problem->tree_b[i];
    if (a < 0 || a >= problem->n_trees) {
      return sap_invalid(error, "tree_a", i, a, "must be the index of a tree");
    }
    if (b < -1 || b >= problem->n_trees) {
      return sap_invalid(error, "tree_b", i, b, "must be the index of a tree, or -1");
    }
    if (a == b) {
      return sap_invalid(error, "tree_b", i, b,
                         "must differ from tree_a (-1 where both sides are one tree)");
    }
    sizes->nJ += count_entries(problem, i);
  }
  const sap_status status = measure_torsional(problem, sizes, error);
  return status == SAP_OK ? sap_group_sizes(problem, sizes, error) : status;
}

/* Is the block symmetric up to round-off, so that row-major and column-major are the same? */
static int is_nearly_symmetric(int32_t n, const double *A) {
  for (int32_t i = 0; i < n; ++i) {
    const double A_ii = A[(int64_t)i * (n + 1)];
    for (int32_t j = 0; j < i; ++j) {
      const double A_jj = A[(int64_t)j * (n + 1)];
      const double difference = fabs(A[(int64_t)i * n + j] - A[(int64_t)j * n + i]);
      /* the smaller diagonal entry mostly suffices, without a root */
      if (!(difference <= sap_asymmetry * (A_ii < A_jj ? A_ii : A_jj)) && difference > 0 &&
          !(difference <= sap_asymmetry * sqrt(fabs(A_ii * A_jj)))) {
        return 0;
      }
    }
  }
  return 1;
}

/* Sets S = U^-1 of a diagonal block. */
static void invert_diagonal(int32_t n, const double *A, double *S) {
  memset(S, 0, (size_t)n * (size_t)n * sizeof *S);
  for (int32_t i = 0; i < n; ++i) {
    S[(int64_t)i * (n + 1)] = 1 / sqrt(A[(int64_t)i * (n + 1)]);
  }
}

/* Finds S = U^-1 of the block of tree t at A, whose first velocity is `v`. */
static sap_status invert_block(const sap_problem *problem, int32_t t, int64_t v, const double *A,
                               const struct sap_vector_loops *loops, double *S, uint64_t *strips,
                               sap_error *error) {
  const int32_t n = problem->tree_nv[t];
  const int64_t n2 = (int64_t)n * n;
  const int32_t *parent = problem->parent ? problem->parent + v : NULL;
  if (problem->A_inverse_factor && problem->A_inverse_factor[t]) {
    memcpy(S, problem->A_inverse_factor[t], (size_t)n2 * sizeof *S);
    return SAP_OK;
  }
  const double asymmetry = loops->asymmetry(n, A);
  const int64_t bad = asymmetry <= DBL_MAX ? -1 : sap_first_non_finite(n2, A);
  if (bad >= 0) {
    return sap_invalid(error, "A", (A - problem->A) + bad, A[bad], "must be finite");
  }
  if (asymmetry != 0 && !is_nearly_symmetric(n, A)) {
    return sap_fail_whole(error, SAP_INVALID_ARGUMENT, SAP_ERROR_TREE, "A", t, NAN,
                          "must be symmetric");
  }
  const int64_t stray = parent ? sap_branches_broken(n, parent, A) : -1;
  if (stray >= 0) {
    return sap_invalid(error, "A", (A - problem->A) + stray, A[stray],
                       "must be zero between branches of a tree");
  }
  if (!loops->invert(n, strips, A, S)) {
    return sap_fail_whole(error, SAP_NOT_POSITIVE_DEFINITE, SAP_ERROR_TREE, "A", t, NAN,
                          "must be positive definite");
  }
  return SAP_OK;
}

sap_status sap_invert_tree(const sap_problem *problem, int32_t t, int64_t first, int64_t v,
                           const struct sap_vector_loops *loops, double *S, uint64_t *strips,
                           int8_t *is_diagonal, sap_error *error) {
  const double *A = problem->A + first;
  const int32_t n = problem->tree_nv[t];
  *is_diagonal = (int8_t)loops->is_diagonal(n, A);
  sap_branches_strips(n, problem->parent ? problem->parent + v : NULL, strips + v);
  return *is_diagonal ? SAP_OK
                      : invert_block(problem, t, v, A, loops, S + first, strips + v, error);
}

sap_status sap_invert_mass(const sap_problem *problem, int32_t begin, int32_t end,
                           const int32_t *position, double *S, uint64_t *strips,
                           int8_t *is_diagonal, sap_error *error) {
  const struct sap_vector_loops *loops = sap_vector_loops_of(sap_kernels_best_set());
  int64_t first = 0, v = 0;
  if (problem->n_trees > 0 && !problem->A) {
    return sap_invalid(error, "A", -1, NAN, "must be given");
  }
  for (int32_t t = 0; t < end; ++t) {
    const int32_t n = problem->tree_nv[t];
    if (t >= begin && (!position || position[t] >= 0)) {
      int8_t diagonal;
      const sap_status status =
          sap_invert_tree(problem, t, first, v, loops, S, strips, &diagonal, error);
      if (status != SAP_OK) {
        return status;
      }
      if (is_diagonal) {
        is_diagonal[t] = diagonal;
      }
      if (diagonal) {
        invert_diagonal(n, problem->A + first, S + first);
      }
    }
    first += (int64_t)n * n;
    v += n;
  }
  return SAP_OK;
}

sap_status sap_check_laws_given(const sap_problem *problem, sap_friction friction,
                                const sap_parameters *parameters, sap_error *error) {
  sap_status status = SAP_OK;
  for (int law = 0; law < SAP_N_LAWS && status == SAP_OK; ++law) {
    if (sap_laws[law]->check_given) {
      status = sap_laws[law]->check_given(problem, friction, parameters, error);
    }
  }
  return status;
}

sap_status sap_check_given(const sap_problem *problem, sap_error *error) {
  const struct {
    const char *name;
    int32_t n;
    const double *x;
  } arrays[] = {{"A", problem->n_trees, problem->A},
                {"v_star", problem->n_trees, problem->v_star},
                {"J", problem->n_contacts, problem->J},
                {"mu", problem->n_contacts, problem->mu},
                {"R_t", problem->n_contacts, problem->R_t},
                {"R_n", problem->n_contacts, problem->R_n},
                {"v_hat_n", problem->n_contacts, problem->v_hat_n}};
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; ++a) {
    if (arrays[a].n > 0 && !arrays[a].x) {
      return sap_invalid(error, arrays[a].name, -1, NAN, "must be given");
    }
  }
  return SAP_OK;
}

static sap_status check_contacts(const sap_problem *problem, const sap_sizes *sizes,
                                 sap_error *error) {
  const int64_t n = problem->n_contacts;
  const struct {
    const char *name;
    int64_t n;
    const double *x;
  } arrays[] = {
      {"v_star", sizes->nv, problem->v_star},
      {"J", sizes->nJ, problem->J},
      {"mu", n, problem->mu},
      {"R_t", n, problem->R_t},
      {"R_n", n, problem->R_n},
      {"v_hat_n", n, problem->v_hat_n},
      {"v_hat_t", problem->v_hat_t ? 2 * n : 0, problem->v_hat_t},
      {"spin_J", sizes->nJ_spin, problem->spin ? problem->spin->J : NULL},
  };
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; ++a) {
    const sap_status status = sap_check_finite(arrays[a].name, arrays[a].n, arrays[a].x, error);
    if (status != SAP_OK) {
      return status;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    if (problem->mu[i] < 0) {
      return sap_invalid(error, "mu", i, problem->mu[i], "must be >= 0");
    }
    if (!sap_is_regularization(problem->R_t[i])) {
      return sap_invalid(error, "R_t", i, problem->R_t[i], sap_regularization_rule);
    }
    if (!sap_is_regularization(problem->R_n[i])) {
      return sap_invalid(error, "R_n", i, problem->R_n[i], sap_regularization_rule);
    }
    if (problem->R_n[i] > 0 &&
        !isfinite(1 + problem->mu[i] * (problem->mu[i] * problem->R_t[i] / problem->R_n[i]))) {
      return sap_invalid(error, "mu", i, problem->mu[i], "mu^2 R_t/R_n must be finite");
    }
  }
  return SAP_OK;
}

static sap_status check_laws(const sap_problem *problem, sap_error *error) {
  sap_status status = SAP_OK;
  for (int law = 0; law < SAP_N_LAWS && status == SAP_OK; ++law) {
    if (sap_laws[law]->check) {
      status = sap_laws[law]->check(problem, error);
    }
  }
  return status;
}

sap_status sap_check_constraints(const sap_problem *problem, const sap_sizes *sizes,
                                 sap_error *error) {
  sap_status status = check_contacts(problem, sizes, error);
  if (status == SAP_OK) {
    status = check_laws(problem, error);
  }
  return status == SAP_OK ? sap_check_groups(problem, 0, error) : status;
}

sap_status sap_check_compliant(const sap_problem *problem, sap_error *error) {
  for (int64_t i = 0; i < problem->n_contacts; ++i) {
    if (!(problem->R_t[i] > 0)) {
      return sap_invalid(error, "R_t", i, problem->R_t[i], sap_compliance_rule);
    }
    if (!(problem->R_n[i] > 0)) {
      return sap_invalid(error, "R_n", i, problem->R_n[i], sap_compliance_rule);
    }
  }
  return sap_check_groups(problem, 1, error);
}

/* Checks the parents; solves and the check of A treat a parent that is not earlier as none. */
static sap_status check_parents(const sap_problem *problem, sap_error *error) {
  const int32_t *parent = problem->parent;
  int64_t first = 0;
  for (int32_t t = 0; parent && t < problem->n_trees; first += problem->tree_nv[t++]) {
    for (int32_t j = 0; j < problem->tree_nv[t]; ++j) {
      if (parent[first + j] < -1 || parent[first + j] >= j) {
        return sap_invalid(error, "parent", first + j, parent[first + j],
                           "must be -1 or an earlier velocity of the tree");
      }
    }
  }
  return SAP_OK;
}

sap_status sap_problem_check(const sap_problem *problem, const sap_allocator *allocator,
                             sap_error *error) {
  sap_sizes sizes;
  sap_status status = sap_problem_sizes(problem, &sizes, error);
  if (status != SAP_OK) {
    return status;
  }
  status = check_parents(problem, error);
  if (status == SAP_OK) {
    status = sap_check_groups_given(problem, error);
  }
  if (status == SAP_OK) {
    status = sap_check_laws_given(problem, SAP_FRICTION_CONVEX, NULL, error);
  }
  if (status == SAP_OK) {
    status = sap_check_constraints(problem, &sizes, error);
  }
  if (status != SAP_OK) {
    return status;
  }
  const sap_allocator memory = sap_allocator_or_default(allocator);
  struct sap_block block = {0};
  if (!sap_block_reserve(&block, (size_t)(sizes.nA + sizes.nv) * sizeof(double), &memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  double *S = (double *)block.base;
  status = sap_invert_mass(problem, 0, problem->n_trees, NULL, S, (uint64_t *)(S + sizes.nA), NULL,
                           error);
  sap_block_release(&block, &memory);
  return status;
}
