/* Vectors of three, and frames: x -> R x + t. */
#ifndef SAPWOOD_GEOMETRY_VEC3_H
#define SAPWOOD_GEOMETRY_VEC3_H

#include <math.h>

struct geo_vec {
  double x, y, z;
};

static inline struct geo_vec geo_read(const double *x) {
  return (struct geo_vec){x[0], x[1], x[2]};
}

static inline void geo_write(struct geo_vec a, double *x) {
  x[0] = a.x;
  x[1] = a.y;
  x[2] = a.z;
}

static inline struct geo_vec geo_add(struct geo_vec a, struct geo_vec b) {
  return (struct geo_vec){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline struct geo_vec geo_sub(struct geo_vec a, struct geo_vec b) {
  return (struct geo_vec){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline struct geo_vec geo_scale(double s, struct geo_vec a) {
  return (struct geo_vec){s * a.x, s * a.y, s * a.z};
}

/* a + s (b - a) */
static inline struct geo_vec geo_between(struct geo_vec a, struct geo_vec b, double s) {
  return geo_add(a, geo_scale(s, geo_sub(b, a)));
}

static inline double geo_dot(struct geo_vec a, struct geo_vec b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline struct geo_vec geo_cross(struct geo_vec a, struct geo_vec b) {
  return (struct geo_vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline double geo_norm(struct geo_vec a) { return sqrt(geo_dot(a, a)); }

static inline struct geo_vec geo_abs(struct geo_vec a) {
  return (struct geo_vec){fabs(a.x), fabs(a.y), fabs(a.z)};
}

static inline struct geo_vec geo_min(struct geo_vec a, struct geo_vec b) {
  return (struct geo_vec){fmin(a.x, b.x), fmin(a.y, b.y), fmin(a.z, b.z)};
}

static inline struct geo_vec geo_max(struct geo_vec a, struct geo_vec b) {
  return (struct geo_vec){fmax(a.x, b.x), fmax(a.y, b.y), fmax(a.z, b.z)};
}

/* ---- four at once, as compilers make vectors of them ---- */

struct geo_four {
  double x[4], y[4], z[4];
};

static inline struct geo_vec geo_of_four(const struct geo_four *v, int k) {
  return (struct geo_vec){v->x[k], v->y[k], v->z[k]};
}

static inline void geo_to_four(struct geo_vec a, struct geo_four *v, int k) {
  v->x[k] = a.x;
  v->y[k] = a.y;
  v->z[k] = a.z;
}

/* ---- frames ---- */

struct geo_frame {
  struct geo_vec row[3]; /* of R */
  struct geo_vec t;
};

static inline struct geo_vec geo_rotate(const struct geo_frame *f, struct geo_vec a) {
  return (struct geo_vec){geo_dot(f->row[0], a), geo_dot(f->row[1], a), geo_dot(f->row[2], a)};
}

/* R^T a */
static inline struct geo_vec geo_rotate_back(const struct geo_frame *f, struct geo_vec a) {
  return geo_add(geo_add(geo_scale(a.x, f->row[0]), geo_scale(a.y, f->row[1])),
                 geo_scale(a.z, f->row[2]));
}

static inline struct geo_vec geo_transform(const struct geo_frame *f, struct geo_vec a) {
  return geo_add(geo_rotate(f, a), f->t);
}

static inline struct geo_four geo_transform_four(const struct geo_frame *f,
                                                 const struct geo_four *v) {
  struct geo_four moved;
  for (int k = 0; k < 4; ++k) {
    const double x = v->x[k];
    const double y = v->y[k];
    const double z = v->z[k];
    moved.x[k] = f->row[0].x * x + f->row[0].y * y + f->row[0].z * z + f->t.x;
    moved.y[k] = f->row[1].x * x + f->row[1].y * y + f->row[1].z * z + f->t.y;
    moved.z[k] = f->row[2].x * x + f->row[2].y * y + f->row[2].z * z + f->t.z;
  }
  return moved;
}

/* the frame of b as seen from a: a^-1 b */
static inline struct geo_frame geo_relative(const struct geo_frame *a, const struct geo_frame *b) {
  struct geo_frame f = {.t = geo_rotate_back(a, geo_sub(b->t, a->t))};
  const struct geo_vec x = {a->row[0].x, a->row[1].x, a->row[2].x};
  const struct geo_vec y = {a->row[0].y, a->row[1].y, a->row[2].y};
  const struct geo_vec z = {a->row[0].z, a->row[1].z, a->row[2].z};
  f.row[0] = geo_rotate_back(b, x);
  f.row[1] = geo_rotate_back(b, y);
  f.row[2] = geo_rotate_back(b, z);
  return f;
}

#endif
