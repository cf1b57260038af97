#include "step/derivatives/difference_bounds.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "constraints/kinds/kinds.h"
#include "step/step_tuning.h"

/* A row of J with the blocks of its trees. */
struct bounded_row {
  int n_sides;
  const double *J[2];
  int32_t first[2], n[2]; /* velocities of each block */
  const int32_t *column;  /* velocity of each entry instead, or NULL */
};

static void add_side(struct bounded_row *row, const double *J, int32_t first, int32_t n) {
  row->J[row->n_sides] = J;
  row->first[row->n_sides] = first;
  row->n[row->n_sides++] = n;
}

/* Goes on to the next row of the same blocks. */
static void advance(struct bounded_row *row) {
  for (int side = 0; side < row->n_sides; ++side) {
    row->J[side] += row->n[side];
  }
}

static int32_t velocity_of(const struct bounded_row *row, int side, int32_t j) {
  return row->column ? row->column[j] : row->first[side] + j;
}

/* Bounds the change of each position so that the row moves by `way` at most. `most` holds
 * reciprocals until the end. */
static void bound_changes(struct sap_difference_bounds *bounds, const struct bounded_row *row,
                          double way) {
  const double rate = 1.0 / way;
  for (int side = 0; side < row->n_sides; ++side) {
    for (int32_t j = 0; j < row->n[side]; ++j) {
      double *most = bounds->most + velocity_of(row, side, j);
      const double J = row->J[side][j];
      *most = J == 0.0 ? *most : sap_larger(fabs(J) * rate, *most);
    }
  }
}

/* Bounds the width along x by a row that moves by `sum` per unit, with entries of `size` in all. */
static void bound_by_motion(struct sap_difference_bounds *bounds, double sum, double size,
                            double rate) {
  if (size > 0.0) {
    bounds->reach = fmax(fmax(fabs(sum) * rate, sqrt(size * bounds->size * rate)), bounds->reach);
  }
}

/* Bounds the width along x so that the row moves by `way` at most. */
static void bound_width(struct sap_difference_bounds *bounds, const struct bounded_row *row,
                        double way) {
  double sum = 0.0, size = 0.0;
  for (int side = 0; side < row->n_sides; ++side) {
    for (int32_t j = 0; j < row->n[side]; ++j) {
      const double part = row->J[side][j] * bounds->x[velocity_of(row, side, j)];
      sum += part;
      size += fabs(part);
    }
  }
  bound_by_motion(bounds, sum, size, 1.0 / way);
}

static void bound_row(struct sap_difference_bounds *bounds, const struct bounded_row *row,
                      double way) {
  if (bounds->most) {
    bound_changes(bounds, row, way);
  } else {
    bound_width(bounds, row, way);
  }
}

double sap_contact_velocity(const struct sap_gather *gather, const double *v, int32_t c,
                            const double **J, const double *side_J[2], double v_c[3]) {
  const sap_problem *p = &gather->problem;
  const int32_t tree[2] = {p->tree_a[c], p->tree_b[c]};
  double speed = 0.0;
  v_c[0] = v_c[1] = v_c[2] = 0.0;
  for (int side = 0; side < 2 && tree[side] >= 0; ++side) {
    const int32_t n = gather->forest->tree_dofnum[tree[side]];
    const double *of_tree = v + gather->forest->tree_dofadr[tree[side]];
    side_J[side] = *J;
    for (int r = 0; r < 3; ++r, *J += n) {
      v_c[r] += sap_vector_dot(n, *J, of_tree);
    }
    for (int32_t j = 0; j < n; ++j) {
      speed = sap_larger(fabs(of_tree[j]), speed);
    }
  }
  return speed;
}

/* Returns the change of v_hat_n, m/s, that brings contact c with velocity v_c to another region. */
static double normal_distance(const struct sap_gather *gather, int32_t c, const double v_c[3]) {
  const sap_problem *p = &gather->problem;
  const double *v_hat_t = p->v_hat_t + 2 * (int64_t)c;
  const double y_n = (p->v_hat_n[c] - v_c[2]) / p->R_n[c];
  const double y_t = hypot(v_hat_t[0] - v_c[0], v_hat_t[1] - v_c[1]) / p->R_t[c];
  double way = fabs(y_n);
  if (y_n > 0.0 && p->mu[c] > 0.0) {
    way = fmin(way, fabs(y_n - y_t / p->mu[c]));
  }
  return p->R_n[c] * way;
}

/* Finds how far the gap of each contact may change. A change of positions turns J, too, and moves
 * the velocity J v of a row by about `speed` times it. */
static void find_contact_ways(struct sap_difference_bounds *bounds, const int8_t *regions,
                              const double *distance) {
  const struct sap_gather *gather = bounds->gather;
  const sap_problem *p = &gather->problem;
  const double *J = p->J;
  for (int32_t c = 0; c < p->n_contacts; ++c) {
    const double *side_J[2];
    double v_c[3];
    const double speed = sap_contact_velocity(gather, bounds->v, c, &J, side_J, v_c);
    double way = (gather->dt + gather->tau_d[c]) * normal_distance(gather, c, v_c);
    if (regions[c] != SAP_NO_CONTACT) {
      way = fmin(way, fabs(gather->phi0[c]));
      ++bounds->n_acting;
    }
    bounds->distance = fmin(bounds->distance, distance[c]);
    bounds->gap_way[c] = sap_largest_part * way;
    bounds->turn_way[c] = sap_largest_part * distance[c] / speed;
  }
}

static void bound_by_contacts(struct sap_difference_bounds *bounds) {
  const sap_problem *p = &bounds->gather->problem;
  const sap_forest *forest = bounds->gather->forest;
  const double *J = p->J;
  for (int32_t c = 0; c < p->n_contacts; ++c) {
    const int32_t tree[2] = {p->tree_a[c], p->tree_b[c]};
    struct bounded_row row = {0}, normal;
    for (int side = 0; side < 2 && tree[side] >= 0; ++side) {
      const int32_t n = forest->tree_dofnum[tree[side]];
      add_side(&row, J, forest->tree_dofadr[tree[side]], n);
      J += 3 * (int64_t)n;
    }
    normal = row;
    advance(&normal);
    advance(&normal);
    for (int r = 0; r < 3 && bounds->most; ++r, advance(&row)) {
      bound_changes(bounds, &row, bounds->turn_way[c]);
    }
    bound_row(bounds, &normal, bounds->gap_way[c]);
  }
}

/* Keeps 1/way of a row whose only entry J is at a velocity. */
static void keep_entry(struct sap_difference_bounds *bounds, int32_t velocity, double J,
                       double way) {
  bounds->rate[velocity] = sap_larger(fabs(J) / way, bounds->rate[velocity]);
}

/* Bounds differences by the rows that have one entry each. */
static void bound_by_entries(struct sap_difference_bounds *bounds) {
  for (int32_t i = 0; i < bounds->gather->forest->nv; ++i) {
    if (bounds->most) {
      bounds->most[i] = sap_larger(bounds->rate[i], bounds->most[i]);
    } else {
      const double size = fabs(bounds->x[i]);
      bound_by_motion(bounds, size, size, bounds->rate[i]);
    }
  }
}

/* Finds the smallest distance of a row. */
static void find_row_distance(struct sap_difference_bounds *bounds, const double *distance) {
  for (int32_t i = 0; i < bounds->gather->elements.n_rows; ++i) {
    bounds->distance = fmin(bounds->distance, distance[i]);
  }
}

/* Bounds by constraint i of a group, whose J begins at J. Returns the length of J. */
static int64_t bound_by_constraint(struct sap_difference_bounds *bounds,
                                   const sap_constraints *group, int32_t i, const double *J,
                                   const double *distance) {
  const struct sap_gather *gather = bounds->gather;
  const sap_forest *forest = gather->forest;
  const int32_t tree[2] = {group->tree_a[i], group->tree_b[i]}, dof = sap_dof_of(group, i);
  const int32_t size = sap_rows_of(group, i);
  const double part = sap_largest_part * gather->dt, *end = J;
  struct bounded_row row = {0};
  if (dof >= 0 && bounds->most) {
    keep_entry(bounds, forest->tree_dofadr[tree[0]] + dof, J[0], part * distance[0]);
  }
  for (int side = 0; side < 2 && tree[side] >= 0 && dof < 0; ++side) {
    const int32_t n = forest->tree_dofnum[tree[side]];
    add_side(&row, end, forest->tree_dofadr[tree[side]], n);
    end += (int64_t)size * n;
  }
  for (int32_t r = 0; r < size && dof < 0; ++r, advance(&row)) {
    bound_row(bounds, &row, part * distance[r]);
  }
  return dof < 0 ? end - J : 1;
}

/* Does the same for limits that are far open at the velocity after the step. */
static void bound_by_open_limits(struct sap_difference_bounds *bounds) {
  const struct sap_open_limits *open = &bounds->gather->elements.open;
  for (int32_t i = 0; i < open->n; ++i) {
    const struct sap_limit_side *side = open->limits + i;
    const struct sap_engine_jacobian *row = &side->row;
    const double first = side->phi0 / side->h;
    if (side->dof < 0) {
      const double speed = first + side->sign * sap_engine_product(row, bounds->v);
      bounds->distance = fmin(bounds->distance, speed);
      const struct bounded_row bounded = {1, {row->value}, {0}, {row->n}, row->column};
      bound_row(bounds, &bounded, sap_largest_part * open->dt * speed);
    } else if (bounds->most) {
      const double speed = first + side->sign * bounds->v[side->dof];
      bounds->distance = fmin(bounds->distance, speed);
      keep_entry(bounds, side->dof, 1.0, sap_largest_part * open->dt * speed);
    }
  }
}

static void bound_by_groups(struct sap_difference_bounds *bounds, const double *distance) {
  const sap_problem *p = &bounds->gather->problem;
  for (int32_t g = 0; g < p->n_groups; ++g) {
    const sap_constraints *group = p->groups + g;
    const int acts = group->kind != SAP_DRY_FRICTION; /* its target velocity is always 0 */
    const double *J = group->J;
    for (int32_t i = 0; i < group->n; distance += sap_rows_of(group, i), ++i) {
      J += acts ? bound_by_constraint(bounds, group, i, J, distance) : 0;
    }
  }
}

void sap_bound_differences(struct sap_difference_bounds *bounds, const int8_t *regions,
                           const double *distance, const double *row_distance) {
  const int32_t nv = bounds->gather->forest->nv;
  bounds->reach = 0.0;
  if (bounds->most) {
    memset(bounds->most, 0, sizeof *bounds->most * (size_t)nv);
    memset(bounds->rate, 0, sizeof *bounds->rate * (size_t)nv);
    bounds->distance = INFINITY;
    bounds->n_acting = 0;
    find_contact_ways(bounds, regions, distance);
    find_row_distance(bounds, row_distance);
  }
  bound_by_contacts(bounds);
  bound_by_open_limits(bounds);
  bound_by_groups(bounds, row_distance);
  bound_by_entries(bounds);
  for (int32_t i = 0; i < nv && bounds->most; ++i) {
    bounds->most[i] = 1.0 / bounds->most[i];
  }
}
