/* This module finds contact surfaces of pressure fields (Elandt et al. 2019, Masterjohn et al.
 * 2021).
 *
 * A compliant body carries a pressure p = E e(x), zero on its surface and E at its core, linear in
 * each tetrahedron of a mesh. Two bodies meet where their pressures are equal: on polygons, one for
 * each pair of tetrahedra that the surface runs through. A rigid body is a mesh of triangles; it
 * meets a compliant one on its own surface. A half space z <= 0 may be either.
 *
 * Each polygon, of area A, centroid c and normal n (out of B into A), acts as one contact of
 * stiffness k at distance phi0 with its normal -n from A to B:
 *
 *     g = 1/(1/g_A + 1/g_B),   g_A = grad p_A . n,   g_B = -grad p_B . n    (infinite where rigid)
 *     k = g A,   phi0 = -p0/g,   p0 = p(c)
 *
 * With |grad p| in place of g_A and g_B, g becomes G >= g, the steepness: p0/G is the depth of the
 * face in the fields, whatever its normal.
 *
 * It is dropped (k = 0) if A <= 1e-14 m^2 or one of g_A, g_B is below 1e-14 Pa/m. As g becomes
 * small |phi0| grows without bound, while the load A p0 = -k phi0 stays small: the impulse dt (A p0
 * - k (dt + tau_d) v_n) is best computed from `load`, without division by g.
 *
 * A face that two cells share belongs to one of them: a surface that runs along it, exactly or up
 * to round-off, is counted once. This module does not use the solver.
 *
 *     geo_shape *ball, *table;
 *     geo_workspace *work;
 *     geo_surfaces found;
 *     if (geo_shape_create(&ball, &ball_arrays, NULL, &error) == SAP_OK && ... &&
 *         geo_workspace_create(&work, NULL) == SAP_OK &&
 *         geo_contact_surfaces(work, 1, &(geo_pair){ball, table, X_WA, X_WB}, GEO_POLYGONS,
 *                              &found, &error) == SAP_OK) { ... }
 *
 * SI units. Equal inputs give equal bits; the order of faces depends only on the meshes. */
#ifndef SAPWOOD_GEOMETRY_H
#define SAPWOOD_GEOMETRY_H

#include "sapwood/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- shapes ---- */

typedef enum geo_kind {
  GEO_TETRAHEDRA = 0,      /* compliant */
  GEO_TRIANGLES,           /* rigid */
  GEO_HALF_SPACE,          /* rigid, z <= 0 */
  GEO_COMPLIANT_HALF_SPACE /* p = -slope z where z <= margin */
} geo_kind;

/* The arrays of a shape, in its own frame. */
typedef struct geo_arrays {
  geo_kind kind;
  int32_t n_vertices;
  int32_t n_cells;
  const double *vertices; /* (n_vertices, 3) m */
  /* (n_cells, 4) tetrahedra of positive volume, or (n_cells, 3) triangles, outward by the
   * right-hand rule; errors call them "tetrahedra" and "triangles" and give the index of the
   * invalid one */
  const int32_t *cells;
  const double *pressure; /* (n_vertices) Pa, for tetrahedra */
  double slope;           /* > 0: Pa/m, modulus over thickness of a compliant half space */
  double margin;          /* >= 0: m, extra thickness of a compliant half space */
} geo_arrays;

typedef struct geo_shape geo_shape;

/* Checks the arrays and copies the needed parts. Tetrahedra without a gradient make no contact and
 * are left out. A shape is never written to again: threads may share it. */
SAP_API sap_status geo_shape_create(geo_shape **shape, const geo_arrays *arrays,
                                    const sap_allocator *allocator, sap_error *error);
SAP_API void geo_shape_destroy(geo_shape *shape); /* NULL is allowed */

/* Returns SAP_INVALID_ARGUMENT for pair `index` if two shapes have no surface: two rigid ones, or a
 * compliant half space and anything except triangles. `error` may be NULL. */
SAP_API sap_status geo_check_pair(const geo_shape *a, const geo_shape *b, int32_t index,
                                  sap_error *error);

/* ---- surfaces ---- */

/* x_W = R x + t */
typedef struct geo_pose {
  double R[9]; /* rotation, row-major */
  double t[3]; /* m */
} geo_pose;

typedef struct geo_pair {
  const geo_shape *a, *b;
  geo_pose pose_a, pose_b;
} geo_pair;

/* Form of the faces: polygons, or triangles of fans about the polygons' centroids. */
typedef enum geo_faces { GEO_POLYGONS = 0, GEO_TRIANGLE_FANS } geo_faces;

/* The surfaces of all pairs one after the other, in the world's frame. The workspace owns the
 * arrays, which are valid until its next use. */
typedef struct geo_surfaces {
  int32_t n_pairs, n_faces, n_vertices;
  const int32_t *pair_start;      /* (n_pairs + 1) faces of pair i: pair_start[i] <= f < [i + 1] */
  const int32_t *face_start;      /* (n_faces + 1) first vertex of each face */
  const double *vertices;         /* (n_vertices, 3) right-handed about the normal */
  const double *vertex_pressure;  /* (n_vertices) Pa */
  const int32_t *cell_a, *cell_b; /* (n_faces) cell of the face, -1 for a half space */
  const double *area;             /* (n_faces) m^2 */
  const double *centroid;         /* (n_faces, 3) m */
  const double *normal;           /* (n_faces, 3) out of B into A */
  const double *p0;               /* (n_faces) Pa, at the centroid */
  const double *g_a, *g_b;        /* (n_faces) Pa/m, infinite where rigid */
  const double *steepness;        /* (n_faces) Pa/m, G */
  const double *k;                /* (n_faces) N/m; 0 where the face makes no contact */
  const double *phi0;             /* (n_faces) m; 0 where the face makes no contact */
  const double *load;             /* (n_faces) area p0, N */
  /* (n_pairs, 3) on A: the sum of load n over all faces, and its torque about the world's origin */
  const double *force, *torque;
} geo_surfaces;

/* Returns 0 if the spheres about the origins of their frames that hold the two shapes, or a sphere
 * and a half space, are apart: there is no surface. */
SAP_API int geo_may_meet(const geo_pair *pair);

typedef struct geo_workspace geo_workspace;

SAP_API sap_status geo_workspace_create(geo_workspace **work, const sap_allocator *allocator);
SAP_API void geo_workspace_destroy(geo_workspace *work); /* NULL is allowed */

/* Finds the surfaces of all pairs. It allocates nothing if the workspace has held as many pairs,
 * faces and vertices already. Errors: a pose that is no rotation, or those of geo_check_pair(). One
 * workspace may be used by one thread at a time. */
SAP_API sap_status geo_contact_surfaces(geo_workspace *work, int32_t n_pairs, const geo_pair *pairs,
                                        geo_faces faces, geo_surfaces *surfaces, sap_error *error);

#ifdef __cplusplus
}
#endif

#endif
