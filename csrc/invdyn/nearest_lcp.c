#include "invdyn/nearest_lcp.h"

#include <math.h>
#include <string.h>

#include "invdyn/invdyn_tuning.h"
#include "invdyn/pyramid.h"

enum choice { UNDECIDED, NO_IMPULSE, NO_VELOCITY }; /* state of an unknown: x_i = 0 or w_i = 0 */

/* Both x_i and w_i count as positive above this part of the largest x and of the largest r. */
static const double complementary = 1e-7;
/* A point counts as nearer by this part of the best squared distance. */
static const double nearer = 1e-9;

void invdyn_nearest_lcp_carve(struct invdyn_nearest_lcp *nearest, const invdyn_settings *settings,
                              const invdyn_problem *most, struct sap_arena *arena) {
  const size_t size = (size_t)most->n * (size_t)(settings->edges + 2), n_q = (size_t)most->n_q;
  nearest->last = sap_arena_take(arena, n_q, sizeof(double));
  nearest->lambda = sap_arena_take(arena, n_q, sizeof(double));
  nearest->D = sap_arena_take(arena, n_q * size, sizeof(double));
  nearest->H = sap_arena_take(arena, size * size, sizeof(double));
  nearest->A = sap_arena_take(arena, size * size, sizeof(double));
  nearest->C = sap_arena_take(arena, size * size, sizeof(double));
  double **const vectors[] = {&nearest->g,     &nearest->b, &nearest->d,   &nearest->lower,
                              &nearest->upper, &nearest->x, &nearest->best};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    *vectors[i] = sap_arena_take(arena, size, sizeof(double));
  }
  nearest->choices = sap_arena_take(arena, (size + 1) * size, 1);
}

void invdyn_nearest_lcp_begin(struct invdyn_nearest_lcp *nearest, int32_t n_q, int32_t size) {
  memset(nearest->last, 0, (size_t)n_q * sizeof(double));
  memset(nearest->lower, 0, (size_t)size * sizeof(double));
}

/* Sets D: motor impulses lambda = B_y^T J_y^T z - J_q^T z + ..., with z of each unknown. */
static void set_changes(struct invdyn_nearest_lcp *nearest,
                        const struct invdyn_reduction *reduction, int32_t edges) {
  const int32_t n = reduction->problem->n, n_q = reduction->problem->n_q, n_b = reduction->n_b;
  const int64_t size = (int64_t)n * (edges + 2);
  memset(nearest->D, 0, (size_t)(n_q * size) * sizeof(double));
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t k = -1; k < edges; ++k) {
      double unit[3] = {0.0, 0.0, 1.0};
      if (k >= 0) {
        invdyn_direction(k, edges, unit);
        unit[2] = 0.0;
      }
      const int64_t at = k < 0 ? i : n + (int64_t)i * edges + k;
      for (int32_t row = 0; row < 3; ++row) {
        const double *J_y = reduction->J_y + (3 * (int64_t)i + row) * n_b;
        const double *J_q = reduction->J_q + (3 * (int64_t)i + row) * n_q;
        for (int32_t q = 0; q < n_q; ++q) {
          double sum = -J_q[q];
          for (int32_t j = 0; j < n_b; ++j) {
            sum += reduction->B_y[(int64_t)j * n_q + q] * J_y[j];
          }
          nearest->D[q * size + at] += unit[row] * sum;
        }
      }
    }
  }
}

/* Sets lambda, H = D^T D and g = D^T lambda. */
static void set_objective(struct invdyn_nearest_lcp *nearest,
                          const struct invdyn_reduction *reduction, int32_t edges) {
  const int32_t n_q = reduction->problem->n_q;
  const int64_t size = (int64_t)reduction->problem->n * (edges + 2);
  set_changes(nearest, reduction, edges);
  invdyn_motors(reduction, reduction->y_free, NULL, nearest->lambda);
  memset(nearest->H, 0, (size_t)(size * size) * sizeof(double));
  memset(nearest->g, 0, (size_t)size * sizeof(double));
  for (int32_t q = 0; q < n_q; ++q) {
    const double *D = nearest->D + q * size;
    nearest->lambda[q] -= nearest->last[q];
    for (int64_t i = 0; i < size; ++i) {
      nearest->g[i] += D[i] * nearest->lambda[q];
      for (int64_t j = 0; j < size; ++j) {
        nearest->H[i * size + j] += D[i] * D[j];
      }
    }
  }
}

/* Returns |lambda(x) - lambda_last|^2. */
static double squared_distance(const struct invdyn_nearest_lcp *nearest, int32_t n_q, int64_t size,
                               const double *x) {
  double squared = 0.0;
  for (int32_t q = 0; q < n_q; ++q) {
    double change = nearest->lambda[q];
    for (int64_t i = 0; i < size; ++i) {
      change += nearest->D[q * size + i] * x[i];
    }
    squared += change * change;
  }
  return squared;
}

/* Solves the convex program of a node into x. */
static qp_outcome solve_node(struct invdyn_nearest_lcp *nearest,
                             const struct invdyn_coulomb *coulomb, qp_solver *qp, int32_t size,
                             const int8_t *choice) {
  qp_problem problem = {.n = size,
                        .H = nearest->H,
                        .g = nearest->g,
                        .A = nearest->A,
                        .b = nearest->b,
                        .C = nearest->C,
                        .d = nearest->d,
                        .lower = nearest->lower,
                        .upper = nearest->upper};
  for (int32_t i = 0; i < size; ++i) {
    const double *row = coulomb->Q + (int64_t)i * size;
    nearest->upper[i] = choice[i] == NO_IMPULSE ? 0.0 : INFINITY;
    if (choice[i] == NO_VELOCITY) {
      memcpy(nearest->A + (int64_t)problem.n_equalities * size, row, (size_t)size * sizeof(double));
      nearest->b[problem.n_equalities++] = -coulomb->r[i];
    } else {
      memcpy(nearest->C + (int64_t)problem.n_inequalities * size, row,
             (size_t)size * sizeof(double));
      nearest->d[problem.n_inequalities++] = -coulomb->r[i];
    }
  }
  qp_settings settings = qp_settings_default();
  settings.check_convex = 0;
  qp_solution found = {.x = nearest->x};
  if (qp_solve(qp, &settings, &problem, NULL, &found, NULL) != SAP_OK) {
    return QP_NON_FINITE; /* an entry overflowed */
  }
  return found.outcome;
}

/* Returns the undecided unknown whose x and w are both farthest from 0, or -1 if the point is
 * complementary. `*closes` is the choice that changes the point less. */
static int32_t find_branch(const struct invdyn_nearest_lcp *nearest,
                           const struct invdyn_coulomb *coulomb, int32_t size, const int8_t *choice,
                           enum choice *closes) {
  double most_x = 0.0, most_r = 0.0, worst = complementary;
  for (int32_t i = 0; i < size; ++i) {
    most_x = fmax(most_x, nearest->x[i]);
    most_r = fmax(most_r, fabs(coulomb->r[i]));
  }
  int32_t found = -1;
  for (int32_t i = 0; i < size; ++i) {
    double w = coulomb->r[i];
    for (int32_t j = 0; j < size; ++j) {
      w += coulomb->Q[(int64_t)i * size + j] * nearest->x[j];
    }
    const double part_x = nearest->x[i] / fmax(most_x, 1e-300);
    const double part_w = w / fmax(most_r, 1e-300);
    if (choice[i] == UNDECIDED && fmin(part_x, part_w) > worst) {
      worst = fmin(part_x, part_w);
      found = i;
      *closes = part_x < part_w ? NO_IMPULSE : NO_VELOCITY;
    }
  }
  return found;
}

static int32_t first_undecided(int32_t size, const int8_t *choice) {
  for (int32_t i = 0; i < size; ++i) {
    if (choice[i] == UNDECIDED) {
      return i;
    }
  }
  return -1;
}

/* Finds the best x; the stack holds what is left to look at, and a path has `size` choices. */
static struct invdyn_answer search(struct invdyn_nearest_lcp *nearest,
                                   const struct invdyn_coulomb *coulomb, qp_solver *qp, int32_t n_q,
                                   int32_t size) {
  struct invdyn_answer answer = {.outcome = LCP_RAY};
  double least = INFINITY;
  int32_t depth = 1;
  memset(nearest->choices, UNDECIDED, (size_t)size);
  while (depth > 0) {
    if (answer.pivots >= INVDYN_MOST_NODES) {
      answer.outcome = LCP_ITERATION_LIMIT;
      break;
    }
    answer.pivots++;
    int8_t *choice = nearest->choices + (int64_t)(depth - 1) * size;
    const qp_outcome outcome = solve_node(nearest, coulomb, qp, size, choice);
    enum choice closes = NO_IMPULSE;
    int32_t branch = -1;
    depth--;
    if (outcome == QP_SOLVED) {
      const double squared = squared_distance(nearest, n_q, size, nearest->x);
      if (!(squared < least * (1.0 - nearer))) {
        continue;
      }
      branch = find_branch(nearest, coulomb, size, choice, &closes);
      if (branch < 0) {
        least = squared;
        memcpy(nearest->best, nearest->x, (size_t)size * sizeof(double));
        answer.outcome = LCP_SOLVED;
        continue;
      }
    } else if (outcome == QP_INFEASIBLE) {
      continue;
    } else { /* nothing is known of this node, so nothing below it is left out */
      branch = first_undecided(size, choice);
      if (branch < 0) {
        continue;
      }
    }
    int8_t *second = choice + size;
    memcpy(second, choice, (size_t)size);
    second[branch] = (int8_t)closes;
    choice[branch] = (int8_t)(closes == NO_IMPULSE ? NO_VELOCITY : NO_IMPULSE);
    depth += 2;
  }
  return answer;
}

struct invdyn_answer invdyn_nearest_lcp_solve(struct invdyn_nearest_lcp *nearest,
                                              struct invdyn_coulomb *coulomb, qp_solver *qp,
                                              const struct invdyn_reduction *reduction,
                                              int32_t edges, double *z) {
  const int32_t n = reduction->problem->n, size = n * (edges + 2);
  invdyn_coulomb_set(coulomb, reduction, edges);
  set_objective(nearest, reduction, edges);
  const struct invdyn_answer answer = search(nearest, coulomb, qp, reduction->problem->n_q, size);
  if (answer.outcome == LCP_SOLVED) {
    invdyn_coulomb_impulses(nearest->best, n, edges, z);
  }
  return answer;
}

void invdyn_nearest_lcp_store(struct invdyn_nearest_lcp *nearest, const invdyn_problem *problem,
                              const double *tau) {
  for (int32_t q = 0; q < problem->n_q; ++q) {
    nearest->last[q] = problem->dt * tau[q];
  }
}
