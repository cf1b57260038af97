/* Evaluates elasticity by lengths of edges: forces and stiffness of flexes. Matrices are
 * row-major. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "sapwood/fem.h"

/* corners of the edges of an element */
static const int triangle_ends[3][2] = {{1, 2}, {2, 0}, {0, 1}};
static const int tetrahedron_ends[6][2] = {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {0, 3}, {1, 3}};
/* vertices of the pairs of a hinge */
static const int hinge_ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

static int edges_of(const fem_flex *flex) { return flex->n_corners == 4 ? 6 : 3; }

static const int (*ends_of(const fem_flex *flex))[2] {
  return flex->n_corners == 4 ? tetrahedron_ends : triangle_ends;
}

/* ---- checks --------------------------------------------------------------------------------- */

/* A table of vertices, and the pairs between them. */
struct table {
  const char *vertices_name, *pairs_name;
  int32_t n, n_vertices, n_pairs;
  const int32_t *vertices, *pairs;
  const int (*ends)[2];
  int32_t end; /* upper limit of the pairs */
};

static sap_status check_row(const fem_graph *graph, const struct table *t, int32_t row,
                            sap_error *error) {
  const int32_t *vertex = t->vertices + (int64_t)t->n_vertices * row;
  for (int32_t k = 0; k < t->n_vertices; ++k) {
    if (vertex[k] < 0 || vertex[k] >= graph->n_vertices) {
      return sap_invalid(error, t->vertices_name, row, vertex[k],
                         "names a vertex that is not there");
    }
  }
  for (int32_t k = 0; k < t->n_pairs; ++k) {
    const int32_t pair = t->pairs[(int64_t)t->n_pairs * row + k];
    if (pair < 0 || pair >= t->end) {
      return sap_invalid(error, t->pairs_name, row, pair, "names a pair that is not there");
    }
    const int32_t *joined = graph->pairs + 2 * (int64_t)pair;
    const int32_t a = vertex[t->ends[k][0]], b = vertex[t->ends[k][1]];
    if ((joined[0] != a || joined[1] != b) && (joined[0] != b || joined[1] != a)) {
      return sap_invalid(error, t->pairs_name, row, pair, "joins other vertices");
    }
  }
  return SAP_OK;
}

static sap_status check_table(const fem_graph *graph, const struct table *t, sap_error *error) {
  sap_status status = SAP_OK;
  for (int32_t row = 0; row < t->n && status == SAP_OK; ++row) {
    status = check_row(graph, t, row, error);
  }
  return status;
}

sap_status fem_check_flex(const fem_flex *flex, sap_error *error) {
  const fem_graph *graph = &flex->graph;
  if (flex->n_corners != 3 && flex->n_corners != 4) {
    return sap_invalid(error, "elements", -1, flex->n_corners, "must have 3 or 4 corners");
  }
  if (flex->n_edges < 0 || flex->n_edges > graph->n_pairs) {
    return sap_invalid(error, "pairs", -1, flex->n_edges, "must have the edges");
  }
  for (int32_t p = 0; p < graph->n_pairs; ++p) {
    const int32_t a = graph->pairs[2 * (int64_t)p], b = graph->pairs[2 * (int64_t)p + 1];
    if (a < 0 || b < 0 || a >= graph->n_vertices || b >= graph->n_vertices || a == b) {
      return sap_invalid(error, "pairs", p, NAN, "must join two vertices that are there");
    }
  }
  const struct table elements = {"elements",          "element_edges", flex->n_elements,
                                 flex->n_corners,     edges_of(flex),  flex->elements,
                                 flex->element_edges, ends_of(flex),   flex->n_edges};
  const struct table hinges = {"hinges",          "hinge_pairs", flex->n_hinges, 4, 6, flex->hinges,
                               flex->hinge_pairs, hinge_ends,    graph->n_pairs};
  const sap_status status = check_table(graph, &elements, error);
  return status == SAP_OK ? check_table(graph, &hinges, error) : status;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* The outputs of an evaluation. */
struct stiffness {
  const int32_t *pairs;
  double *K, *K_pairs; /* NULL, or both are given */
};

/* Adds the block of vertices a, b, a != b, or its transpose, to a pair. */
static void add_to_pair(const struct stiffness *to, int32_t pair, int32_t a,
                        const double block[9]) {
  double *sum = to->K_pairs + 9 * (int64_t)pair;
  const int transposed = to->pairs[2 * (int64_t)pair] != a;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      sum[3 * i + j] += block[transposed ? 3 * j + i : 3 * i + j];
    }
  }
}

static void add_to_vertex(const struct stiffness *to, int32_t vertex, const double block[9]) {
  double *sum = to->K + 9 * (int64_t)vertex;
  for (int i = 0; i < 9; ++i) {
    sum[i] += block[i];
  }
}

/* Adds s I to a diagonal. */
static void add_scalar(double *block, double s) {
  block[0] += s;
  block[4] += s;
  block[8] += s;
}

/* ---- elements ------------------------------------------------------------------------------- */

/* Returns L^2 of the edge vector d = x_a - x_b. */
static double edge_vector(const double *x, int32_t a, int32_t b, double d[3]) {
  for (int i = 0; i < 3; ++i) {
    d[i] = x[3 * (int64_t)a + i] - x[3 * (int64_t)b + i];
  }
  return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

static void unpack(int n, const double *upper, double M[6][6]) {
  for (int a = 0; a < n; ++a) {
    for (int b = a; b < n; ++b) {
      M[a][b] = M[b][a] = *upper++;
    }
  }
}

/* Adds the blocks 2 (1 + c) sum_ab M_ab d_a d_b^T of an element. */
static void add_element(const fem_flex *flex, int32_t element, double M[6][6], double d[6][3],
                        double scale, const struct stiffness *to) {
  const int n = flex->n_corners, n_edges = edges_of(flex);
  const int (*ends)[2] = ends_of(flex);
  const int32_t *corner = flex->elements + (int64_t)n * element;
  const int32_t *edge = flex->element_edges + (int64_t)n_edges * element;
  double D[4][6][3] = {{{0}}}, MD[4][6][3]; /* edge vectors by corner, with their signs */
  for (int e = 0; e < n_edges; ++e) {
    for (int i = 0; i < 3; ++i) {
      D[ends[e][0]][e][i] = d[e][i];
      D[ends[e][1]][e][i] = -d[e][i];
    }
  }
  for (int p = 0; p < n; ++p) {
    for (int a = 0; a < n_edges; ++a) {
      for (int i = 0; i < 3; ++i) {
        double sum = 0;
        for (int b = 0; b < n_edges; ++b) {
          sum += M[a][b] * D[p][b][i];
        }
        MD[p][a][i] = 2 * scale * sum;
      }
    }
  }
  for (int k = -n; k < n_edges; ++k) { /* corners, then pairs of corners */
    const int p = k < 0 ? n + k : ends[k][0], q = k < 0 ? n + k : ends[k][1];
    double block[9] = {0};
    for (int a = 0; a < n_edges; ++a) {
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
          block[3 * i + j] += D[p][a][i] * MD[q][a][j];
        }
      }
    }
    if (k < 0) {
      add_to_vertex(to, corner[p], block);
    } else {
      add_to_pair(to, edge[k], corner[p], block);
    }
  }
}

static void evaluate_elements(const fem_flex *flex, const fem_flex_numbers *numbers,
                              const double *x, double *tension, const struct stiffness *to) {
  const int n = flex->n_corners, n_edges = edges_of(flex);
  const int (*ends)[2] = ends_of(flex);
  const double c = numbers->rate;
  for (int32_t i = 0; i < flex->n_elements; ++i) {
    const int32_t *corner = flex->elements + (int64_t)n * i;
    const int32_t *edge = flex->element_edges + (int64_t)n_edges * i;
    double M[6][6], d[6][3], e[6];
    unpack(n_edges, numbers->stiffness + (int64_t)numbers->stride * i, M);
    for (int k = 0; k < n_edges; ++k) {
      const double rest = numbers->rest[edge[k]], last = numbers->last_lengths[edge[k]];
      const double square = edge_vector(x, corner[ends[k][0]], corner[ends[k][1]], d[k]);
      e[k] = square - rest * rest + c * (square - last * last);
    }
    for (int a = 0; a < n_edges; ++a) {
      for (int b = 0; b < n_edges; ++b) {
        tension[edge[a]] += M[a][b] * e[b];
      }
    }
    if (to->K) {
      add_element(flex, i, M, d, 1 + c, to);
    }
  }
}

/* ---- edges ---------------------------------------------------------------------------------- */

/* Adds the springs of the edges to the tensions, the forces of the tensions, and their stiffness:
 * that of a spring is (k + r - T) along the edge, above T across it. */
static void evaluate_edges(const fem_flex *flex, const fem_flex_numbers *numbers, const double *x,
                           double *tension, double *force, const struct stiffness *to) {
  const double k = numbers->edge_stiffness, r = numbers->edge_rate;
  for (int32_t e = 0; e < flex->n_edges; ++e) {
    const int32_t a = flex->graph.pairs[2 * (int64_t)e], b = flex->graph.pairs[2 * (int64_t)e + 1];
    double d[3], T = tension[e], along = 0;
    const double square = edge_vector(x, a, b, d), L = sqrt(square);
    if ((k > 0 || r > 0) && L > 0) {
      const double rest = (k * numbers->rest[e] + r * numbers->last_lengths[e]) / L;
      T += k + r - rest;
      along = rest / square;
      tension[e] = T;
    }
    for (int i = 0; i < 3; ++i) {
      force[3 * (int64_t)a + i] -= T * d[i];
      force[3 * (int64_t)b + i] += T * d[i];
    }
    if (to->K) {
      double block[9], minus[9];
      for (int i = 0; i < 9; ++i) {
        block[i] = along * d[i / 3] * d[i % 3];
      }
      add_scalar(block, fmax(T, 0));
      for (int i = 0; i < 9; ++i) {
        minus[i] = -block[i];
      }
      add_to_vertex(to, a, block);
      add_to_vertex(to, b, block);
      add_to_pair(to, e, a, minus);
    }
  }
}

/* ---- hinges --------------------------------------------------------------------------------- */

static void evaluate_hinges(const fem_flex *flex, const fem_flex_numbers *numbers, const double *x,
                            double *force, const struct stiffness *to) {
  const double c = numbers->rate;
  for (int32_t h = 0; h < flex->n_hinges; ++h) {
    const int32_t *vertex = flex->hinges + 4 * (int64_t)h,
                  *pair = flex->hinge_pairs + 6 * (int64_t)h;
    const double *B = numbers->bending + 16 * (int64_t)h;
    for (int p = 0; p < 4; ++p) {
      for (int q = 0; q < 4; ++q) {
        for (int i = 0; i < 3; ++i) {
          const int64_t at = 3 * (int64_t)vertex[q] + i;
          force[3 * (int64_t)vertex[p] + i] -=
              B[4 * p + q] * (x[at] + c * (x[at] - numbers->last[at]));
        }
      }
    }
    for (int p = 0; to->K && p < 4; ++p) {
      add_scalar(to->K + 9 * (int64_t)vertex[p], (1 + c) * B[5 * p]);
    }
    for (int k = 0; to->K && k < 6; ++k) {
      add_scalar(to->K_pairs + 9 * (int64_t)pair[k],
                 (1 + c) * B[4 * hinge_ends[k][0] + hinge_ends[k][1]]);
    }
  }
}

void fem_evaluate_flex(const fem_flex *flex, const fem_flex_numbers *numbers, const double *x,
                       double *tension, double *force, double *K, double *K_pairs) {
  const size_t n = (size_t)flex->graph.n_vertices;
  const struct stiffness to = {.pairs = flex->graph.pairs, .K = K, .K_pairs = K_pairs};
  memset(tension, 0, (size_t)flex->n_edges * sizeof *tension);
  memset(force, 0, 3 * n * sizeof *force);
  if (K) {
    memset(K, 0, 9 * n * sizeof *K);
    memset(K_pairs, 0, 9 * (size_t)flex->graph.n_pairs * sizeof *K_pairs);
  }
  evaluate_elements(flex, numbers, x, tension, &to);
  evaluate_edges(flex, numbers, x, tension, force, &to);
  evaluate_hinges(flex, numbers, x, force, &to);
}
