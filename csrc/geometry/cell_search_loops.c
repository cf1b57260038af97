/* compiled once per instruction set */
#include "geometry/lanes.h"
#include "geometry/cell_search.h"

#ifndef SAP_ISA
#define SAP_ISA baseline
#endif
#define TABLE_(isa) geo_search_##isa
#define TABLE(isa) TABLE_(isa)

#define INLINE static inline __attribute__((always_inline))

/* ---- boxes ---- */

/* children `first` and on that meet the probe, a bit for each */
INLINE int near(const struct geo_node *node, int first, const struct geo_probe *p) {
  const geo_lanes x = geo_load(node->center.x + first), reach_x = geo_load(node->half.x + first);
  const geo_lanes y = geo_load(node->center.y + first), reach_y = geo_load(node->half.y + first);
  const geo_lanes z = geo_load(node->center.z + first), reach_z = geo_load(node->half.z + first);
  geo_mask apart = (geo_magnitude(x - p->center.x) > reach_x + p->half.x) |
                   (geo_magnitude(y - p->center.y) > reach_y + p->half.y) |
                   (geo_magnitude(z - p->center.z) > reach_z + p->half.z) |
                   (geo_load(node->p_low + first) > geo_all(p->p_high)) |
                   (geo_load(node->p_high + first) < geo_all(p->p_low));
  if (!geo_open(apart)) {
    return 0;
  }
  for (int k = 0; k < p->n_walls; ++k) {
    const geo_lanes nx = geo_all(p->nx[k]), ny = geo_all(p->ny[k]), nz = geo_all(p->nz[k]);
    const geo_lanes reach =
        geo_magnitude(nx) * reach_x + geo_magnitude(ny) * reach_y + geo_magnitude(nz) * reach_z;
    apart |= nx * x + ny * y + nz * z - reach > geo_all(p->offset[k]);
  }
  return geo_open(apart);
}

/* how many are found with those below this node */
static int32_t descend(const struct geo_node *nodes, int32_t at, const struct geo_probe *probe,
                       int32_t n, int32_t *found) {
  const struct geo_node *node = &nodes[at];
  int close = 0;
  for (int first = 0; first < 4; first += GEO_LANES) {
    close |= near(node, first, probe) << first;
  }
  for (; close; close &= close - 1) {
    const int32_t child = node->child[__builtin_ctz((unsigned)close)];
    if (child >= 0) {
      n = descend(nodes, child, probe, n, found);
    } else if (child != GEO_NO_CHILD) {
      found[n++] = ~child;
    }
  }
  return n;
}

static int32_t find(const struct geo_tree *tree, const struct geo_probe *probe, int32_t *found) {
  return tree->n_nodes > 0 ? descend(tree->nodes, 0, probe, 0, found) : 0;
}

/* ---- cells ---- */

/* four planes n.x = offset */
struct planes {
  const double *nx, *ny, *nz, *offset;
  double clear;
};

INLINE geo_mask beyond(const struct planes *planes, int first, double x, double y, double z) {
  return geo_load(planes->nx + first) * x + geo_load(planes->ny + first) * y +
             geo_load(planes->nz + first) * z >
         geo_load(planes->offset + first) + planes->clear;
}

/* are all corners beyond one and the same plane? */
INLINE int four_beyond(const struct planes *planes, const struct geo_four *v) {
  int open = 0;
  for (int first = 0; first < 4; first += GEO_LANES) {
    geo_mask all = beyond(planes, first, v->x[0], v->y[0], v->z[0]);
    for (int k = 1; k < 4; ++k) {
      all &= beyond(planes, first, v->x[k], v->y[k], v->z[k]);
    }
    open |= geo_open(all) << first;
  }
  return open != 0xf;
}

INLINE int three_beyond(const struct planes *planes, const struct geo_vec *v) {
  int open = 0;
  for (int first = 0; first < 4; first += GEO_LANES) {
    geo_mask all = beyond(planes, first, v[0].x, v[0].y, v[0].z);
    for (int k = 1; k < 3; ++k) {
      all &= beyond(planes, first, v[k].x, v[k].y, v[k].z);
    }
    open |= geo_open(all) << first;
  }
  return open != 0xf;
}

/* are all corners on one side of a triangle's plane? */
INLINE int beside(const struct geo_triangle *t, const struct geo_four *v, double clear) {
  const double offset = geo_dot(t->n, t->v[0]);
  int above = 1;
  int below = 1;
  for (int k = 0; k < 4; ++k) {
    const double height = t->n.x * v->x[k] + t->n.y * v->y[k] + t->n.z * v->z[k] - offset;
    above &= height > clear;
    below &= height < -clear;
  }
  return above | below;
}

static int32_t keep_tetrahedra(const struct geo_tetrahedron *cells, const struct geo_probe *probe,
                               int32_t n, int32_t *found) {
  const struct planes of_probe = {probe->nx, probe->ny, probe->nz, probe->offset, 0};
  int32_t kept = 0;
  for (int32_t i = 0; i < n; ++i) {
    const struct geo_tetrahedron *t = &cells[found[i]];
    const struct planes own = {t->walls.n.x, t->walls.n.y, t->walls.n.z, t->walls.offset,
                               probe->clear};
    found[kept] = found[i];
    kept += !(four_beyond(&of_probe, &t->v) | four_beyond(&own, &probe->v));
  }
  return kept;
}

static int32_t keep_triangles(const struct geo_triangle *cells, const struct geo_probe *probe,
                              int32_t n, int32_t *found) {
  const struct planes of_probe = {probe->nx, probe->ny, probe->nz, probe->offset, 0};
  int32_t kept = 0;
  for (int32_t i = 0; i < n; ++i) {
    const struct geo_triangle *t = &cells[found[i]];
    found[kept] = found[i];
    kept += !(three_beyond(&of_probe, t->v) | beside(t, &probe->v, probe->clear));
  }
  return kept;
}

extern const struct geo_search TABLE(SAP_ISA);
const struct geo_search TABLE(SAP_ISA) = {find, keep_tetrahedra, keep_triangles};
