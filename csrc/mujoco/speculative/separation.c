#include "mujoco/speculative/separation.h"

#include <math.h>

#include "base/arithmetic.h"

static void cross(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static void minus(const double *a, const double *b, double *c) {
  for (int j = 0; j < 3; ++j) {
    c[j] = a[j] - b[j];
  }
}

static int is_plane(const struct sap_mover *a) { return isinf(a->radius); }

static void axis_of(const struct sap_mover *a, int k, double *axis) {
  for (int j = 0; j < 3; ++j) {
    axis[j] = a->axes[3 * j + k];
  }
}

/* Returns max of x . u over the points x of the box, without the radius around it. */
static double reach_along(const struct sap_mover *a, const double *u) {
  double reach = 0.0;
  for (int k = 0; k < 3; ++k) {
    reach += a->half[k] * fabs(a->axes[k] * u[0] + a->axes[3 + k] * u[1] + a->axes[6 + k] * u[2]);
  }
  return reach;
}

/* Returns 1 if the two stay separated by a plane with unit normal n, from a to b, that leaves a
 * gap. Any rotation counts as if x were across its axis: other contacts and limits change rotations
 * within the step. Without this, touching fingers were found too late. */
static int plane_keeps_apart(const struct sap_mover *a, const struct sap_mover *b, double time,
                             double own, const double *n, double gap) {
  if (!(gap > own)) {
    return 0;
  }
  if (gap > a->motion_bound + b->motion_bound) {
    return 1;
  }
  /* the plane moves with the larger geom */
  const int with_a = a->radius >= b->radius;
  const struct sap_mover *base = with_a ? a : b, *other = with_a ? b : a;
  double arm[3], carried[3], turn[3];
  minus(other->centre, base->centre, arm);
  cross(base->turn, arm, carried);
  minus(other->turn, base->turn, turn);
  double v[3];
  for (int j = 0; j < 3; ++j) {
    v[j] = other->velocity[j] - base->velocity[j] - carried[j];
  }
  const double opening = sap_vector_dot(3, n, v);
  const double swing = sqrt(sap_vector_dot(3, turn, turn)) * (other->radius - other->round);
  const double closing = swing - (with_a ? opening : -opening);
  const double left = gap - 2.0 * time * sap_larger(closing, 0.0);
  if (left > time * (a->gain + b->gain)) {
    return 1;
  }
  return left > 0.0 && a->tree >= 0 && a->tree == b->tree &&
         left > time * sap_gain_of(a->fall, sqrt(sap_vector_dot(3, v, v)) + swing);
}

struct pair {
  const struct sap_mover *a, *b;
  double time, own, between[3]; /* vector between the centres, a to b */
  double *apart;                /* gap of the plane found */
};

static int try_plane(const struct pair *pair, const double *n, double gap) {
  *pair->apart = gap;
  return plane_keeps_apart(pair->a, pair->b, pair->time, pair->own, n, gap);
}

/* Tries a normal `n` of any length and sign. */
static int try_normal(const struct pair *pair, const double *n) {
  const double square = sap_vector_dot(3, n, n), along = sap_vector_dot(3, n, pair->between);
  if (square < 1e-6) {
    return 0;
  }
  const double scale = copysign(1.0 / sqrt(square), along);
  const double unit[3] = {scale * n[0], scale * n[1], scale * n[2]};
  const double gap = scale * along - reach_along(pair->a, unit) - reach_along(pair->b, unit) -
                     pair->a->round - pair->b->round;
  return try_plane(pair, unit, gap);
}

/* Tries normals along the axes of both boxes, R = A^T B: along axis i of A the box of B reaches
 * sum_k |R_ik| half_k. */
static int try_faces(const struct pair *pair) {
  const struct sap_mover *a = pair->a, *b = pair->b;
  double reach_of_a[3] = {0.0, 0.0, 0.0}, reach_of_b[3] = {0.0, 0.0, 0.0};
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      const double R = fabs(a->axes[i] * b->axes[k] + a->axes[3 + i] * b->axes[3 + k] +
                            a->axes[6 + i] * b->axes[6 + k]);
      reach_of_b[i] += R * b->half[k];
      reach_of_a[k] += R * a->half[i];
    }
  }
  double along[6], gap[6];
  int widest = 0;
  for (int i = 0; i < 6; ++i) {
    const struct sap_mover *of = i < 3 ? a : b;
    const double *other = i < 3 ? reach_of_b : reach_of_a, *d = pair->between;
    const int k = i % 3;
    along[i] = of->axes[k] * d[0] + of->axes[3 + k] * d[1] + of->axes[6 + k] * d[2];
    gap[i] = fabs(along[i]) - of->half[k] - other[k] - a->round - b->round;
    widest = gap[i] > gap[widest] ? i : widest;
  }
  /* this gap suffices for any velocities: most do, and the widest one serves longest */
  if (gap[widest] > sap_larger(pair->own, a->motion_bound + b->motion_bound)) {
    *pair->apart = gap[widest];
    return 1;
  }
  for (int i = 0; i < 6; ++i) {
    if (gap[i] > pair->own) {
      double n[3];
      axis_of(i < 3 ? a : b, i % 3, n);
      for (int j = 0; j < 3; ++j) {
        n[j] = copysign(1.0, along[i]) * n[j];
      }
      if (try_plane(pair, n, gap[i])) {
        return 1;
      }
    }
  }
  return 0;
}

static int is_round(const struct sap_mover *a) { return a->round > 0.0; }

/* Tries the normal across the axis of a capsule, in the plane of the line of centres. */
static int try_across(const struct pair *pair, const struct sap_mover *capsule) {
  double n[3];
  axis_of(capsule, 2, n);
  const double along = sap_vector_dot(3, n, pair->between);
  for (int j = 0; j < 3; ++j) {
    n[j] = pair->between[j] - along * n[j];
  }
  return try_normal(pair, n);
}

/* Tries other planes than the faces: the line of centres, and across the axes of capsules. */
static int try_round(const struct pair *pair) {
  const struct sap_mover *a = pair->a, *b = pair->b;
  if (!is_round(a) && !is_round(b)) {
    return 0;
  }
  if (try_normal(pair, pair->between) || (is_round(a) && try_across(pair, a)) ||
      (is_round(b) && try_across(pair, b))) {
    return 1;
  }
  if (!is_round(a) || !is_round(b)) {
    return 0;
  }
  double of_a[3], of_b[3], n[3];
  axis_of(a, 2, of_a);
  axis_of(b, 2, of_b);
  cross(of_a, of_b, n);
  return try_normal(pair, n);
}

static int above_plane(const struct sap_mover *plane, const struct sap_mover *b, double time,
                       double own, double *apart) {
  double n[3], between[3];
  axis_of(plane, 2, n);
  minus(b->centre, plane->centre, between);
  *apart = sap_vector_dot(3, n, between) - reach_along(b, n) - b->round;
  return plane_keeps_apart(plane, b, time, own, n, *apart);
}

int sap_movers_stay_apart(const struct sap_mover *a, const struct sap_mover *b, double time,
                          double own, double *gap) {
  if (is_plane(a) || is_plane(b)) {
    return is_plane(a) ? !is_plane(b) && above_plane(a, b, time, own, gap)
                       : above_plane(b, a, time, own, gap);
  }
  struct pair pair = {.a = a, .b = b, .time = time, .own = own, .apart = gap};
  minus(b->centre, a->centre, pair.between);
  const double square = sap_vector_dot(3, pair.between, pair.between);
  const double clear = a->radius + b->radius + sap_larger(own, a->motion_bound + b->motion_bound);
  if (square > clear * clear) {
    *gap = sqrt(square) - a->radius - b->radius;
    return 1;
  }
  return try_faces(&pair) || try_round(&pair);
}
