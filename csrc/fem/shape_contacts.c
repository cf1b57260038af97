/* This file finds the contacts of boundary faces with the pressure field of a rigid body. The faces
 * near the field become a shape of triangles, which the search of geometry.h takes. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "fem/faces.h"
#include "geometry/shape.h"
#include "sapwood/fem.h"

/* Smaller slopes along the normal of a face make no contact, Pa/m. */
static const double least_slope = 1e-14;

/* Slopes below this part of the gradient are round-off of parallel faces. */
static const double least_share_of_gradient = 1e-8;

/* The contacts of a face in sum. */
struct total {
  double load;           /* N */
  double stiffness;      /* N/m */
  struct geo_vec moment; /* N m, of the load at the contact points */
};

struct fem_face_search {
  sap_allocator memory;
  geo_workspace *work;
  struct sap_block near_block, found_block;
  int32_t n_vertices, n_faces; /* numbers of the mesh */
  /* the faces near the field, and their vertices by numbers of their own */
  int32_t n_near, n_used;
  int32_t *number;      /* (n_vertices) of each vertex, or -1 */
  int32_t *face;        /* (n_faces) ascending */
  int32_t *corners;     /* (n_faces, 3) numbers */
  double *points;       /* (n_vertices, 3) m */
  struct total *totals; /* (n_faces) */
  int32_t room;         /* contacts that fit */
  fem_contacts found;
};

/* What the contacts of a call follow from. */
struct meeting {
  const fem_mesh *mesh;
  const fem_faces *faces;
  const double *x;
  const fem_field *field;
};

/* ---- memory ---- */

sap_status fem_face_search_create(fem_face_search **search, const sap_allocator *allocator) {
  *search = NULL;
  const sap_allocator memory = sap_allocator_or_default(allocator);
  fem_face_search *s = memory.allocate(sizeof *s, memory.context);
  if (!s) {
    return SAP_OUT_OF_MEMORY;
  }
  *s = (fem_face_search){.memory = memory};
  if (geo_workspace_create(&s->work, allocator) != SAP_OK) {
    fem_face_search_destroy(s);
    return SAP_OUT_OF_MEMORY;
  }
  *search = s;
  return SAP_OK;
}

void fem_face_search_destroy(fem_face_search *search) {
  if (search) {
    const sap_allocator memory = search->memory;
    geo_workspace_destroy(search->work);
    sap_block_release(&search->near_block, &memory);
    sap_block_release(&search->found_block, &memory);
    memory.release(search, memory.context);
  }
}

static void carve_near(void *context, struct sap_arena *arena) {
  fem_face_search *s = context;
  const size_t n_vertices = (size_t)s->n_vertices, n_faces = (size_t)s->n_faces;
  s->number = sap_arena_take(arena, n_vertices, sizeof *s->number);
  s->face = sap_arena_take(arena, n_faces, sizeof *s->face);
  s->corners = sap_arena_take(arena, 3 * n_faces, sizeof *s->corners);
  s->points = sap_arena_take(arena, 3 * n_vertices, sizeof *s->points);
  s->totals = sap_arena_take(arena, n_faces, sizeof *s->totals);
}

static void carve_found(void *context, struct sap_arena *arena) {
  fem_face_search *s = context;
  fem_contacts *found = &s->found;
  const size_t n = (size_t)s->room;
  found->face = sap_arena_take(arena, n, sizeof *found->face);
  found->corners = sap_arena_take(arena, 3 * n, sizeof *found->corners);
  found->weights = sap_arena_take(arena, 3 * n, sizeof *found->weights);
  found->points = sap_arena_take(arena, 3 * n, sizeof *found->points);
  found->normals = sap_arena_take(arena, 3 * n, sizeof *found->normals);
  found->k = sap_arena_take(arena, n, sizeof *found->k);
  found->phi0 = sap_arena_take(arena, n, sizeof *found->phi0);
}

/* ---- faces near the field ---- */

/* Does the box of a face, in the frame of the field, meet the box of the field? */
static int is_near(const int32_t corner[3], const double *x, const struct geo_frame *pose,
                   const struct geo_box *box) {
  struct geo_vec low = {INFINITY, INFINITY, INFINITY}, high = {-INFINITY, -INFINITY, -INFINITY};
  for (int k = 0; k < 3; ++k) {
    const struct geo_vec world = geo_read(x + 3 * (int64_t)corner[k]);
    const struct geo_vec local = geo_rotate_back(pose, geo_sub(world, pose->t));
    low = geo_min(low, local);
    high = geo_max(high, local);
  }
  const struct geo_vec least = geo_sub(box->center, box->half);
  const struct geo_vec most = geo_add(box->center, box->half);
  return low.x <= most.x && low.y <= most.y && low.z <= most.z && high.x >= least.x &&
         high.y >= least.y && high.z >= least.z;
}

/* Adds a face, and those of its vertices that are new. */
static void add_near(fem_face_search *s, int32_t face, const int32_t corner[3], const double *x) {
  for (int k = 0; k < 3; ++k) {
    int32_t *number = &s->number[corner[k]];
    if (*number < 0) {
      *number = s->n_used++;
      memcpy(s->points + 3 * (int64_t)*number, x + 3 * (int64_t)corner[k], 3 * sizeof *x);
    }
    s->corners[3 * (int64_t)s->n_near + k] = *number;
  }
  s->face[s->n_near++] = face;
}

/* Lists the faces near the field whose tetrahedra are not turned over. */
static int list_near(fem_face_search *s, const struct meeting *m) {
  const int32_t *tetrahedra = fem_mesh_arrays(m->mesh)->tetrahedra;
  const geo_pose *pose = &m->field->pose;
  const struct geo_frame frame = {{geo_read(pose->R), geo_read(pose->R + 3), geo_read(pose->R + 6)},
                                  geo_read(pose->t)};
  s->n_vertices = fem_mesh_arrays(m->mesh)->n_vertices;
  s->n_faces = m->faces->n;
  s->n_near = s->n_used = 0;
  if (!sap_block_carve(&s->near_block, carve_near, s, &s->memory)) {
    return 0;
  }
  for (int32_t i = 0; i < s->n_vertices; ++i) {
    s->number[i] = -1;
  }
  for (int32_t f = 0; f < m->faces->n; ++f) {
    const int32_t *corner = m->faces->corners + 3 * (int64_t)f;
    if (is_near(corner, m->x, &frame, &m->field->shape->tree.root) &&
        !fem_is_turned_over(tetrahedra + 4 * (int64_t)m->faces->tetrahedra[f], m->x)) {
      add_near(s, f, corner, m->x);
    }
  }
  return 1;
}

/* Finds the surface of the field with the faces near it. An error names the face. */
static sap_status find_surface(fem_face_search *s, const fem_field *field, geo_surfaces *surface,
                               sap_error *error) {
  const geo_arrays arrays = {.kind = GEO_TRIANGLES,
                             .n_vertices = s->n_used,
                             .n_cells = s->n_near,
                             .vertices = s->points,
                             .cells = s->corners};
  geo_shape *skin;
  sap_error fault = {.index = -1};
  sap_status status = geo_shape_create(&skin, &arrays, &s->memory, &fault);
  if (status == SAP_INVALID_ARGUMENT) {
    return sap_invalid(error, "faces", s->face[fault.index], fault.value, fault.rule);
  }
  if (status == SAP_OK) {
    const geo_pair pair = {field->shape, skin, field->pose, {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0}}};
    status = geo_contact_surfaces(s->work, 1, &pair, GEO_POLYGONS, surface, error);
    geo_shape_destroy(skin);
  }
  return status;
}

/* ---- contacts ---- */

/* Writes the shares of the corners in a point of their plane, and the normal into the body. */
static void place_point(const struct geo_vec corner[3], struct geo_vec point, double weights[3],
                        double normal[3]) {
  const struct geo_vec b = geo_sub(corner[1], corner[0]), c = geo_sub(corner[2], corner[0]);
  const struct geo_vec arm = geo_sub(point, corner[0]), area = geo_cross(b, c);
  const double square = geo_dot(area, area);
  weights[1] = geo_dot(geo_cross(arm, c), area) / square;
  weights[2] = geo_dot(geo_cross(b, arm), area) / square;
  weights[0] = 1 - weights[1] - weights[2];
  geo_write(geo_scale(-1 / sqrt(square), area), normal);
}

static void add_contact(fem_contacts *found, const struct meeting *m, int32_t face,
                        struct geo_vec point, double k, double phi0) {
  const int32_t n = found->n++;
  const int32_t *corner = m->faces->corners + 3 * (int64_t)face;
  const int64_t row = 3 * (int64_t)n;
  struct geo_vec x[3];
  for (int i = 0; i < 3; ++i) {
    x[i] = geo_read(m->x + 3 * (int64_t)corner[i]);
  }
  found->face[n] = face;
  memcpy(found->corners + row, corner, 3 * sizeof *corner);
  place_point(x, point, found->weights + row, found->normals + row);
  geo_write(point, found->points + row);
  found->k[n] = k;
  found->phi0[n] = phi0;
}

/* Adds one contact for each face: of the same load, stiffness and torque in sum. */
static void add_merged(fem_face_search *s, const struct meeting *m) {
  for (int32_t i = 0; i < s->n_near; ++i) {
    const struct total *sum = &s->totals[i];
    if (sum->load > 0) { /* a face may just touch */
      add_contact(&s->found, m, s->face[i], geo_scale(1 / sum->load, sum->moment), sum->stiffness,
                  -sum->load / sum->stiffness);
    }
  }
}

/* Adds the contacts of the faces of a surface that have area and slope. */
static void add_contacts(fem_face_search *s, const struct meeting *m, const geo_surfaces *surface) {
  const double C = m->field->stiffness;
  memset(s->totals, 0, (size_t)s->n_near * sizeof *s->totals);
  for (int32_t i = 0; i < surface->n_faces; ++i) {
    const double slope = surface->g_a[i], steep = surface->steepness[i], area = surface->area[i];
    if (!(area >= FEM_LEAST_AREA && slope >= fmax(least_slope, least_share_of_gradient * steep))) {
      continue;
    }
    const struct geo_vec point = geo_read(surface->centroid + 3 * (int64_t)i);
    const int32_t near = surface->cell_b[i];
    if (m->field->is_depth) {
      struct total *sum = &s->totals[near];
      const double load = C / steep * area * surface->p0[i];
      sum->load += load;
      sum->stiffness += C / steep * slope * area;
      sum->moment = geo_add(sum->moment, geo_scale(load, point));
    } else {
      const double g = C * slope / (C + slope);
      add_contact(&s->found, m, s->face[near], point, g * area, -surface->p0[i] / g);
    }
  }
  if (m->field->is_depth) {
    add_merged(s, m);
  }
}

sap_status fem_contacts_with_shape(fem_face_search *search, const fem_mesh *mesh,
                                   const fem_faces *faces, const double *x, const fem_field *field,
                                   fem_contacts *found, sap_error *error) {
  const struct meeting m = {mesh, faces, x, field};
  geo_surfaces surface = {0};
  *found = (fem_contacts){0};
  if (field->shape->kind != GEO_TETRAHEDRA) {
    return sap_invalid(error, "shape", -1, NAN, "must have tetrahedra");
  }
  if (!list_near(search, &m)) {
    return SAP_OUT_OF_MEMORY;
  }
  if (search->n_near == 0) {
    return SAP_OK;
  }
  const sap_status status = find_surface(search, field, &surface, error);
  if (status != SAP_OK) {
    return status;
  }
  search->room = surface.n_faces;
  if (!sap_block_carve(&search->found_block, carve_found, search, &search->memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  search->found.n = 0;
  add_contacts(search, &m, &surface);
  *found = search->found;
  return SAP_OK;
}
