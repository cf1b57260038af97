#include "step/contacts/body_separation.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"

enum { POSE = 12 };

/* Returns the largest n (n - first) for n <= n_geoms bodies with few enough pairs. All bodies may
 * come after the first that moves, even static ones. */
static size_t most_bounds(const struct sap_body_separation *gaps) {
  const size_t n = (size_t)gaps->n_geoms;
  const size_t all = n * n, few = 2 * SAP_MOST_BODY_PAIRS + 128;
  return all < few ? all : few;
}

void sap_body_separation_carve(struct sap_body_separation *gaps, struct sap_arena *arena) {
  const size_t n = (size_t)gaps->n_geoms;
  gaps->body = sap_arena_take(arena, n, sizeof *gaps->body);
  gaps->reach = sap_arena_take(arena, n, sizeof *gaps->reach);
  gaps->moved = sap_arena_take(arena, n, sizeof *gaps->moved);
  gaps->pose = sap_arena_take(arena, POSE * n, sizeof *gaps->pose);
  gaps->bound = sap_arena_take(arena, most_bounds(gaps), sizeof *gaps->bound);
  gaps->n = gaps->first = 0;
  gaps->are_listed = gaps->are_few = gaps->are_known = 0;
}

void sap_body_separation_forget(struct sap_body_separation *gaps) {
  const ptrdiff_t n_bounds = (ptrdiff_t)gaps->n * (gaps->n - gaps->first);
  memset(gaps->moved, 0, (size_t)gaps->n * sizeof *gaps->moved);
  for (ptrdiff_t i = 0; i < n_bounds; ++i) {
    gaps->bound[i] = -INFINITY;
  }
  gaps->are_known = 0;
}

/* Returns the square of the step, and stores the pose. It sums in pairs, because a chain of twelve
 * sums would be slow. */
static double step_of(double *restrict pose, const double *restrict centre,
                      const double *restrict axes, double reach) {
  double square[POSE];
  for (int k = 0; k < 3; ++k) {
    square[k] = (centre[k] - pose[k]) * (centre[k] - pose[k]);
    pose[k] = centre[k];
  }
  for (int k = 0; k < 9; ++k) {
    square[3 + k] = (axes[k] - pose[3 + k]) * (axes[k] - pose[3 + k]);
    pose[3 + k] = axes[k];
  }
  const double *s = square, *t = square + 3;
  const double turn = ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7])) + t[8];
  return 2.0 * (s[0] + s[1] + s[2]) + turn * reach * reach;
}

void sap_body_separation_follow(struct sap_body_separation *gaps, const double *centre,
                                const double *axes) {
  int is_far = 0;
  for (int32_t i = 0; i < gaps->n; ++i) {
    double step = 0.0;
    for (ptrdiff_t g = gaps->body[i].first; g < gaps->body[i].end; ++g) {
      const double of_geom =
          step_of(gaps->pose + POSE * g, centre + 3 * g, axes + 9 * g, gaps->reach[g]);
      is_far |= !(of_geom < sap_farthest_bound * sap_farthest_bound);
      step = sap_larger(of_geom, step);
    }
    gaps->moved[i] += sqrt(step);
    is_far |= !(gaps->moved[i] < sap_farthest_bound);
  }
  if (is_far || !gaps->are_known) {
    sap_body_separation_forget(gaps);
    gaps->are_known = 1;
  }
}

void sap_body_separation_keep(struct sap_body_separation *gaps, int32_t i, int32_t j, double gap) {
  *sap_body_separation_bound(gaps, i, j) = gap - sap_bound_error + gaps->moved[i] + gaps->moved[j];
}

int64_t sap_body_separation_near(const struct sap_body_separation *gaps, int32_t i,
                                 const double *restrict spent) {
  const int32_t first = sap_first_after(gaps, i), n = gaps->n - first;
  const double *restrict bound = sap_body_separation_bound(gaps, i, first), *restrict of =
                                                                                spent + first;
  const double own = spent[i];
  int64_t near = 0;
  for (int32_t j = 0; j < n; ++j) {
    near += !(bound[j] > own + of[j]);
  }
  return near;
}
