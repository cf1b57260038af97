#include "constraints/laws/clamp.h"

#include <math.h>

#include "constraints/laws.h"

static void carve(struct sap_pool *pool, struct sap_arena *arena, int32_t n) {
  struct sap_clamps *clamp = &pool->clamp;
  double **const arrays[] = {
      &clamp->R[0],         &clamp->R[1],         &clamp->R[2],     &clamp->inverse_R[0],
      &clamp->inverse_R[1], &clamp->inverse_R[2], &clamp->lower[0], &clamp->lower[1],
      &clamp->lower[2],     &clamp->upper[0],     &clamp->upper[1], &clamp->upper[2],
  };
  sap_pool_take(arena, n, sizeof arrays / sizeof *arrays, arrays);
}

/* rows that a triple lacks have bounds that let nothing through */
static void bind(struct sap_pool *pool, int32_t begin, int32_t end, const struct sap_origin *origin,
                 const sap_problem *problem) {
  (void)problem; /* the rows know their group */
  const struct sap_clamps *clamp = &pool->clamp;
  for (int32_t place = begin; place < end; ++place) {
    const struct sap_triple_rows *rows = sap_rows_at(origin, place);
    const sap_constraints *group = rows->group;
    for (int32_t r = 0; r < 3; ++r) {
      const int given = r < rows->n;
      clamp->R[r][place] = given ? group->R[rows->row + r] : 1;
      pool->v_hat[r][place] = given ? group->v_hat[rows->row + r] : 0;
      clamp->lower[r][place] = given ? group->lower[rows->row + r] : 0;
      clamp->upper[r][place] = given ? group->upper[rows->row + r] : 0;
    }
  }
}

static int32_t write(const struct sap_pool *pool, int32_t begin, int32_t end,
                     const struct sap_origin *origin, const sap_solution *solution) {
  for (int32_t place = begin; place < end; ++place) {
    const struct sap_triple_rows *rows = sap_rows_at(origin, place);
    for (int32_t r = 0; r < rows->n; ++r) {
      if (solution->group_gamma) {
        solution->group_gamma[rows->place + r] = pool->gamma[r][place];
      }
      if (solution->group_v_c) {
        solution->group_v_c[rows->place + r] = pool->v_c[r][place];
      }
    }
  }
  return 0;
}

static double difference(const struct sap_pool *p, int32_t begin, int32_t end, double alpha) {
  double sum = 0;
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = begin; i < end; ++i) {
      const double lower = p->clamp.lower[r][i], upper = p->clamp.upper[r][i];
      const double y_a = p->y[r][i], dy = -alpha * (p->dv_c[r][i] * p->clamp.inverse_R[r][i]);
      const double y_b = y_a + dy;
      const double a = sap_clamp_impulse(y_a, lower, upper);
      const double b = sap_clamp_impulse(y_b, lower, upper);
      /* R int_{y_a}^{y_b} gamma dy: between the bounds, and beyond them */
      const int beyond = a == b && a != y_a && b != y_b;
      const double inside = a == y_a && b == y_b ? 0.5 * dy * (a + b) : 0.5 * (b - a) * (b + a);
      sum += p->clamp.R[r][i] * (beyond ? a * dy : inside + (b * (y_b - b) - a * (y_a - a)));
    }
  }
  return sum;
}

static void stick(struct sap_pool *pool, int32_t begin, int32_t end) {
  /* rows stay what they are at y */
  (void)pool, (void)begin, (void)end;
}

/* row r of the triple at place i */
static struct sap_clamped row_at(const struct sap_pool *p, int r, int32_t i) {
  return (struct sap_clamped){p->y[r][i],     p->gamma[r][i],       p->v_c[r][i],
                              p->v_hat[r][i], p->clamp.lower[r][i], p->clamp.upper[r][i]};
}

static void bound(struct sap_pool *p, int32_t begin, int32_t end, double velocity_error,
                  double impulse_error) {
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = begin; i < end; ++i) {
      const struct sap_clamped row = row_at(p, r, i);
      p->dv_c[r][i] =
          sap_clamp_error(&row, p->clamp.inverse_R[r][i], velocity_error * p->dv_c[r][i]) +
          impulse_error * fabs(row.gamma);
    }
  }
}

static double complementarity(const struct sap_pool *p, int32_t begin, int32_t end) {
  double sum = 0;
  for (int r = 0; r < 3; ++r) {
    for (int32_t i = begin; i < end; ++i) {
      const struct sap_clamped row = row_at(p, r, i);
      sum += sap_clamp_complementarity(&row, p->clamp.R[r][i]);
    }
  }
  return sum;
}

SAP_DECLARE_LOOPS(clamp_loops);

#define CLAMPED                                                                                 \
  .loops = SAP_LOOPS(clamp_loops), .takes_rows = 1, .bind = bind, .write = write,               \
  .difference = difference, .stick = stick, .bound = bound, .complementarity = complementarity, \
  .n_constants = SAP_N_ROW_CONSTANTS, .partials = sap_clamp_partials

const struct sap_law sap_law_clamp = {CLAMPED, .carve = carve};

/* in the arrays of the other */
const struct sap_law sap_law_joint = {CLAMPED, .is_diagonal = 1};

void sap_clamp(int64_t n, const double *y, const double *R, const double *lower,
               const double *upper, double *gamma, double *G, double *cost) {
  for (int64_t i = 0; i < n; ++i) {
    const double g = sap_clamp_impulse(y[i], lower[i], upper[i]);
    if (gamma) {
      gamma[i] = g;
    }
    if (G) {
      G[i] = sap_clamp_is_free(y[i], g, lower[i], upper[i]) ? 1 / R[i] : 0;
    }
    if (cost) {
      cost[i] = sap_clamp_cost(R[i], y[i], g);
    }
  }
}
