#include "geometry/intersect.h"

/* cos(5 pi/8) */
static const double far_side = -0.38268343236508977;

/* sine of the angle below which a plane and a face count as parallel: where they cross is then round-
 * off over that, and is found on the face's edges */
static const double parallel = 1e-6;

static int on_near_side(struct geo_vec n, struct geo_vec slope, double steepness) {
  return geo_dot(n, slope) > far_side * steepness;
}

static double at(const struct geo_field *field, struct geo_vec x) {
  return geo_dot(field->slope, x) + field->base;
}

static double snapped(double s, double round_off) { return fabs(s) <= round_off ? 0 : s; }

/* does a plane that cuts some vertices off leave others? */
static int is_split(const double s[4]) {
  const int positive = (s[0] > 0) + (s[1] > 0) + (s[2] > 0) + (s[3] > 0);
  return positive > 0 && positive < 4;
}

static void read_cut(const struct geo_cut *cut, struct geo_polygon *polygon) {
  polygon->n = cut->n;
  for (int k = 0; k < cut->n; ++k) {
    polygon->v[k] = cut->v[k];
  }
}

static int finish(struct geo_face *face) {
  geo_tidy(&face->polygon);
  return face->polygon.n > 0;
}

/* ---- two fields ---- */

/* The plane along a face of b ends where the plane's cut through b does. An edge too short to have a
 * direction is left to the other faces. */
static void clip_along(const struct geo_cut *cut, int wall, double size, struct geo_face *face) {
  for (int k = 0; k < 4 && k < cut->n; ++k) {
    const int next = k + 1 < cut->n ? (k + 1) & 3 : 0;
    if ((cut->edge[k] | cut->edge[next]) == (0xf ^ 1 << wall)) {
      const struct geo_vec edge = geo_sub(cut->v[next], cut->v[k]);
      const struct geo_vec out = geo_cross(edge, face->n);
      if (geo_norm(edge) > 1e-9 * size) {
        geo_clip(&face->polygon, out, geo_dot(out, cut->v[k]), 1);
      }
    }
  }
}

static void clip_by(const struct geo_vec y[4], const double s[4], const struct geo_walls *walls,
                    const struct geo_frame *frame, struct geo_face *face) {
  struct geo_cut cut = {.n = 0};
  for (int k = 0; k < 4 && face->polygon.n > 0; ++k) {
    const struct geo_vec n = geo_rotate(frame, walls->n[k]);
    const struct geo_vec across = geo_cross(n, face->n);
    if (geo_dot(across, across) > parallel * parallel) {
      geo_clip(&face->polygon, n, walls->offset[k] + geo_dot(n, frame->t), 1);
    } else {
      geo_cut_tetrahedron(y, s, &cut);
      clip_along(&cut, k, geo_norm(geo_sub(y[k], y[(k + 1) & 3])), face);
    }
  }
}

int geo_meet_fields(const struct geo_tetrahedron *a, const struct geo_tetrahedron *b,
                    const struct geo_walls *walls_of_b, const struct geo_frame *frame,
                    double round_off, struct geo_face *face) {
  struct geo_field of_b = {.slope = geo_rotate(frame, b->field.slope)};
  of_b.base = b->field.base - geo_dot(of_b.slope, frame->t);
  double s[4];
  for (int k = 0; k < 4; ++k) {
    s[k] = snapped(a->p[k] - at(&of_b, a->v[k]), round_off);
  }
  if (!is_split(s)) {
    return 0;
  }
  const struct geo_vec difference = geo_sub(a->field.slope, of_b.slope);
  const double steepness = geo_norm(difference);
  if (!(steepness > 0)) {
    return 0;
  }
  face->n = geo_scale(1 / steepness, difference);
  face->g_a = geo_dot(a->field.slope, face->n);
  face->g_b = -geo_dot(of_b.slope, face->n);
  if (!(face->g_a > far_side * a->field.steepness && face->g_b > far_side * b->field.steepness)) {
    return 0;
  }
  /* b must be cut too, by values that all cells of b agree on */
  struct geo_vec y[4];
  double r[4];
  for (int k = 0; k < 4; ++k) {
    y[k] = geo_transform(frame, b->v[k]);
    r[k] = snapped(at(&a->field, y[k]) - b->p[k], round_off);
  }
  if (!is_split(r)) {
    return 0;
  }
  struct geo_cut cut;
  geo_cut_tetrahedron(a->v, s, &cut);
  read_cut(&cut, &face->polygon);
  clip_by(y, r, walls_of_b, frame, face);
  return finish(face);
}

/* ---- a field and a rigid surface ---- */

/* Clipped first by the face that is most nearly parallel: the corners are the triangle's own then,
 * and both cells at the face see them on opposite sides of it to the last bit. */
static void clip_inside(const struct geo_walls *walls, struct geo_face *face) {
  int first = 0;
  double most = -1;
  for (int k = 0; k < 4; ++k) {
    const double along = fabs(geo_dot(walls->n[k], face->n));
    if (along > most) {
      most = along;
      first = k;
    }
  }
  for (int i = 0; i < 4 && face->polygon.n > 0; ++i) {
    const int k = (first + i) & 3;
    geo_clip(&face->polygon, walls->n[k], walls->offset[k], walls->owned[k]);
  }
}

static void read_triangle(const struct geo_triangle *b, const struct geo_frame *frame,
                          struct geo_face *face) {
  face->polygon.n = 3;
  for (int k = 0; k < 3; ++k) {
    face->polygon.v[k] = geo_transform(frame, b->v[k]);
  }
}

int geo_meet_triangle(const struct geo_tetrahedron *a, const struct geo_walls *walls,
                      const struct geo_triangle *b, const struct geo_frame *frame,
                      struct geo_face *face) {
  face->n = geo_rotate(frame, b->n);
  if (!on_near_side(face->n, a->field.slope, a->field.steepness)) {
    return 0;
  }
  face->g_a = geo_dot(a->field.slope, face->n);
  face->g_b = INFINITY;
  read_triangle(b, frame, face);
  clip_inside(walls, face);
  return finish(face);
}

int geo_meet_plane(const struct geo_tetrahedron *a, struct geo_vec n, double offset,
                   double round_off, struct geo_face *face) {
  double s[4];
  for (int k = 0; k < 4; ++k) {
    s[k] = snapped(geo_dot(n, a->v[k]) - offset, round_off);
  }
  if (!is_split(s)) {
    return 0;
  }
  struct geo_cut cut;
  geo_cut_tetrahedron(a->v, s, &cut);
  read_cut(&cut, &face->polygon);
  face->n = n;
  face->g_a = geo_dot(a->field.slope, n);
  face->g_b = INFINITY;
  return finish(face);
}

int geo_meet_half_space(const struct geo_shape *a, const struct geo_triangle *b,
                        const struct geo_frame *frame, struct geo_face *face) {
  face->n = geo_rotate(frame, b->n);
  if (!on_near_side(face->n, a->field.slope, a->field.steepness)) {
    return 0;
  }
  face->g_a = geo_dot(a->field.slope, face->n);
  face->g_b = INFINITY;
  read_triangle(b, frame, face);
  geo_clip(&face->polygon, (struct geo_vec){0, 0, 1}, a->margin, 1);
  return finish(face);
}
