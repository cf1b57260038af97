#include "geometry/shape_check.h"

#include "base/finite.h"
#include "base/fail.h"
#include "geometry/sort.h"
#include "geometry/vec3.h"

/* The tree counts its nodes by int32_t. */
enum { MOST_CELLS = 1 << 29 };

/* Lower limit of the volume over the cube of the longest edge, and of the area over its square.
 * Below it a cell is flat, and its gradient or normal is round-off. */
static const double flat = 1e-12;

static const char *name_cells(geo_kind kind) {
  return kind == GEO_TETRAHEDRA ? "tetrahedra" : "triangles";
}

static int corners(geo_kind kind) { return kind == GEO_TETRAHEDRA ? 4 : 3; }

static const int32_t *cell_of(const geo_arrays *a, int32_t i) {
  return a->cells + (int64_t)i * corners(a->kind);
}

/* ---- one cell ---- */

static sap_status check_vertices(const geo_arrays *a, int32_t i, sap_error *error) {
  const int32_t *cell = cell_of(a, i);
  const int n = corners(a->kind);
  for (int k = 0; k < n; ++k) {
    if (cell[k] < 0 || cell[k] >= a->n_vertices) {
      return sap_invalid(error, name_cells(a->kind), i, cell[k],
                         "names a vertex that is not there");
    }
    for (int other = 0; other < k; ++other) {
      if (cell[k] == cell[other]) {
        return sap_invalid(error, name_cells(a->kind), i, cell[k], "has this vertex twice");
      }
    }
  }
  return SAP_OK;
}

static sap_status check_size(const geo_arrays *a, int32_t i, sap_error *error) {
  const int32_t *cell = cell_of(a, i);
  const int n = corners(a->kind);
  struct geo_vec v[4];
  double longest = 0;
  for (int k = 0; k < n; ++k) {
    v[k] = geo_read(a->vertices + 3 * (int64_t)cell[k]);
    for (int other = 0; other < k; ++other) {
      longest = fmax(longest, geo_norm(geo_sub(v[k], v[other])));
    }
  }
  const struct geo_vec cross = geo_cross(geo_sub(v[1], v[0]), geo_sub(v[2], v[0]));
  if (a->kind == GEO_TRIANGLES) {
    const double area = geo_norm(cross) / 2;
    return area > flat * longest * longest && area < INFINITY
               ? SAP_OK
               : sap_invalid(error, "triangles", i, area, "its area (m^2) must be finite and > 0");
  }
  const double volume = geo_dot(cross, geo_sub(v[3], v[0])) / 6;
  return volume > flat * longest * longest * longest && volume < INFINITY
             ? SAP_OK
             : sap_invalid(error, "tetrahedra", i, volume,
                           "its volume (m^3) must be finite and > 0");
}

/* ---- all of them ---- */

static sap_status check_half_space(const geo_arrays *a, sap_error *error) {
  if (a->kind == GEO_HALF_SPACE) {
    return SAP_OK;
  }
  if (!(a->slope > 0 && a->slope < INFINITY)) {
    return sap_invalid(error, "slope", -1, a->slope, "must be finite and > 0");
  }
  if (!(a->margin >= 0 && a->margin < INFINITY)) {
    return sap_invalid(error, "margin", -1, a->margin, "must be finite and >= 0");
  }
  return SAP_OK;
}

sap_status geo_check_arrays(const geo_arrays *a, sap_error *error) {
  if (a->kind < GEO_TETRAHEDRA || a->kind > GEO_COMPLIANT_HALF_SPACE) {
    return sap_invalid(error, "kind", -1, (double)a->kind, "must be a geo_kind");
  }
  if (a->kind == GEO_HALF_SPACE || a->kind == GEO_COMPLIANT_HALF_SPACE) {
    return check_half_space(a, error);
  }
  if (a->n_cells < 1 || a->n_cells > MOST_CELLS) {
    return sap_invalid(error, name_cells(a->kind), -1, NAN, "must be 1 to 2^29 of them");
  }
  if (a->n_vertices < 1) {
    return sap_invalid(error, "vertices", -1, NAN, "must not be empty");
  }
  sap_status status = sap_check_finite("vertices", 3 * (int64_t)a->n_vertices, a->vertices, error);
  if (status == SAP_OK && a->kind == GEO_TETRAHEDRA) {
    status = sap_check_finite("pressure", a->n_vertices, a->pressure, error);
  }
  for (int32_t i = 0; i < a->n_cells && status == SAP_OK; ++i) {
    status = check_vertices(a, i, error);
    if (status == SAP_OK) {
      status = check_size(a, i, error);
    }
  }
  return status;
}

/* ---- twins ---- */

/* Writes the vertices of a cell in rising order. */
static void read_sorted(const geo_arrays *a, int32_t i, int32_t sorted[4]) {
  const int n = corners(a->kind);
  for (int k = 0; k < n; ++k) {
    const int32_t vertex = cell_of(a, i)[k];
    int at = k;
    for (; at > 0 && sorted[at - 1] > vertex; --at) {
      sorted[at] = sorted[at - 1];
    }
    sorted[at] = vertex;
  }
}

/* Compares the vertices of two cells: -1, 0 or 1. */
static int compare(const geo_arrays *a, int32_t i, int32_t j) {
  int32_t of_i[4], of_j[4];
  read_sorted(a, i, of_i);
  read_sorted(a, j, of_j);
  for (int k = 0; k < corners(a->kind); ++k) {
    if (of_i[k] != of_j[k]) {
      return of_i[k] < of_j[k] ? -1 : 1;
    }
  }
  return 0;
}

static int comes_before(const void *context, int32_t i, int32_t j) {
  const int compared = compare(context, i, j);
  return compared < 0 || (compared == 0 && i < j);
}

sap_status geo_check_twins(const geo_arrays *a, int32_t *order, sap_error *error) {
  for (int32_t i = 0; i < a->n_cells; ++i) {
    order[i] = i;
  }
  geo_sort(a->n_cells, order, comes_before, a);
  for (int32_t k = 1; k < a->n_cells; ++k) {
    if (compare(a, order[k - 1], order[k]) == 0) {
      return sap_invalid(error, name_cells(a->kind), order[k], NAN, "is there twice");
    }
  }
  return SAP_OK;
}
