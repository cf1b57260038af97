#include "fem/mesh.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/finite.h"

/* Lower limit of the volume over the cube of the longest edge. */
static const double flat = 1e-15;

/* corners of the six edges of a tetrahedron */
static const int edges[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

enum { MOST_TETRAHEDRA = 1 << 28 };

/* ---- checks ---- */

static sap_status check_corners(int32_t n_vertices, int32_t i, const int32_t *corner,
                                sap_error *error) {
  for (int k = 0; k < 4; ++k) {
    if (corner[k] < 0 || corner[k] >= n_vertices) {
      return sap_invalid(error, "tetrahedra", i, corner[k], "names a vertex that is not there");
    }
    for (int other = 0; other < k; ++other) {
      if (corner[k] == corner[other]) {
        return sap_invalid(error, "tetrahedra", i, corner[k], "has this vertex twice");
      }
    }
  }
  return SAP_OK;
}

/* Inverts the matrix of the edges into the gradients; the error is a volume that is not > 0. */
static sap_status measure(const fem_mesh *mesh, int32_t i, sap_error *error) {
  const int32_t *corner = mesh->tetrahedra + 4 * (int64_t)i;
  double e[3][3], longest = 0; /* rows X_a - X_0 */
  for (int k = 0; k < 6; ++k) {
    const double *a = mesh->vertices + 3 * (int64_t)corner[edges[k][0]];
    const double *b = mesh->vertices + 3 * (int64_t)corner[edges[k][1]];
    const double x = b[0] - a[0], y = b[1] - a[1], z = b[2] - a[2];
    longest = fmax(longest, sqrt(x * x + y * y + z * z));
    if (k < 3) {
      e[k][0] = x, e[k][1] = y, e[k][2] = z;
    }
  }
  double cross[3][3]; /* row a times e[a] is 6 V */
  for (int a = 0; a < 3; ++a) {
    const double *u = e[(a + 1) % 3], *v = e[(a + 2) % 3];
    for (int j = 0; j < 3; ++j) {
      const int k = (j + 1) % 3, l = (j + 2) % 3;
      cross[a][j] = u[k] * v[l] - u[l] * v[k];
    }
  }
  const double six = cross[0][0] * e[0][0] + cross[0][1] * e[0][1] + cross[0][2] * e[0][2];
  if (!(fabs(six) / 6 > flat * longest * longest * longest)) {
    return sap_invalid(error, "tetrahedra", i, six / 6, "is flat: its volume (m^3) must not be 0");
  }
  if (six < 0) {
    return sap_invalid(error, "tetrahedra", i, six / 6,
                       "its volume (m^3) must be > 0: swap two of its vertices");
  }
  mesh->volume[i] = six / 6;
  for (int a = 0; a < 3; ++a) {
    for (int j = 0; j < 3; ++j) {
      const double gradient = cross[a][j] / six;
      if (!isfinite(gradient)) {
        return sap_invalid(error, "tetrahedra", i, six / 6, "its size must be of normal range");
      }
      mesh->gradients[9 * (int64_t)i + 3 * a + j] = gradient;
    }
  }
  return SAP_OK;
}

static sap_status check(int32_t n_vertices, const double *vertices, int32_t n_tetrahedra,
                        const int32_t *tetrahedra, sap_error *error) {
  if (n_vertices < 1) {
    return sap_invalid(error, "vertices", -1, NAN, "must not be empty");
  }
  if (n_tetrahedra < 1 || n_tetrahedra > MOST_TETRAHEDRA) {
    return sap_invalid(error, "tetrahedra", -1, NAN, "must be 1 to 2^28 of them");
  }
  const int64_t wrong = sap_first_non_finite(3 * (int64_t)n_vertices, vertices);
  if (wrong >= 0) {
    return sap_invalid(error, "vertices", wrong / 3, NAN, "must be finite");
  }
  sap_status status = SAP_OK;
  for (int32_t i = 0; i < n_tetrahedra && status == SAP_OK; ++i) {
    status = check_corners(n_vertices, i, tetrahedra + 4 * (int64_t)i, error);
  }
  return status;
}

/* ---- pairs ---- */

/* Scratch of the search for pairs. */
struct listing {
  const int32_t *tetrahedra;
  int64_t n_edges;
  int32_t n_vertices;
  int64_t *start; /* (n_vertices + 1) */
  int64_t *edge;  /* (n_edges) 6 i + k, in the end by lower vertex, then by higher */
  int64_t *other; /* (n_edges) */
};

static void carve_listing(void *context, struct sap_arena *arena) {
  struct listing *l = context;
  l->start = sap_arena_take(arena, (size_t)l->n_vertices + 1, sizeof *l->start);
  l->edge = sap_arena_take(arena, (size_t)l->n_edges, sizeof *l->edge);
  l->other = sap_arena_take(arena, (size_t)l->n_edges, sizeof *l->other);
}

/* Returns the lower or the higher vertex of an edge. */
static int32_t end_of(const int32_t *tetrahedra, int64_t edge, int higher) {
  const int32_t *corner = tetrahedra + 4 * (edge / 6);
  const int32_t a = corner[edges[edge % 6][0]], b = corner[edges[edge % 6][1]];
  return (a > b) == higher ? a : b;
}

/* Sorts `from` by one end of the edges, and keeps the order of equal ones (counting sort). */
static void sort_by_end(struct listing *l, int higher, const int64_t *from, int64_t *to) {
  memset(l->start, 0, ((size_t)l->n_vertices + 1) * sizeof *l->start);
  for (int64_t e = 0; e < l->n_edges; ++e) {
    l->start[end_of(l->tetrahedra, e, higher) + 1]++;
  }
  for (int32_t v = 0; v < l->n_vertices; ++v) {
    l->start[v + 1] += l->start[v];
  }
  for (int64_t k = 0; k < l->n_edges; ++k) {
    to[l->start[end_of(l->tetrahedra, from[k], higher)]++] = from[k];
  }
}

static void sort_edges(struct listing *l) {
  for (int64_t e = 0; e < l->n_edges; ++e) {
    l->edge[e] = e;
  }
  sort_by_end(l, 1, l->edge, l->other);
  sort_by_end(l, 0, l->other, l->edge);
}

/* Numbers the different edges in their order, and returns their number; `pairs` and `tetra_pairs`
 * may be NULL. */
static int64_t number_pairs(const struct listing *l, int32_t *pairs, int32_t *tetra_pairs) {
  int64_t n = 0;
  int32_t last_low = -1, last_high = -1;
  for (int64_t k = 0; k < l->n_edges; ++k) {
    const int32_t low = end_of(l->tetrahedra, l->edge[k], 0);
    const int32_t high = end_of(l->tetrahedra, l->edge[k], 1);
    n += low != last_low || high != last_high;
    last_low = low;
    last_high = high;
    if (pairs) {
      pairs[2 * n - 2] = low;
      pairs[2 * n - 1] = high;
      tetra_pairs[l->edge[k]] = (int32_t)(n - 1);
    }
  }
  return n;
}

static sap_status check_used(fem_mesh *mesh, sap_error *error) {
  int32_t *used = mesh->pairs; /* is overwritten later, and has room: a vertex has two pairs */
  const fem_arrays *a = &mesh->arrays;
  memset(used, 0, (size_t)a->n_vertices * sizeof *used);
  for (int64_t k = 0; k < 4 * (int64_t)a->n_tetrahedra; ++k) {
    used[mesh->tetrahedra[k]] = 1;
  }
  for (int32_t v = 0; v < a->n_vertices; ++v) {
    if (!used[v]) {
      return sap_invalid(error, "vertices", v, NAN, "must be in a tetrahedron");
    }
  }
  return SAP_OK;
}

/* ---- memory ---- */

static void carve_mesh(void *context, struct sap_arena *arena) {
  fem_mesh *m = context;
  fem_arrays *a = &m->arrays;
  const size_t n = (size_t)a->n_vertices, cells = (size_t)a->n_tetrahedra;
  const size_t pairs = 2 * (size_t)a->n_pairs;
  a->vertices = m->vertices = sap_arena_take(arena, 3 * n, sizeof(double));
  a->tetrahedra = m->tetrahedra = sap_arena_take(arena, 4 * cells, sizeof(int32_t));
  a->gradients = m->gradients = sap_arena_take(arena, 9 * cells, sizeof(double));
  a->volume = m->volume = sap_arena_take(arena, cells, sizeof(double));
  a->tetra_pairs = m->tetra_pairs = sap_arena_take(arena, 6 * cells, sizeof(int32_t));
  a->pairs = m->pairs = sap_arena_take(arena, pairs > n ? pairs : n, sizeof(int32_t));
}

static sap_status fill(fem_mesh *m, const double *vertices, const int32_t *tetrahedra,
                       struct listing *l, sap_error *error) {
  sort_edges(l);
  const int64_t n_pairs = number_pairs(l, NULL, NULL);
  if (n_pairs > INT32_MAX) {
    return sap_invalid(error, "tetrahedra", -1, NAN, "have more than 2^31 edges");
  }
  m->arrays.n_pairs = (int32_t)n_pairs;
  if (!sap_block_carve(&m->block, carve_mesh, m, &m->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  memcpy(m->vertices, vertices, 3 * (size_t)m->arrays.n_vertices * sizeof *vertices);
  memcpy(m->tetrahedra, tetrahedra, 4 * (size_t)m->arrays.n_tetrahedra * sizeof *tetrahedra);
  sap_status status = check_used(m, error);
  for (int32_t i = 0; i < m->arrays.n_tetrahedra && status == SAP_OK; ++i) {
    status = measure(m, i, error);
  }
  number_pairs(l, m->pairs, m->tetra_pairs);
  return status;
}

sap_status fem_mesh_create(fem_mesh **mesh, int32_t n_vertices, const double *vertices,
                           int32_t n_tetrahedra, const int32_t *tetrahedra,
                           const sap_allocator *allocator, sap_error *error) {
  *mesh = NULL;
  sap_status status = check(n_vertices, vertices, n_tetrahedra, tetrahedra, error);
  if (status != SAP_OK) {
    return status;
  }
  const sap_allocator memory = sap_allocator_or_default(allocator);
  fem_mesh *m = memory.allocate(sizeof *m, memory.context);
  if (!m) {
    return SAP_OUT_OF_MEMORY;
  }
  *m = (fem_mesh){.allocator = memory};
  m->arrays.n_vertices = n_vertices;
  m->arrays.n_tetrahedra = n_tetrahedra;
  struct listing l = {.tetrahedra = tetrahedra,
                      .n_edges = 6 * (int64_t)n_tetrahedra,
                      .n_vertices = n_vertices,
                      .start = NULL,
                      .edge = NULL,
                      .other = NULL};
  struct sap_block scratch = {0};
  status = sap_block_carve(&scratch, carve_listing, &l, &memory)
               ? fill(m, vertices, tetrahedra, &l, error)
               : SAP_OUT_OF_MEMORY;
  sap_block_release(&scratch, &memory);
  if (status != SAP_OK) {
    fem_mesh_destroy(m);
    return status;
  }
  *mesh = m;
  return SAP_OK;
}

void fem_mesh_destroy(fem_mesh *mesh) {
  if (mesh) {
    const sap_allocator memory = mesh->allocator;
    sap_block_release(&mesh->block, &memory);
    memory.release(mesh, memory.context);
  }
}

const fem_arrays *fem_mesh_arrays(const fem_mesh *mesh) { return &mesh->arrays; }

fem_graph fem_mesh_graph(const fem_mesh *mesh) {
  return (fem_graph){.n_vertices = mesh->arrays.n_vertices,
                     .n_pairs = mesh->arrays.n_pairs,
                     .vertices = mesh->arrays.vertices,
                     .pairs = mesh->arrays.pairs};
}
