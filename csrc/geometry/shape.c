#include "geometry/shape.h"

#include <math.h>

#include "base/fail.h"
#include "geometry/shape_check.h"

/* what a shape is being made of, and scratch */
struct making {
  geo_shape *shape;
  const geo_arrays *arrays;
  struct sap_block block;    /* of the scratch */
  struct geo_bounds *bounds; /* (n_cells) of the cells that are used */
  int32_t *order;            /* (n_cells) */
  int32_t *used;             /* (n_cells) their numbers */
  int32_t n;                 /* cells that are used */
};

static const int32_t *tetrahedron(const geo_arrays *a, int32_t i) {
  return a->cells + 4 * (int64_t)i;
}

static const int32_t *triangle(const geo_arrays *a, int32_t i) { return a->cells + 3 * (int64_t)i; }

static struct geo_vec vertex(const geo_arrays *a, int32_t i) {
  return geo_read(a->vertices + 3 * (int64_t)i);
}

/* ---- one cell ---- */

/* p = p_0 + slope.(x - x_0): the slope is the sum of the outward areas of faces, each times what
 * the pressure opposite to it is above p_0, over three times the volume */
static void make_tetrahedron(const geo_arrays *a, int32_t i, struct geo_tetrahedron *t) {
  const int32_t *cell = tetrahedron(a, i);
  for (int k = 0; k < 4; ++k) {
    geo_to_four(vertex(a, cell[k]), &t->v, k);
    t->p[k] = a->pressure[cell[k]];
  }
  const struct geo_vec origin = vertex(a, cell[0]);
  const struct geo_vec e1 = geo_sub(vertex(a, cell[1]), origin);
  const struct geo_vec e2 = geo_sub(vertex(a, cell[2]), origin);
  const struct geo_vec e3 = geo_sub(vertex(a, cell[3]), origin);
  const double volume = geo_dot(geo_cross(e1, e2), e3); /* times 6 */
  struct geo_vec sum = geo_scale(t->p[1] - t->p[0], geo_cross(e2, e3));
  sum = geo_add(sum, geo_scale(t->p[2] - t->p[0], geo_cross(e3, e1)));
  sum = geo_add(sum, geo_scale(t->p[3] - t->p[0], geo_cross(e1, e2)));
  t->field.slope = geo_scale(1 / volume, sum);
  t->field.base = t->p[0] - geo_dot(t->field.slope, origin);
  t->field.steepness = geo_norm(t->field.slope);
}

static int rises(const int32_t *cell, int i, int j) { return cell[i] < cell[j]; }

static void make_walls(const geo_arrays *a, int32_t i, struct geo_walls *walls) {
  const int32_t *cell = tetrahedron(a, i);
  for (int k = 0; k < 4; ++k) {
    /* the other three, by rising number */
    int v[3] = {(k + 1) & 3, (k + 2) & 3, (k + 3) & 3};
    for (int pass = 0; pass < 3; ++pass) {
      const int at = pass & 1;
      if (!rises(cell, v[at], v[at + 1])) {
        const int swapped = v[at];
        v[at] = v[at + 1];
        v[at + 1] = swapped;
      }
    }
    const struct geo_vec x = vertex(a, cell[v[0]]);
    const struct geo_vec cross =
        geo_cross(geo_sub(vertex(a, cell[v[1]]), x), geo_sub(vertex(a, cell[v[2]]), x));
    struct geo_vec n = geo_scale(1 / geo_norm(cross), cross);
    double offset = geo_dot(n, x);
    walls->owned[k] = geo_dot(n, geo_sub(vertex(a, cell[k]), x)) < 0;
    if (!walls->owned[k]) {
      n = geo_scale(-1, n);
      offset = -offset;
    }
    geo_to_four(n, &walls->n, k);
    walls->offset[k] = offset;
  }
}

static void make_triangle(const geo_arrays *a, int32_t i, struct geo_triangle *t) {
  for (int k = 0; k < 3; ++k) {
    t->v[k] = vertex(a, triangle(a, i)[k]);
  }
  const struct geo_vec cross = geo_cross(geo_sub(t->v[1], t->v[0]), geo_sub(t->v[2], t->v[0]));
  t->n = geo_scale(1 / geo_norm(cross), cross);
}

/* ---- all of them ---- */

static void bound(struct making *m, int32_t i, struct geo_bounds *b) {
  const geo_arrays *a = m->arrays;
  const int is_soft = a->kind == GEO_TETRAHEDRA;
  const int32_t *cell = is_soft ? tetrahedron(a, i) : triangle(a, i);
  *b = (struct geo_bounds){vertex(a, cell[0]), vertex(a, cell[0]), -INFINITY, INFINITY};
  for (int k = 1; k < (is_soft ? 4 : 3); ++k) {
    b->low = geo_min(b->low, vertex(a, cell[k]));
    b->high = geo_max(b->high, vertex(a, cell[k]));
  }
  if (is_soft) {
    const double *p = a->pressure;
    b->p_low = fmin(fmin(p[cell[0]], p[cell[1]]), fmin(p[cell[2]], p[cell[3]]));
    b->p_high = fmax(fmax(p[cell[0]], p[cell[1]]), fmax(p[cell[2]], p[cell[3]]));
  }
}

static void find_sizes(struct making *m) {
  geo_shape *s = m->shape;
  for (int32_t i = 0; i < m->arrays->n_vertices; ++i) {
    s->radius = fmax(s->radius, geo_norm(vertex(m->arrays, i)));
    if (s->kind == GEO_TETRAHEDRA) {
      s->p_most = fmax(s->p_most, fabs(m->arrays->pressure[i]));
    }
  }
}

/* the cells with a gradient, with their bounds; ranges of pressure are wider than round-off */
static void select_cells(struct making *m) {
  const double widen = 1e-12 * m->shape->p_most;
  m->n = 0;
  for (int32_t i = 0; i < m->arrays->n_cells; ++i) {
    struct geo_bounds *b = &m->bounds[m->n];
    bound(m, i, b);
    if (b->p_low < b->p_high) {
      b->p_low -= widen;
      b->p_high += widen;
      m->used[m->n++] = i;
    }
  }
}

static sap_status make_cells(struct making *m, sap_error *error) {
  geo_shape *s = m->shape;
  for (int32_t k = 0; k < s->n; ++k) {
    s->cell[k] = m->used[m->order[k]];
    if (s->kind == GEO_TRIANGLES) {
      make_triangle(m->arrays, s->cell[k], &s->triangles[k]);
      continue;
    }
    make_tetrahedron(m->arrays, s->cell[k], &s->tetrahedra[k]);
    make_walls(m->arrays, s->cell[k], &s->tetrahedra[k].walls);
    s->tetrahedra[k].p_low = m->bounds[m->order[k]].p_low;
    s->tetrahedra[k].p_high = m->bounds[m->order[k]].p_high;
    const double steepness = s->tetrahedra[k].field.steepness;
    if (!(steepness < INFINITY)) {
      return sap_invalid(error, "tetrahedra", s->cell[k], steepness,
                         "its pressure gradient (Pa/m) must be finite");
    }
  }
  return SAP_OK;
}

/* ---- memory ---- */

static void carve_scratch(void *context, struct sap_arena *arena) {
  struct making *m = context;
  const size_t n = (size_t)m->arrays->n_cells;
  m->bounds = sap_arena_take(arena, n, sizeof *m->bounds);
  m->order = sap_arena_take(arena, n, sizeof *m->order);
  m->used = sap_arena_take(arena, n, sizeof *m->used);
}

static void carve_shape(void *context, struct sap_arena *arena) {
  geo_shape *s = context;
  const size_t n = (size_t)s->n;
  const int is_soft = s->kind == GEO_TETRAHEDRA;
  s->tetrahedra = sap_arena_take(arena, is_soft ? n : 0, sizeof *s->tetrahedra);
  s->triangles = sap_arena_take(arena, is_soft ? 0 : n, sizeof *s->triangles);
  s->cell = sap_arena_take(arena, n, sizeof *s->cell);
  s->tree.nodes = sap_arena_take(arena, n, sizeof *s->tree.nodes);
}

static sap_status make_mesh(geo_shape *s, const geo_arrays *arrays, sap_error *error) {
  struct making m = {.shape = s, .arrays = arrays};
  if (!sap_block_carve(&m.block, carve_scratch, &m, &s->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  sap_status status = geo_check_twins(arrays, m.order, error);
  if (status == SAP_OK) {
    find_sizes(&m);
    select_cells(&m);
    s->n = m.n;
    status = sap_block_carve(&s->block, carve_shape, s, &s->allocator) ? SAP_OK : SAP_OUT_OF_MEMORY;
  }
  if (status == SAP_OK) {
    geo_tree_build(&s->tree, s->n, m.bounds, 1e-12 * s->radius, m.order);
    status = make_cells(&m, error);
  }
  sap_block_release(&m.block, &s->allocator);
  return status;
}

sap_status geo_shape_create(geo_shape **shape, const geo_arrays *arrays,
                            const sap_allocator *allocator, sap_error *error) {
  *shape = NULL;
  sap_status status = geo_check_arrays(arrays, error);
  if (status != SAP_OK) {
    return status;
  }
  const sap_allocator memory = sap_allocator_or_default(allocator);
  geo_shape *s = memory.allocate(sizeof *s, memory.context);
  if (!s) {
    return SAP_OUT_OF_MEMORY;
  }
  *s = (geo_shape){.allocator = memory, .kind = arrays->kind};
  if (s->kind == GEO_TETRAHEDRA || s->kind == GEO_TRIANGLES) {
    status = make_mesh(s, arrays, error);
  } else if (s->kind == GEO_COMPLIANT_HALF_SPACE) {
    s->margin = arrays->margin;
    s->field = (struct geo_field){{0, 0, -arrays->slope}, 0, arrays->slope};
  }
  if (status != SAP_OK) {
    geo_shape_destroy(s);
    return status;
  }
  *shape = s;
  return SAP_OK;
}

void geo_shape_destroy(geo_shape *shape) {
  if (shape) {
    const sap_allocator memory = shape->allocator;
    sap_block_release(&shape->block, &memory);
    memory.release(shape, memory.context);
  }
}
