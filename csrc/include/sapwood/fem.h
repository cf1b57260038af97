/* This module evaluates finite elements of elastic bodies: linear tetrahedra in large motion.
 *
 * A tetrahedron of reference volume V has the gradients b_a of its four shape functions:
 *
 *     F = sum_a x_a b_a^T,   f_a = -V P b_a,   K_ab,ik = V sum_jl b_aj (dP_ij/dF_kl) b_bl
 *
 * P = dPsi/dF is the first Piola-Kirchhoff stress of the energy density Psi of the model:
 *
 *     linear                mu e:e + lam/2 tr(e)^2,   e = sym(F) - I
 *     linear_corotated      the same of e = sym(R0^T F) - I, R0 a rotation that the caller gives
 *     corotated             mu |F - R|^2 + lam/2 (J - 1)^2,   R the rotation nearest to F
 *     neo_hookean           mu/2 (|F|^2 - 3) + L/2 ((J - 1 - a)^2 - a^2),   L = lam + mu, a = mu/L
 *     st_venant_kirchhoff   mu E:E + lam/2 tr(E)^2,   E = (F^T F - I)/2
 *
 * with mu = Y/(2 (1 + nu)), lam = Y nu/((1 + nu)(1 - 2 nu)) and J = det F. K is the exact Hessian
 * for the first two models, which are convex. For the others the negative eigenvalues of dP/dF are
 * replaced by zero, by the closed eigensystem of isotropic energies (Smith, De Goes and Kim 2019),
 * unless the exact one is asked for. Forces are exact in all models, and finite for tetrahedra that
 * have collapsed or turned over.
 *
 * Systems factor the mass and stiffness of a mesh, with touched vertices last. Boundary faces meet
 * half spaces in contacts.
 *
 * A mesh owns what it needs of its arrays. The caller owns the arrays of results. Nothing here
 * steps in time or solves contact. SI units. Equal inputs give equal bits. */
#ifndef SAPWOOD_FEM_H
#define SAPWOOD_FEM_H

#include "sapwood/geometry.h"
#include "sapwood/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- meshes ---- */

typedef struct fem_mesh fem_mesh;

/* Arrays of a mesh. The mesh owns them, and they never change. A pair is two vertices of one
 * tetrahedron, the lower one first; pairs are sorted. */
typedef struct fem_arrays {
  int32_t n_vertices, n_tetrahedra, n_pairs;
  const double *vertices;     /* (n_vertices, 3) m, reference positions */
  const int32_t *tetrahedra;  /* (n_tetrahedra, 4) of positive volume */
  const double *gradients;    /* (n_tetrahedra, 3, 3) 1/m, rows b_1, b_2, b_3; b_0 = -(sum) */
  const double *volume;       /* (n_tetrahedra) m^3 */
  const int32_t *tetra_pairs; /* (n_tetrahedra, 6) of corners 01, 02, 03, 12, 13, 23 */
  const int32_t *pairs;       /* (n_pairs, 2) */
} fem_arrays;

/* Checks a mesh and copies it. Errors name "vertices" (not finite, or in no tetrahedron) or
 * "tetrahedra" (index out of range, repeated vertex, flat or negative volume), and the row. A mesh
 * is never written to again: threads may share it. */
SAP_API sap_status fem_mesh_create(fem_mesh **mesh, int32_t n_vertices, const double *vertices,
                                   int32_t n_tetrahedra, const int32_t *tetrahedra,
                                   const sap_allocator *allocator, sap_error *error);
SAP_API void fem_mesh_destroy(fem_mesh *mesh); /* NULL is allowed */
SAP_API const fem_arrays *fem_mesh_arrays(const fem_mesh *mesh);

/* Vertices, and the pairs of them that a stiffness couples. */
typedef struct fem_graph {
  int32_t n_vertices, n_pairs;
  const double *vertices; /* (n_vertices, 3) m, reference positions */
  const int32_t *pairs;   /* (n_pairs, 2) different pairs */
} fem_graph;

SAP_API fem_graph fem_mesh_graph(const fem_mesh *mesh);

/* ---- elasticity ---- */

typedef enum fem_model {
  FEM_LINEAR = 0,
  FEM_LINEAR_COROTATED,
  FEM_COROTATED,
  FEM_NEO_HOOKEAN,
  FEM_ST_VENANT_KIRCHHOFF,
  FEM_N_MODELS
} fem_model;

typedef struct fem_material {
  fem_model model;
  double young;   /* > 0: Young's modulus, Pa */
  double poisson; /* Poisson's ratio, in (-1, 0.5) */
} fem_material;

/* Checks a material; the error names the field. */
SAP_API sap_status fem_check_material(const fem_material *material, sap_error *error);

/* Results of an evaluation. Arrays may be NULL, which saves their time. */
typedef struct fem_result {
  double energy;       /* J, the sum over tetrahedra */
  int32_t turned_over; /* number of tetrahedra with det F <= 0 */
  double *force;       /* (n_vertices, 3) N, minus the gradient of the energy */
  double *K;           /* (n_vertices, 3, 3) N/m, diagonal blocks; needs K_pairs */
  double *K_pairs;     /* (n_pairs, 3, 3) N/m, rows of the first vertex of the pair */
  double *energies;    /* (n_tetrahedra) J */
  double *deformation; /* (n_tetrahedra, 3, 3) F */
  double *stress;      /* (n_tetrahedra, 3, 3) Pa, Cauchy stress P F^T/J */
} fem_result;

/* Options of an evaluation. */
typedef enum fem_stiffness {
  FEM_PROJECTED = 0, /* K is positive semidefinite */
  FEM_EXACT          /* K is the Hessian of the energy */
} fem_stiffness;

/* Writes the rotation nearest to F of each tetrahedron, with determinant +1, at the positions x
 * (n_vertices, 3), to rotations (n_tetrahedra, 3, 3). */
SAP_API void fem_find_rotations(const fem_mesh *mesh, const double *x, double *rotations);

/* Evaluates a mesh at the positions x (n_vertices, 3) into *result. Only FEM_LINEAR_COROTATED reads
 * `rotations` (n_tetrahedra, 3, 3), the R0. Returns an error for an invalid material or rotations
 * that are NULL and needed. Allocates nothing. */
SAP_API sap_status fem_evaluate(const fem_mesh *mesh, const fem_material *material, const double *x,
                                const double *rotations, fem_stiffness stiffness,
                                fem_result *result, sap_error *error);

/* ---- flexes ---- */

/* Elasticity by lengths of edges, as MuJoCo's flexes have it:
 *
 *     E = 1/4 sum_elements e^T M e + k/2 sum_edges (L - L0)^2 + 1/2 sum_hinges x^T (B (x) I) x
 *
 * with e = L^2 - L0^2 of the edges of a triangle or a tetrahedron. The vertices of a hinge are the
 * two of the edge between two triangles, then the two across it. M makes an element that of
 * St. Venant and Kirchhoff, and B bends a plate. Damping acts on the changes since the positions a
 * time step ago. With the rates c = damping/dt and r = (damping of edges)/dt
 *
 *     e + c (L^2 - L_last^2),    k (L - L0) + r (L - L_last),    B (x + c (x - x_last))
 *
 * take the places of e, k (L - L0) and B x in the forces.
 *
 * K is positive semidefinite where all M and B are. It leaves out pressure, T < 0, of edges:
 *
 *     K = 2 (1 + c) sum_ab M_ab d_a d_b^T + sum_edges max(T, 0) I + (1 + c) B (x) I
 *
 * for edge vectors d, with signs by the ends, and tensions T = M e (N/m). */
typedef struct fem_flex {
  fem_graph graph; /* the edges are its first pairs */
  int32_t n_edges, n_elements, n_hinges;
  int32_t n_corners;       /* 3: triangles; 4: tetrahedra */
  const int32_t *elements; /* (n_elements, n_corners) vertices */
  /* (n_elements, 3 or 6) edges of corners 12, 20, 01, or 01, 12, 20, 23, 03, 13 */
  const int32_t *element_edges;
  const int32_t *hinges;      /* (n_hinges, 4) vertices */
  const int32_t *hinge_pairs; /* (n_hinges, 6) pairs 01, 02, 03, 12, 13, 23 */
} fem_flex;

/* Checks that indices are in range and that edges and pairs join the vertices of their elements and
 * hinges. Errors name the array and the row. */
SAP_API sap_status fem_check_flex(const fem_flex *flex, sap_error *error);

typedef struct fem_flex_numbers {
  const double
      *stiffness; /* (n_elements, stride) J/m^4, upper triangle of M by rows, then anything */
  int32_t stride;
  const double *bending;      /* (n_hinges, 4, 4) N/m, B */
  const double *rest;         /* (n_edges) m, L0 */
  const double *last_lengths; /* (n_edges) m, L_last */
  const double *last;         /* (n_vertices, 3) m, x_last */
  double edge_stiffness;      /* N/m, k */
  double rate, edge_rate;     /* c, and r in N/m */
} fem_flex_numbers;

/* Writes tensions T (n_edges), N/m, with those of the springs, and forces (n_vertices, 3) at the
 * positions x (n_vertices, 3), and K (n_vertices, 3, 3) and K_pairs (n_pairs, 3, 3) unless they are
 * NULL. */
SAP_API void fem_evaluate_flex(const fem_flex *flex, const fem_flex_numbers *numbers,
                               const double *x, double *tension, double *force, double *K,
                               double *K_pairs);

/* ---- masses ---- */

typedef enum fem_mass {
  FEM_LUMPED = 0, /* rho V/4 at each corner */
  FEM_CONSISTENT, /* rho V/20 (1 + d_ab) */
  FEM_ONE_POINT,  /* rho V/16 for all a, b: singular in each tetrahedron, for comparisons */
  FEM_N_MASSES
} fem_mass;

/* Writes the mass matrix m (x) I of a density (kg/m^3): diagonal (n_vertices) and pairs (n_pairs),
 * in kg. Row sums are the same for all kinds. Errors name "density" or "kind". */
SAP_API sap_status fem_mass_matrix(const fem_mesh *mesh, double density, fem_mass kind,
                                   double *diagonal, double *pairs, sap_error *error);

/* ---- systems ---- */

/* Solves A x = b for a graph, A = c_K K + c_M (m (x) I), with chosen vertices p eliminated last:
 *
 *     S = A_pp - A_pu A_uu^-1 A_up
 *
 * over all other vertices u is the mass that p shows to contact. The others are ordered by nested
 * dissection of their reference positions. Fixed vertices keep x = 0. The arrays of the graph must
 * outlive the system. */
typedef struct fem_system fem_system;

SAP_API sap_status fem_system_create(fem_system **system, const fem_graph *graph,
                                     const sap_allocator *allocator);
SAP_API void fem_system_destroy(fem_system *system); /* NULL is allowed */

/* Chooses the vertices p, ascending, and orders the elimination. The error names "last". */
SAP_API sap_status fem_system_order(fem_system *system, int32_t n_last, const int32_t *last,
                                    sap_error *error);

/* Blocks of A: K and K_pairs as of fem_evaluate() or fem_evaluate_flex(), masses as of
 * fem_mass_matrix(). */
typedef struct fem_blocks {
  double c_K, c_M;
  const double *K, *K_pairs;
  const double *mass, *mass_pairs;
} fem_blocks;

/* Factors A after fem_system_order(), and sets x (n_vertices, 3) <- A^-1 x on the way, unless it is
 * NULL, with 0 for fixed vertices. `fixed` (n_vertices) is 1 for these, or NULL. Returns
 * SAP_NOT_POSITIVE_DEFINITE with the vertex in the error if a pivot is not positive. Allocates
 * nothing. */
SAP_API sap_status fem_system_factor(fem_system *system, const fem_blocks *blocks,
                                     const int8_t *fixed, double *x, sap_error *error);

/* Returns 1 after a factorization that succeeded, until the next order. */
SAP_API int fem_system_is_factored(const fem_system *system);
SAP_API int32_t fem_system_n_last(const fem_system *system);

/* x (n_vertices, 3) <- A^-1 x of a factored system, with 0 for fixed vertices. */
SAP_API void fem_system_solve(const fem_system *system, double *x);

/* Writes x (n_vertices, 3) with given x_last (n_last, 3) at p, and -A_uu^-1 A_up x_p at all other
 * vertices: how they follow a change at p. */
SAP_API void fem_system_extend(const fem_system *system, const double *x_last, double *x);

/* Writes S of a factored system (3 n_last, 3 n_last), row-major, in the order of p. */
SAP_API void fem_system_schur(const fem_system *system, double *S);

/* y (n_vertices, 3) = A x */
SAP_API void fem_multiply_blocks(const fem_graph *graph, const fem_blocks *blocks, const double *x,
                                 double *y);

/* ---- contacts ---- */

/* Faces of the boundary of a mesh. */
typedef struct fem_faces {
  int32_t n;
  const int32_t *corners;    /* (n, 3) vertices, outward by the right hand */
  const int32_t *tetrahedra; /* (n) the tetrahedron behind each face */
} fem_faces;

/* A rigid half space, and the stiffness of the surface that meets it. */
typedef struct fem_half_space {
  double normal[3]; /* out of it, of unit length */
  double offset;    /* m, distance of its surface from the origin along the normal */
  double stiffness; /* Pa/m */
} fem_half_space;

/* A rigid body with a pressure field, and the stiffness of the surface that meets it. */
typedef struct fem_field {
  const geo_shape *shape; /* tetrahedra */
  geo_pose pose;
  double stiffness; /* Pa/m */
  int is_depth;     /* pressures of the shape tell depths alone, in any unit */
} fem_field;

/* Contacts of faces. */
typedef struct fem_contacts {
  int32_t n;
  int32_t *face;    /* (n) */
  int32_t *corners; /* (n, 3) vertices that the contact point moves with */
  double *weights;  /* (n, 3) their shares, which add up to 1 */
  double *points;   /* (n, 3) m, contact points */
  double *normals;  /* (n, 3) into the body of the faces */
  double *k;        /* (n) N/m */
  double *phi0;     /* (n) m, signed distances */
} fem_contacts;

/* Finds the contacts of faces with a half space, at most one for each face by ascending faces, at
 * the positions x (n_vertices, 3). A face is clipped by the plane; its contact is at the centroid
 * of the part below, with k = stiffness times the area as the plane sees it, and phi0 = -depth.
 * Corners with a share below a hundredth do not move it; the corner with the largest share stands
 * in their places. Faces of tetrahedra that are turned over make none. Sets found->n, and fills the
 * arrays unless found->face is NULL: a first call counts. */
SAP_API void fem_contacts_with_plane(const fem_mesh *mesh, const fem_faces *faces, const double *x,
                                     const fem_half_space *plane, fem_contacts *found);

/* A search for contacts of faces, with its memory. One thread may use it at a time. */
typedef struct fem_face_search fem_face_search;

SAP_API sap_status fem_face_search_create(fem_face_search **search, const sap_allocator *allocator);
SAP_API void fem_face_search_destroy(fem_face_search *search); /* NULL is allowed */

/* Finds the contacts of faces with a pressure field, at the positions x (n_vertices, 3): one for
 * each polygon of its surface with the faces (Masterjohn et al. 2021; Drake's rule for deformable
 * bodies). With C the stiffness, s the slope of the pressure p along the normal of the face, and
 * the area of the polygon
 *
 *     g = C s/(C + s),   k = g area,   phi0 = -p/g
 *
 * The pressure of a shape that tells depths alone is C depth, so that k = C area s/|grad p| and
 * phi0 = -p/s, and the contacts of a face become one of the same load, stiffness and torque. Faces
 * of tetrahedra that are turned over make none. The search owns the arrays of *found, which are
 * valid until its next use. It allocates the shape of the faces near the field in each call. Errors
 * name "shape", or "faces" with a face that has no area. */
SAP_API sap_status fem_contacts_with_shape(fem_face_search *search, const fem_mesh *mesh,
                                           const fem_faces *faces, const double *x,
                                           const fem_field *field, fem_contacts *found,
                                           sap_error *error);

/* Tetrahedra that may touch others of their mesh, each in a ball at rest. */
typedef struct fem_balls {
  const int32_t *order; /* (n_tetrahedra) all of them, neighbours close to each other */
  const double *centre; /* (n_tetrahedra, 3) m */
  const double *reach;  /* (n_tetrahedra) m, radii */
} fem_balls;

/* Finds the pairs of tetrahedra whose boxes meet at the positions x (n_vertices, 3), and whose
 * balls are apart at rest. Sets *n_pairs, and writes as many of the pairs (room, 2), the lower
 * number first, as there is room for. Allocates scratch. */
SAP_API sap_status fem_find_far_pairs(const fem_mesh *mesh, const fem_balls *balls, const double *x,
                                      int64_t room, int32_t *pairs, int64_t *n_pairs,
                                      const sap_allocator *allocator);

#ifdef __cplusplus
}
#endif

#endif
