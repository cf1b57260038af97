/* This file finds the surfaces of pairs of shapes: cells that meet, and their faces as contacts. */
#include "sapwood/geometry.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/fail.h"
#include "geometry/intersect.h"
#include "geometry/cell_search.h"
#include "geometry/shape.h"

/* A face below these limits makes no contact. */
static const double least_area = 1e-14;  /* m^2 */
static const double least_slope = 1e-14; /* Pa/m */

/* Arrays of the result. Faces beyond the room are counted but not written, for the next attempt. */
struct arrays {
  int32_t *pair_start, *face_start, *cell_a, *cell_b;
  double *vertices, *vertex_pressure;
  double *area, *centroid, *normal, *p0, *g_a, *g_b, *steepness, *k, *phi0, *load;
  double *force, *torque;
};

struct geo_workspace {
  sap_allocator allocator;
  struct sap_block block;
  struct arrays to;
  const struct geo_search *search;
  int32_t *soft_cells, *other_cells; /* (room_cells) cells of a pair that may meet */
  int64_t room_pairs, room_cells, room_faces, room_vertices;
  int64_t n_faces, n_vertices; /* number found, written if there is room */
};

/* ---- memory ---- */

static void carve(void *context, struct sap_arena *arena) {
  geo_workspace *w = context;
  struct arrays *to = &w->to;
  const size_t pairs = (size_t)w->room_pairs;
  const size_t faces = (size_t)w->room_faces;
  const size_t vertices = (size_t)w->room_vertices;
  to->pair_start = sap_arena_take(arena, pairs + 1, sizeof(int32_t));
  to->face_start = sap_arena_take(arena, faces + 1, sizeof(int32_t));
  to->cell_a = sap_arena_take(arena, faces, sizeof(int32_t));
  to->cell_b = sap_arena_take(arena, faces, sizeof(int32_t));
  to->vertices = sap_arena_take(arena, 3 * vertices, sizeof(double));
  to->vertex_pressure = sap_arena_take(arena, vertices, sizeof(double));
  to->centroid = sap_arena_take(arena, 3 * faces, sizeof(double));
  to->normal = sap_arena_take(arena, 3 * faces, sizeof(double));
  double **const numbers[] = {&to->area,      &to->p0, &to->g_a,  &to->g_b,
                              &to->steepness, &to->k,  &to->phi0, &to->load};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    *numbers[i] = sap_arena_take(arena, faces, sizeof(double));
  }
  to->force = sap_arena_take(arena, 3 * pairs, sizeof(double));
  to->torque = sap_arena_take(arena, 3 * pairs, sizeof(double));
  w->soft_cells = sap_arena_take(arena, (size_t)w->room_cells, sizeof(int32_t));
  w->other_cells = sap_arena_take(arena, (size_t)w->room_cells, sizeof(int32_t));
}

static int64_t grown(int64_t room, int64_t needed) {
  return needed <= room ? room : needed + needed / 2;
}

static int make_room(geo_workspace *w, int64_t pairs, int64_t cells, int64_t faces,
                     int64_t vertices) {
  w->room_pairs = grown(w->room_pairs, pairs);
  w->room_cells = grown(w->room_cells, cells);
  w->room_faces = grown(w->room_faces, faces);
  w->room_vertices = grown(w->room_vertices, vertices);
  if (sap_block_carve(&w->block, carve, w, &w->allocator)) {
    return 1;
  }
  w->room_pairs = w->room_cells = w->room_faces = w->room_vertices = 0;
  return 0;
}

sap_status geo_workspace_create(geo_workspace **work, const sap_allocator *allocator) {
  *work = NULL;
  const sap_allocator memory = sap_allocator_or_default(allocator);
  geo_workspace *w = memory.allocate(sizeof *w, memory.context);
  if (!w) {
    return SAP_OUT_OF_MEMORY;
  }
  *w = (geo_workspace){.allocator = memory, .search = geo_search_best()};
  *work = w;
  return SAP_OK;
}

void geo_workspace_destroy(geo_workspace *work) {
  if (work) {
    const sap_allocator memory = work->allocator;
    sap_block_release(&work->block, &memory);
    memory.release(work, memory.context);
  }
}

/* ---- one face ---- */

/* State of the search for one pair: cells of `soft` and `other`, in the frame of `soft`. */
struct crossing {
  geo_workspace *work;
  const geo_shape *soft, *other;
  struct geo_frame pose; /* soft in the world */
  struct geo_view view;  /* other as seen from soft */
  int swapped;           /* is soft the pair's b? */
  geo_faces faces;
  double *force, *torque; /* (3) force, N, and torque, N m, of the pair */
};

static int32_t cell_number(const geo_shape *shape, int32_t place) {
  return shape->n > 0 ? shape->cell[place] : -1;
}

/* Writes k, phi0 and the load of a face; the first two are 0 without contact. */
static void write_contact(const struct arrays *to, int64_t f) {
  const double g_a = to->g_a[f];
  const double g_b = to->g_b[f];
  const double area = to->area[f];
  const int acts = area > least_area && g_a >= least_slope && g_b >= least_slope;
  /* the softer slope over 1 plus the ratio: no overflow, and infinity is no special case */
  const double soft = fmin(g_a, g_b);
  const double g = soft / (1 + soft / fmax(g_a, g_b));
  to->k[f] = acts ? g * area : 0;
  to->phi0[f] = acts ? -to->p0[f] / g : 0;
  to->load[f] = area * to->p0[f];
}

/* Adds a force at a point of the world. */
static void add_force(const struct crossing *c, struct geo_vec force, struct geo_vec point) {
  geo_write(geo_add(geo_read(c->force), force), c->force);
  geo_write(geo_add(geo_read(c->torque), geo_cross(point, force)), c->torque);
}

static void write_vertices(const struct crossing *c, const struct geo_field *field,
                           const struct geo_polygon *polygon) {
  const geo_workspace *w = c->work;
  const struct arrays *to = &w->to;
  for (int k = 0; k < polygon->n; ++k) {
    const struct geo_vec v = polygon->v[c->swapped ? polygon->n - 1 - k : k];
    const int64_t at = w->n_vertices + k;
    geo_write(geo_transform(&c->pose, v), to->vertices + 3 * at);
    to->vertex_pressure[at] = geo_dot(field->slope, v) + field->base;
  }
}

static void write_face(const struct crossing *c, int32_t i, int32_t j,
                       const struct geo_field *field, const struct geo_face *face) {
  geo_workspace *w = c->work;
  const struct arrays *to = &w->to;
  struct geo_vec centroid;
  const double area = geo_area(&face->polygon, face->n, &centroid);
  if (!(area > 0)) {
    return;
  }
  const int64_t f = w->n_faces++;
  const int64_t end = w->n_vertices + face->polygon.n;
  if (f < w->room_faces && end <= w->room_vertices) {
    const struct geo_vec along = geo_rotate(&c->pose, face->n);
    const struct geo_vec n = c->swapped ? geo_scale(-1, along) : along;
    const struct geo_vec point = geo_transform(&c->pose, centroid);
    to->cell_a[f] = c->swapped ? cell_number(c->other, j) : cell_number(c->soft, i);
    to->cell_b[f] = c->swapped ? cell_number(c->soft, i) : cell_number(c->other, j);
    to->area[f] = area;
    geo_write(point, to->centroid + 3 * f);
    geo_write(n, to->normal + 3 * f);
    to->p0[f] = geo_dot(field->slope, centroid) + field->base;
    to->g_a[f] = c->swapped ? face->g_b : face->g_a;
    to->g_b[f] = c->swapped ? face->g_a : face->g_b;
    to->steepness[f] = face->steepness;
    to->face_start[f + 1] = (int32_t)end;
    write_vertices(c, field, &face->polygon);
    write_contact(to, f);
    add_force(c, geo_scale(to->load[f], n), point);
  }
  w->n_vertices = end;
}

static void write_fan(const struct crossing *c, int32_t i, int32_t j, const struct geo_field *field,
                      const struct geo_face *face) {
  const struct geo_polygon *polygon = &face->polygon;
  struct geo_face part = *face;
  struct geo_vec centroid;
  if (!(geo_area(polygon, face->n, &centroid) > 0)) {
    return;
  }
  part.polygon.n = 3;
  for (int k = 0; k < polygon->n; ++k) {
    part.polygon.v[0] = centroid;
    part.polygon.v[1] = polygon->v[k];
    part.polygon.v[2] = polygon->v[k + 1 < polygon->n ? k + 1 : 0];
    write_face(c, i, j, field, &part);
  }
}

static void write(const struct crossing *c, int32_t i, int32_t j, const struct geo_field *field,
                  const struct geo_face *face) {
  (c->faces == GEO_POLYGONS ? write_face : write_fan)(c, i, j, field, face);
}

/* ---- intersections ---- */

static void meet_cells(const struct crossing *c, int32_t i, int32_t j) {
  const struct geo_tetrahedron *cell = &c->soft->tetrahedra[i];
  struct geo_face face;
  const int is_met = c->other->kind == GEO_TRIANGLES
                         ? geo_meet_triangle(cell, &c->other->triangles[j], &c->view, &face)
                         : geo_meet_fields(cell, &c->other->tetrahedra[j], &c->view, &face);
  if (is_met) {
    write(c, i, j, &cell->field, &face);
  }
}

/* Compares each cell of `soft` near the other mesh with the cells of that mesh. */
static void cross_meshes(const struct crossing *c) {
  const geo_workspace *w = c->work;
  const struct geo_search *search = w->search;
  const geo_shape *other = c->other;
  struct geo_probe probe;
  geo_probe_box(&other->tree.root, &c->view.frame, c->view.clear, &probe);
  const int32_t n_soft = search->find(&c->soft->tree, &probe, w->soft_cells);
  for (int32_t i = 0; i < n_soft; ++i) {
    geo_probe_tetrahedron(&c->soft->tetrahedra[w->soft_cells[i]], &c->view.back, c->view.clear,
                          &probe);
    int32_t n = search->find(&other->tree, &probe, w->other_cells);
    n = other->kind == GEO_TRIANGLES
            ? search->keep_triangles(other->triangles, &probe, n, w->other_cells)
            : search->keep_tetrahedra(other->tetrahedra, &probe, n, w->other_cells);
    for (int32_t j = 0; j < n; ++j) {
      meet_cells(c, w->soft_cells[i], w->other_cells[j]);
    }
  }
}

/* Intersects `soft` with the plane n.x = offset of a rigid half space. */
static void cross_plane(const struct crossing *c, struct geo_vec n, double offset) {
  const geo_workspace *w = c->work;
  struct geo_probe probe;
  struct geo_face face;
  geo_probe_plane(n, offset, 0, &probe);
  const int32_t n_soft = w->search->find(&c->soft->tree, &probe, w->soft_cells);
  for (int32_t k = 0; k < n_soft; ++k) {
    const int32_t i = w->soft_cells[k];
    const struct geo_tetrahedron *cell = &c->soft->tetrahedra[i];
    if (geo_meet_plane(cell, n, offset, c->view.round_off, &face)) {
      write(c, i, 0, &cell->field, &face);
    }
  }
}

/* Intersects the triangles with the surface of a compliant half space, z = margin. */
static void cross_half_space(const struct crossing *c) {
  const geo_workspace *w = c->work;
  const struct geo_frame *frame = &c->view.frame;
  const struct geo_vec up = frame->row[2]; /* normal in the frame of the triangles */
  struct geo_probe probe;
  struct geo_face face;
  geo_probe_plane(up, c->soft->margin - frame->t.z, 1, &probe);
  const int32_t n = w->search->find(&c->other->tree, &probe, w->other_cells);
  for (int32_t k = 0; k < n; ++k) {
    const int32_t j = w->other_cells[k];
    if (geo_meet_half_space(c->soft, &c->other->triangles[j], frame, &face)) {
      write(c, 0, j, &c->soft->field, &face);
    }
  }
}

/* ---- one pair ---- */

static struct geo_frame frame_of(const geo_pose *pose) {
  return (struct geo_frame){{geo_read(pose->R), geo_read(pose->R + 3), geo_read(pose->R + 6)},
                            geo_read(pose->t)};
}

/* A few units in the last place of the largest terms bound the round-off of sums at vertices. */
static const double some_ulp = 16 * 0x1p-53;

/* `clear` of struct geo_view, as a part of the larger shape's size. */
static const double clearance = 1e-6;

static void cross_pair(struct crossing *c) {
  const geo_shape *soft = c->soft;
  const geo_shape *other = c->other;
  const struct geo_frame *frame = &c->view.frame;
  c->view.clear = clearance * fmax(soft->radius, other->radius);
  if (soft->kind == GEO_COMPLIANT_HALF_SPACE) {
    cross_half_space(c);
  } else if (other->kind == GEO_HALF_SPACE) {
    const struct geo_vec n = geo_rotate(frame, (struct geo_vec){0, 0, 1});
    const double offset = geo_dot(n, frame->t);
    c->view.round_off = some_ulp * (soft->radius + fabs(offset));
    cross_plane(c, n, offset);
  } else {
    c->view.round_off = some_ulp * (soft->p_most + other->p_most);
    cross_meshes(c);
  }
}

static int is_rigid(const geo_shape *shape) {
  return shape->kind == GEO_TRIANGLES || shape->kind == GEO_HALF_SPACE;
}

static void find_surface(geo_workspace *w, const geo_pair *pair, geo_faces faces, int32_t index) {
  const struct geo_frame a = frame_of(&pair->pose_a);
  const struct geo_frame b = frame_of(&pair->pose_b);
  const int swapped = is_rigid(pair->a);
  struct crossing c = {.work = w,
                       .soft = swapped ? pair->b : pair->a,
                       .other = swapped ? pair->a : pair->b,
                       .pose = swapped ? b : a,
                       .view = {.frame = swapped ? geo_relative(&b, &a) : geo_relative(&a, &b),
                                .back = swapped ? geo_relative(&a, &b) : geo_relative(&b, &a)},
                       .swapped = swapped,
                       .faces = faces,
                       .force = w->to.force + 3 * (int64_t)index,
                       .torque = w->to.torque + 3 * (int64_t)index};
  cross_pair(&c);
}

/* ---- broad phase ---- */

static int is_space(const geo_shape *shape) {
  return shape->kind == GEO_HALF_SPACE || shape->kind == GEO_COMPLIANT_HALF_SPACE;
}

/* Does the sphere of a mesh reach the half space of the other shape? */
static int reaches(const geo_shape *space, const geo_pose *pose, const geo_shape *mesh,
                   const double *centre) {
  double height = -space->margin - mesh->radius;
  for (int i = 0; i < 3; ++i) {
    height += pose->R[3 * i + 2] * (centre[i] - pose->t[i]);
  }
  return height <= 0;
}

int geo_may_meet(const geo_pair *pair) {
  if (is_space(pair->a)) {
    return is_space(pair->b) || reaches(pair->a, &pair->pose_a, pair->b, pair->pose_b.t);
  }
  if (is_space(pair->b)) {
    return reaches(pair->b, &pair->pose_b, pair->a, pair->pose_a.t);
  }
  const struct geo_vec offset = geo_sub(geo_read(pair->pose_b.t), geo_read(pair->pose_a.t));
  const double reach = pair->a->radius + pair->b->radius;
  return geo_dot(offset, offset) <= reach * reach;
}

/* ---- checks ---- */

/* Is R a rotation, with R R^T = I within 1e-6 and a positive determinant? False with NaN. */
static int is_rotation(const double R[9]) {
  const struct geo_vec row[3] = {geo_read(R), geo_read(R + 3), geo_read(R + 6)};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      if (!(fabs(geo_dot(row[i], row[j]) - (i == j)) <= 1e-6)) {
        return 0;
      }
    }
  }
  return geo_dot(geo_cross(row[0], row[1]), row[2]) > 0;
}

static int is_finite(const double t[3]) {
  return isfinite(t[0]) && isfinite(t[1]) && isfinite(t[2]);
}

static sap_status check_pose(const char *name, int32_t i, const geo_pose *pose, sap_error *error) {
  if (!is_rotation(pose->R)) {
    return sap_invalid(error, name, i, NAN, "R must be a rotation");
  }
  return is_finite(pose->t) ? SAP_OK : sap_invalid(error, name, i, NAN, "t must be finite");
}

sap_status geo_check_pair(const geo_shape *a, const geo_shape *b, int32_t index, sap_error *error) {
  const geo_shape *soft = is_rigid(a) ? b : a;
  const geo_shape *other = is_rigid(a) ? a : b;
  if (is_rigid(soft)) {
    return sap_invalid(error, "pairs", index, NAN, "two rigid shapes have no contact surface");
  }
  const int has_space =
      soft->kind == GEO_COMPLIANT_HALF_SPACE || other->kind == GEO_COMPLIANT_HALF_SPACE;
  if (has_space && other->kind != GEO_TRIANGLES) {
    return sap_invalid(error, "pairs", index, NAN,
                       "a compliant half space meets rigid meshes alone");
  }
  return SAP_OK;
}

static sap_status check_pair(int32_t i, const geo_pair *pair, sap_error *error) {
  sap_status status = geo_check_pair(pair->a, pair->b, i, error);
  if (status == SAP_OK) {
    status = check_pose("pose_a", i, &pair->pose_a, error);
  }
  return status == SAP_OK ? check_pose("pose_b", i, &pair->pose_b, error) : status;
}

/* ---- all pairs ---- */

static void find_all(geo_workspace *w, int32_t n_pairs, const geo_pair *pairs, geo_faces faces) {
  w->n_faces = w->n_vertices = 0;
  w->to.pair_start[0] = w->to.face_start[0] = 0;
  memset(w->to.force, 0, 3 * (size_t)n_pairs * sizeof(double));
  memset(w->to.torque, 0, 3 * (size_t)n_pairs * sizeof(double));
  for (int32_t i = 0; i < n_pairs; ++i) {
    find_surface(w, &pairs[i], faces, i);
    w->to.pair_start[i + 1] = (int32_t)w->n_faces;
  }
}

static void show(const geo_workspace *w, int32_t n_pairs, geo_surfaces *surfaces) {
  const struct arrays *to = &w->to;
  *surfaces = (geo_surfaces){n_pairs,
                             (int32_t)w->n_faces,
                             (int32_t)w->n_vertices,
                             to->pair_start,
                             to->face_start,
                             to->vertices,
                             to->vertex_pressure,
                             to->cell_a,
                             to->cell_b,
                             to->area,
                             to->centroid,
                             to->normal,
                             to->p0,
                             to->g_a,
                             to->g_b,
                             to->steepness,
                             to->k,
                             to->phi0,
                             to->load,
                             to->force,
                             to->torque};
}

sap_status geo_contact_surfaces(geo_workspace *work, int32_t n_pairs, const geo_pair *pairs,
                                geo_faces faces, geo_surfaces *surfaces, sap_error *error) {
  if (n_pairs < 0) {
    return sap_invalid(error, "n_pairs", -1, n_pairs, "must be >= 0");
  }
  for (int32_t i = 0; i < n_pairs; ++i) {
    const sap_status status = check_pair(i, &pairs[i], error);
    if (status != SAP_OK) {
      return status;
    }
  }
  int64_t n_cells = 0;
  for (int32_t i = 0; i < n_pairs; ++i) {
    const int32_t larger = pairs[i].a->n > pairs[i].b->n ? pairs[i].a->n : pairs[i].b->n;
    n_cells = larger > n_cells ? larger : n_cells;
  }
  /* the first attempt has room for a patch or two */
  int64_t n_faces = 256;
  int64_t n_vertices = 1024;
  do {
    if (!make_room(work, n_pairs, n_cells, n_faces, n_vertices)) {
      return SAP_OUT_OF_MEMORY;
    }
    find_all(work, n_pairs, pairs, faces);
    n_faces = work->n_faces;
    n_vertices = work->n_vertices;
    if (n_vertices > INT32_MAX) {
      return sap_invalid(error, "pairs", -1, NAN, "have more than 2^31 vertices on their surfaces");
    }
  } while (n_faces > work->room_faces || n_vertices > work->room_vertices);
  show(work, n_pairs, surfaces);
  return SAP_OK;
}
