#include "geometry/intersect.h"

/* cos(5 pi/8) */
static const double far_side = -0.38268343236508977;

/* Sine of the angle below which a plane and a face count as parallel: their crossing is round-off
 * divided by that, and is found on the face's edges. */
static const double parallel = 1e-6;

static int on_near_side(struct geo_vec n, struct geo_vec slope, double steepness) {
  return geo_dot(n, slope) > far_side * steepness;
}

/* Returns 1/(1/a + 1/b) without overflow. */
static double in_series(double a, double b) {
  const double soft = fmin(a, b);
  return soft / (1 + soft / fmax(a, b));
}

static double snapped(double s, double round_off) { return fabs(s) <= round_off ? 0 : s; }

/* Does the plane have vertices on both sides? */
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

/* Lowest heights of points over the walls of a cell. If one of them is above `clear`, the points
 * lie beyond that wall, and clipping would leave nothing: most pairs of cells end there. Points are
 * added one by one, as they were written: a load of vectors would have to wait for the stores. */
struct heights {
  double least[4];
};

static const struct heights none_yet = {{INFINITY, INFINITY, INFINITY, INFINITY}};

static void add_point(const struct geo_walls *walls, struct geo_vec x, struct heights *h) {
  for (int k = 0; k < 4; ++k) {
    const double height =
        walls->n.x[k] * x.x + walls->n.y[k] * x.y + walls->n.z[k] * x.z - walls->offset[k];
    h->least[k] = height < h->least[k] ? height : h->least[k];
  }
}

static int is_beyond(const struct heights *h, double clear) {
  return (h->least[0] > clear) | (h->least[1] > clear) | (h->least[2] > clear) |
         (h->least[3] > clear);
}

static int finish(struct geo_face *face) {
  geo_tidy(&face->polygon);
  return face->polygon.n > 0;
}

/* ---- two fields ---- */

/* Clips the plane along a face of b at the edge that the plane's cut through b has there. An edge
 * too short to have a direction is left to the other faces. */
static void clip_along(const struct geo_cut *cut, int wall, double size, struct geo_face *face) {
  for (int k = 0; k < 4 && k < cut->n; ++k) {
    const int next = k + 1 < cut->n ? (k + 1) & 3 : 0;
    if ((cut->edge[k] | cut->edge[next]) == (0xf ^ 1 << wall)) {
      const struct geo_vec start = cut->v[k];
      const struct geo_vec edge = geo_sub(cut->v[next], start);
      const struct geo_vec out = geo_cross(edge, face->n);
      if (geo_norm(edge) > 1e-9 * size) {
        geo_clip(&face->polygon, out, geo_dot(out, start), 1);
      }
    }
  }
}

static void clip_by(const struct geo_four *y, const struct geo_cut *cut,
                    const struct geo_walls *walls, const struct geo_frame *frame,
                    struct geo_face *face) {
  for (int k = 0; k < 4 && face->polygon.n > 0; ++k) {
    const struct geo_vec n = geo_rotate(frame, geo_of_four(&walls->n, k));
    const struct geo_vec across = geo_cross(n, face->n);
    if (geo_dot(across, across) > parallel * parallel) {
      geo_clip(&face->polygon, n, walls->offset[k] + geo_dot(n, frame->t), 1);
    } else {
      const struct geo_vec side = geo_sub(geo_of_four(y, k), geo_of_four(y, (k + 1) & 3));
      clip_along(cut, k, geo_norm(side), face);
    }
  }
}

/* Writes s, p of a minus p of b at the vertices of one of them; values below round-off become 0,
 * and all cells at a vertex agree on them. Does the plane where the fields are equal cut the
 * cell? */
static int differ(const struct geo_four *v, const double *own, const struct geo_field *other,
                  double sign, double round_off, double s[4]) {
  for (int k = 0; k < 4; ++k) {
    const double seen = other->slope.x * v->x[k] + other->slope.y * v->y[k] +
                        other->slope.z * v->z[k] + other->base;
    const double difference = sign * (own[k] - seen);
    s[k] = snapped(difference, round_off);
  }
  return is_split(s);
}

int geo_meet_fields(const struct geo_tetrahedron *a, const struct geo_tetrahedron *b,
                    const struct geo_view *view, struct geo_face *face) {
  const struct geo_frame *frame = &view->frame;
  struct geo_field of_b = {.slope = geo_rotate(frame, b->field.slope)};
  of_b.base = b->field.base - geo_dot(of_b.slope, frame->t);
  double s[4];
  double r[4];
  if (!differ(&a->v, a->p, &of_b, 1, view->round_off, s)) {
    return 0;
  }
  const struct geo_four y = geo_transform_four(frame, &b->v);
  if (!differ(&y, b->p, &a->field, -1, view->round_off, r)) {
    return 0;
  }
  /* two polygons in a plane meet unless an edge of one of them separates them */
  struct geo_cut cut;
  struct geo_cut cut_of_b;
  geo_cut_tetrahedron(&a->v, s, &cut);
  struct heights over_b = none_yet;
  for (int k = 0; k < cut.n; ++k) {
    add_point(&b->walls, geo_transform(&view->back, cut.v[k]), &over_b);
  }
  if (is_beyond(&over_b, view->clear)) {
    return 0;
  }
  geo_cut_tetrahedron(&y, r, &cut_of_b);
  struct heights over_a = none_yet;
  for (int k = 0; k < cut_of_b.n; ++k) {
    add_point(&a->walls, cut_of_b.v[k], &over_a);
  }
  if (is_beyond(&over_a, view->clear)) {
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
  face->steepness = in_series(a->field.steepness, b->field.steepness);
  if (!(face->g_a > far_side * a->field.steepness && face->g_b > far_side * b->field.steepness)) {
    return 0;
  }
  read_cut(&cut, &face->polygon);
  clip_by(&y, &cut_of_b, &b->walls, frame, face);
  return finish(face);
}

/* ---- a field and a rigid surface ---- */

/* Clips first by the face that is most nearly parallel: the corners are then the triangle's own,
 * and both cells at the face see them on opposite sides of it to the last bit. */
static void clip_inside(const struct geo_walls *walls, struct geo_face *face) {
  int first = 0;
  double most = -1;
  for (int k = 0; k < 4; ++k) {
    const double along = fabs(geo_dot(geo_of_four(&walls->n, k), face->n));
    if (along > most) {
      most = along;
      first = k;
    }
  }
  for (int i = 0; i < 4 && face->polygon.n > 0; ++i) {
    const int k = (first + i) & 3;
    geo_clip(&face->polygon, geo_of_four(&walls->n, k), walls->offset[k], walls->owned[k]);
  }
}

static void read_triangle(const struct geo_triangle *b, const struct geo_frame *frame,
                          struct geo_face *face) {
  face->polygon.n = 3;
  for (int k = 0; k < 3; ++k) {
    face->polygon.v[k] = geo_transform(frame, b->v[k]);
  }
}

int geo_meet_triangle(const struct geo_tetrahedron *a, const struct geo_triangle *b,
                      const struct geo_view *view, struct geo_face *face) {
  const struct geo_frame *frame = &view->frame;
  read_triangle(b, frame, face);
  struct heights over_a = none_yet;
  for (int k = 0; k < 3; ++k) {
    add_point(&a->walls, face->polygon.v[k], &over_a);
  }
  if (is_beyond(&over_a, view->clear)) {
    return 0;
  }
  face->n = geo_rotate(frame, b->n);
  if (!on_near_side(face->n, a->field.slope, a->field.steepness)) {
    return 0;
  }
  face->g_a = geo_dot(a->field.slope, face->n);
  face->g_b = INFINITY;
  face->steepness = a->field.steepness;
  clip_inside(&a->walls, face);
  return finish(face);
}

int geo_meet_plane(const struct geo_tetrahedron *a, struct geo_vec n, double offset,
                   double round_off, struct geo_face *face) {
  double s[4];
  for (int k = 0; k < 4; ++k) {
    const double height = n.x * a->v.x[k] + n.y * a->v.y[k] + n.z * a->v.z[k] - offset;
    s[k] = snapped(height, round_off);
  }
  if (!is_split(s)) {
    return 0;
  }
  struct geo_cut cut;
  geo_cut_tetrahedron(&a->v, s, &cut);
  read_cut(&cut, &face->polygon);
  face->n = n;
  face->g_a = geo_dot(a->field.slope, n);
  face->g_b = INFINITY;
  face->steepness = a->field.steepness;
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
  face->steepness = a->field.steepness;
  read_triangle(b, frame, face);
  geo_clip(&face->polygon, (struct geo_vec){0, 0, 1}, a->margin, 1);
  return finish(face);
}
