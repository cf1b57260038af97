/* This file finds the contacts of boundary faces with a half space. */
#include <math.h>
#include <string.h>

#include "fem/faces.h"
#include "sapwood/fem.h"

/* Corners with a smaller share in the velocity of a contact do not move it: otherwise a body that
 * rests on its bottom would have its sides touched too, twice the vertices. */
static const double least_share = 1e-2;

/* ---- vectors ---- */

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double c[3]) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static void subtract(const double a[3], const double b[3], double c[3]) {
  for (int i = 0; i < 3; ++i) {
    c[i] = a[i] - b[i];
  }
}

/* ---- half spaces ---- */

/* Finds the part of a triangle below a plane, of heights h over it: its share of the area, and the
 * barycentric coordinates of its centroid. Returns 0 if no corner is below. */
static int find_part_below(const double h[3], double *share, double weights[3]) {
  const int n_below = (h[0] < 0) + (h[1] < 0) + (h[2] < 0);
  if (n_below == 0 || n_below == 3) {
    *share = 1;
    weights[0] = weights[1] = weights[2] = 1. / 3;
    return n_below > 0;
  }
  /* the corner that is alone on its side, and the triangle that the plane cuts off at it */
  int odd = 0;
  while ((h[odd] < 0) != (n_below == 1)) {
    ++odd;
  }
  const int next = (odd + 1) % 3, last = (odd + 2) % 3;
  const double t = h[odd] / (h[odd] - h[next]), u = h[odd] / (h[odd] - h[last]);
  const double cut = t * u;
  weights[odd] = 1 - (t + u) / 3;
  weights[next] = t / 3;
  weights[last] = u / 3;
  *share = cut;
  if (n_below == 2) {
    *share = 1 - cut;
    for (int i = 0; i < 3; ++i) {
      weights[i] = (1. / 3 - cut * weights[i]) / fmax(1 - cut, 1e-300);
    }
  }
  return 1;
}

/* Leaves out corners with small shares: the corner with the largest one takes their places. */
static void drop_small_shares(int32_t corner[3], double weights[3]) {
  int largest = 0;
  for (int i = 1; i < 3; ++i) {
    largest = weights[i] > weights[largest] ? i : largest;
  }
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    if (weights[i] < least_share) {
      corner[i] = corner[largest];
      weights[i] = 0;
    }
    sum += weights[i];
  }
  for (int i = 0; i < 3; ++i) {
    weights[i] /= sum;
  }
}

/* Writes the point of these vertices and shares. */
static void find_point(const int32_t corner[3], const double weights[3], const double *x,
                       double point[3]) {
  for (int i = 0; i < 3; ++i) {
    point[i] = 0;
    for (int c = 0; c < 3; ++c) {
      point[i] += weights[c] * x[3 * (int64_t)corner[c] + i];
    }
  }
}

/* Appends the contact of a face, if it has one. */
static void add_contact(const int32_t corner[3], const double *x, const fem_half_space *plane,
                        int32_t face, fem_contacts *found) {
  double share, weights[3], point[3], edges[2][3], normal[3], h[3];
  const double *const at[3] = {x + 3 * (int64_t)corner[0], x + 3 * (int64_t)corner[1],
                               x + 3 * (int64_t)corner[2]};
  for (int i = 0; i < 3; ++i) {
    h[i] = dot(at[i], plane->normal) - plane->offset;
  }
  if (!find_part_below(h, &share, weights)) {
    return;
  }
  find_point(corner, weights, x, point);
  subtract(at[1], at[0], edges[0]);
  subtract(at[2], at[0], edges[1]);
  cross(edges[0], edges[1], normal);
  /* area as the plane sees it */
  const double area = -share * dot(normal, plane->normal) / 2;
  const double depth = plane->offset - dot(point, plane->normal);
  if (!(area >= FEM_LEAST_AREA && depth > 0)) {
    return;
  }
  const int32_t n = found->n++;
  if (found->face) {
    int32_t *corners = found->corners + 3 * (int64_t)n;
    memcpy(corners, corner, 3 * sizeof *corner);
    drop_small_shares(corners, weights);
    find_point(corners, weights, x, found->points + 3 * (int64_t)n);
    memcpy(found->weights + 3 * (int64_t)n, weights, sizeof weights);
    memcpy(found->normals + 3 * (int64_t)n, plane->normal, sizeof plane->normal);
    found->face[n] = face;
    found->k[n] = plane->stiffness * area;
    found->phi0[n] = -depth;
  }
}

void fem_contacts_with_plane(const fem_mesh *mesh, const fem_faces *faces, const double *x,
                             const fem_half_space *plane, fem_contacts *found) {
  const int32_t *tetrahedra = fem_mesh_arrays(mesh)->tetrahedra;
  found->n = 0;
  for (int32_t f = 0; f < faces->n; ++f) {
    const int32_t *corner = faces->corners + 3 * (int64_t)f;
    int is_below = 0;
    for (int i = 0; i < 3; ++i) {
      is_below |= dot(x + 3 * (int64_t)corner[i], plane->normal) < plane->offset;
    }
    if (is_below && !fem_is_turned_over(tetrahedra + 4 * (int64_t)faces->tetrahedra[f], x)) {
      add_contact(corner, x, plane, f, found);
    }
  }
}
