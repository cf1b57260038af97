#include "solver/newton/objective.h"

#include <math.h>

static void multiply_mass(const struct sap_workspace *w, const struct sap_island *island,
                          const double *x, double *y) {
  w->plan->vectors->multiply_mass(island->node_begin, island->node_end, w->graph->tree.node_scalar,
                                  w->dense, w->diagonal, x, y);
}

int sap_has_rigid_core(const struct sap_island *island) {
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    if (sap_laws[law]->fit) {
      return 1;
    }
  }
  return 0;
}

double sap_momentum_error(double gradient, double scale) {
  const double error = scale < INFINITY ? gradient / scale : NAN;
  return gradient == 0 ? 0 : error;
}

static void refresh_momentum(struct sap_workspace *w, const struct sap_island *island) {
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->dw[i] = w->v[i] - w->v_star[i];
  }
  multiply_mass(w, island, w->dw, w->momentum);
}

static void refresh_contacts(struct sap_workspace *w, const struct sap_island *island) {
  for (int32_t i = island->scalar_begin; i < island->scalar_end; ++i) {
    w->reach[i] = fabs(w->v[i]);
  }
  w->n_steps = 0;
  w->plan->jacobian_loops->multiply(&w->J, island, w->v, w->pool.v_c);
}

void sap_refresh(struct sap_workspace *w, const struct sap_island *island) {
  refresh_momentum(w, island);
  refresh_contacts(w, island);
}

/* Finds gamma and J^T gamma from v_c. Returns sum l_i. */
static double evaluate_contacts(struct sap_workspace *w, const struct sap_island *island,
                                sap_friction friction) {
  struct sap_pool view, *pool = sap_pool_with(&w->pool, friction, &view);
  double constraints = 0;
  for (int law = sap_law_from(island, 0); law < SAP_N_LAWS; law = sap_law_from(island, law + 1)) {
    const int32_t *range = &island->law_begin[law];
    constraints += w->plan->laws[law]->evaluate(pool, range[0], range[1]);
  }
  w->plan->jacobian_loops->multiply_transposed(&w->J, island, w->pool.gamma, w->impulse);
  return constraints;
}

/* grad = A (v - v*) - J^T gamma */
static struct sap_evaluation balance(struct sap_workspace *w, const struct sap_island *island,
                                     double constraints) {
  const struct sap_balance balance =
      w->plan->vectors->balance(island->scalar_begin, island->scalar_end, w->dw, w->momentum,
                                w->momentum_star, w->impulse, w->scale, w->gradient);
  struct sap_evaluation now = {
      .cost = 0.5 * balance.energy + constraints, /* 1/2 |v - v*|_A^2 + sum l_i */
      .constraints = constraints,
      .gradient = sqrt(balance.gradient),
      .momentum = sqrt(balance.momentum + w->eliminated[island->index]),
      .impulse = sqrt(balance.impulse),
  };
  now.scale = fmax(now.momentum, now.impulse);
  return now;
}

struct sap_evaluation sap_evaluate(struct sap_workspace *w, const struct sap_island *island,
                                   sap_friction friction) {
  return balance(w, island, evaluate_contacts(w, island, friction));
}

/* Restores all velocities of reduced trees, and their momentum from the whole A. Returns
 * |D grad|^2 of the eliminated velocities. */
static double restore(struct sap_workspace *w, const struct sap_island *island) {
  const struct sap_plan *plan = w->plan;
  double sum = 0;
  for (int32_t i = island->node_begin; plan->reduction.tree && i < island->node_end; ++i) {
    const int32_t s = w->graph->tree.node_scalar[i];
    if (w->reduced[i]) {
      sum += sap_reduced_restore(w->reduced[i], plan->kernels, plan->vectors, w->v + s, w->dw + s,
                                 w->momentum + s);
    }
  }
  return sum;
}

struct sap_evaluation sap_verify_momentum(struct sap_workspace *w, const struct sap_island *island,
                                          double constraints) {
  refresh_momentum(w, island);
  const double eliminated = restore(w, island);
  struct sap_evaluation now = balance(w, island, constraints);
  now.gradient = eliminated != 0 ? sqrt(now.gradient * now.gradient + eliminated) : now.gradient;
  return now;
}

struct sap_evaluation sap_verify(struct sap_workspace *w, const struct sap_island *island,
                                 sap_friction friction) {
  refresh_contacts(w, island);
  return sap_verify_momentum(w, island, evaluate_contacts(w, island, friction));
}

void sap_assemble(struct sap_workspace *w, const struct sap_island *island,
                  enum sap_precision precision) {
  const struct sap_plan *plan = w->plan;
  plan->factor.precision[island->index] = (int8_t)precision;
  plan->jacobian_loops->assemble(&w->J, island, w->A, &w->pool, w->scratch, &plan->factor);
}

/* ---- along a line ---- */

struct sap_line sap_line_make(struct sap_workspace *w, const struct sap_island *island,
                              sap_friction friction) {
  multiply_mass(w, island, w->dv, w->dp);
  w->plan->jacobian_loops->multiply(&w->J, island, w->dv, w->pool.dv_c);
  return (struct sap_line){
      .w = w,
      .island = island,
      .friction = friction,
      .product = w->plan->vectors->products(island->scalar_begin, island->scalar_end, w->dv, w->dp,
                                            w->dw, w->gradient),
  };
}

struct sap_line_point sap_line_at(const struct sap_line *line, double alpha) {
  /* dp^T (v(alpha) - v*) - dv_c^T gamma;  dv^T dp + dv_c^T G dv_c */
  struct sap_pool view;
  const struct sap_pool *pool = sap_pool_with(&line->w->pool, line->friction, &view);
  struct sap_line_point point = {.alpha = alpha};
  for (int law = sap_law_from(line->island, 0); law < SAP_N_LAWS;
       law = sap_law_from(line->island, law + 1)) {
    const int32_t *range = &line->island->law_begin[law];
    double slope, curvature;
    line->w->plan->laws[law]->line(pool, range[0], range[1], alpha, &slope, &curvature);
    point.slope += slope;
    point.curvature += curvature;
  }
  point.slope += line->product.linear + alpha * line->product.quadratic;
  point.curvature += line->product.quadratic;
  return point;
}

double sap_line_wall(const struct sap_line *line, double alpha) {
  double wall = alpha;
  for (int law = sap_law_from(line->island, 0); law < SAP_N_LAWS;
       law = sap_law_from(line->island, law + 1)) {
    const int32_t *range = &line->island->law_begin[law];
    if (sap_laws[law]->wall) {
      wall = fmin(wall, sap_laws[law]->wall(&line->w->pool, range[0], range[1], alpha));
    }
  }
  return wall;
}

int sap_line_moves(const struct sap_line *line, double alpha) {
  const double *v = line->w->v, *dv = line->w->dv;
  int32_t i = line->island->scalar_begin;
  while (i < line->island->scalar_end && v[i] + alpha * dv[i] == v[i]) {
    ++i;
  }
  return i < line->island->scalar_end;
}

double sap_line_difference(const struct sap_line *line, double alpha) {
  struct sap_pool view;
  const struct sap_pool *pool = sap_pool_with(&line->w->pool, line->friction, &view);
  double difference = alpha * (line->product.linear + 0.5 * alpha * line->product.quadratic);
  for (int law = sap_law_from(line->island, 0); law < SAP_N_LAWS;
       law = sap_law_from(line->island, law + 1)) {
    const int32_t *range = &line->island->law_begin[law];
    difference += sap_laws[law]->difference(pool, range[0], range[1], alpha);
  }
  return difference;
}

void sap_line_advance(const struct sap_line *line, double alpha) {
  struct sap_workspace *w = line->w;
  const struct sap_island *island = line->island;
  const struct sap_vector_loops *loops = w->plan->vectors;
  loops->step(island->scalar_begin, island->scalar_end, alpha, w->dv, w->dp, w->v, w->dw,
              w->momentum, w->reach);
  w->n_steps++;
  for (int r = 0; r < 3; ++r) {
    loops->advance(island->triple_begin, island->triple_end, alpha, w->pool.dv_c[r],
                   w->pool.v_c[r]);
  }
}
