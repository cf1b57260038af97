#include "step/contacts/separation_bounds.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "step/step_tuning.h"

static size_t followed_size(const struct sap_separation_bounds *gaps) {
  return (size_t)gaps->bodies.n_geoms *
             (SAP_FOLLOWED_NUMBERS * sizeof(double) + SAP_FOLLOWED_INTEGERS * sizeof(int)) +
         SAP_FOLLOWED_BESIDE * sizeof(int);
}

static void carve(void *context, struct sap_arena *arena) {
  struct sap_separation_bounds *gaps = context;
  sap_body_separation_carve(&gaps->bodies, arena);
  gaps->followed = sap_arena_take(arena, followed_size(gaps), 1);
}

struct sap_separation_bounds *sap_separation_bounds_create(int32_t n_geoms,
                                                           const sap_allocator *allocator) {
  struct sap_separation_bounds *gaps = allocator->allocate(sizeof *gaps, allocator->context);
  if (gaps) {
    memset(gaps, 0, sizeof *gaps);
    atomic_init(&gaps->taken, 0);
    gaps->bodies.n_geoms = n_geoms;
    if (!sap_block_carve(&gaps->block, carve, gaps, allocator)) {
      allocator->release(gaps, allocator->context);
      return NULL;
    }
    memset(gaps->followed, 0xff, followed_size(gaps));
  }
  return gaps;
}

void sap_separation_bounds_destroy(struct sap_separation_bounds *gaps,
                                   const sap_allocator *allocator) {
  if (gaps) {
    sap_block_release(&gaps->block, allocator);
    allocator->release(gaps, allocator->context);
  }
}

int sap_separation_bounds_take(struct sap_separation_bounds *gaps) {
  return atomic_exchange_explicit(&gaps->taken, 1, memory_order_acquire) == 0;
}

void sap_separation_bounds_leave(struct sap_separation_bounds *gaps) {
  atomic_store_explicit(&gaps->taken, 0, memory_order_release);
}

int sap_separation_bounds_check(struct sap_separation_bounds *gaps,
                                const struct sap_followed *arrays, int n) {
  unsigned char *kept = gaps->followed;
  int changed = 0;
  for (int i = 0; i < n; ++i) {
    if (arrays[i].size > 0 && memcmp(kept, arrays[i].at, arrays[i].size) != 0) {
      memcpy(kept, arrays[i].at, arrays[i].size);
      changed = 1;
    }
    kept += arrays[i].size;
  }
  if (changed) {
    memset(gaps->gap, 0, sizeof gaps->gap);
  }
  return changed;
}

struct sap_separation_bound *sap_separation_bounds_at(struct sap_separation_bounds *gaps,
                                                      int32_t g1, int32_t g2) {
  const uint32_t first = (uint32_t)g1 * 2654435761u + (uint32_t)g2 * 40503u;
  struct sap_separation_bound *free = NULL;
  for (uint32_t i = 0; i < SAP_BOUND_PLACES; ++i) {
    struct sap_separation_bound *known = gaps->gap + (first + i) % SAP_SEPARATION_BOUNDS;
    if (known->geom[0] == g1 && known->geom[1] == g2) {
      return known;
    }
    if (!free && known->geom[0] == known->geom[1]) {
      free = known;
    }
  }
  return free ? free : gaps->gap + first % SAP_SEPARATION_BOUNDS;
}

struct sap_relative_pose sap_relative_pose_of(const double *p_1, const double *R_1,
                                              const double *p_2, const double *R_2) {
  struct sap_relative_pose pose;
  const double d[3] = {p_2[0] - p_1[0], p_2[1] - p_1[1], p_2[2] - p_1[2]};
  for (int i = 0; i < 3; ++i) {
    pose.p[i] = R_1[i] * d[0] + R_1[3 + i] * d[1] + R_1[6 + i] * d[2];
    for (int j = 0; j < 3; ++j) {
      pose.R[3 * i + j] = R_1[i] * R_2[j] + R_1[3 + i] * R_2[3 + j] + R_1[6 + i] * R_2[6 + j];
    }
  }
  return pose;
}

double sap_separation_bound_change(const struct sap_separation_bound *known, int32_t g1, int32_t g2,
                                   const double *normal, const struct sap_relative_pose *pose,
                                   double radius) {
  double shift = 0.0, square = 0.0, rotated[3] = {0.0, 0.0, 0.0};
  if (known->geom[0] != g1 || known->geom[1] != g2) {
    return INFINITY;
  }
  for (int i = 0; i < 3; ++i) {
    const double n = known->normal[i], d = normal[i] - n;
    square += d * d;
    shift += n * (pose->p[i] - known->pose.p[i]);
    for (int j = 0; j < 3; ++j) {
      rotated[j] += n * (pose->R[3 * i + j] - known->pose.R[3 * i + j]);
    }
  }
  return square > sap_same_normal * sap_same_normal
             ? INFINITY
             : fabs(shift) + sqrt(sap_vector_dot(3, rotated, rotated)) * radius;
}
