/* The memory of a gather: arrays that follow from the forest, carved once, and arrays that grow
 * with the contacts of a step. */
#include <math.h>
#include <string.h>

#include "step/gather.h"

static void carve_fixed(void *context, struct sap_arena *arena) {
  struct sap_gather *gather = context;
  const struct sap_forest *f = gather->forest;
  sap_free_motion_carve(&gather->free_motion, arena);
  gather->v = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  gather->row_motion = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  gather->guess = sap_arena_take(arena, (size_t)f->nv, sizeof(double));
  gather->transposed = sap_arena_take(arena, (size_t)f->nv, SAP_SIX * sizeof(double));
  gather->motion = sap_arena_take(arena, (size_t)f->n_geoms, sizeof(struct sap_motion));
  gather->touched = sap_arena_take(arena, (size_t)f->n_trees, 1);
  gather->islands = sap_arena_take(arena, (size_t)f->n_trees, sizeof *gather->islands);
}

static void carve_listed(struct sap_gather *gather, struct sap_arena *arena, size_t count) {
  gather->contacts = sap_arena_take(arena, count, sizeof(struct sap_listed_contact));
  gather->tree_a = sap_arena_take(arena, count, sizeof(int32_t));
  gather->tree_b = sap_arena_take(arena, count, sizeof(int32_t));
  gather->position = sap_arena_take(arena, count, 3 * sizeof(double));
  gather->frame = sap_arena_take(arena, count, 9 * sizeof(double));
  gather->mu = sap_arena_take(arena, count, sizeof(double));
  gather->phi0 = sap_arena_take(arena, count, sizeof(double));
  gather->k = sap_arena_take(arena, count, sizeof(double));
  gather->tau_d = sap_arena_take(arena, count, sizeof(double));
  gather->slip_ratio = sap_arena_take(arena, count, sizeof(double));
  gather->release = sap_arena_take(arena, count, sizeof(double));
  gather->rebound = sap_arena_take(arena, count, sizeof(double));
  gather->body_w = sap_arena_take(arena, count, 2 * sizeof(double));
  gather->barrier = sap_arena_take(arena, count, sizeof(int8_t));
  gather->delta = sap_arena_take(arena, count, sizeof(double));
  gather->barrier_lambda = sap_arena_take(arena, count, sizeof(double));
  gather->barrier_scale = sap_arena_take(arena, count, sizeof(double));
  gather->R_t = sap_arena_take(arena, count, sizeof(double));
  gather->R_n = sap_arena_take(arena, count, sizeof(double));
  gather->v_hat_n = sap_arena_take(arena, count, sizeof(double));
  gather->v_hat_t = sap_arena_take(arena, count, 2 * sizeof(double));
  gather->friction_bound = sap_arena_take(arena, count, sizeof(double));
  gather->edge_friction = sap_arena_take(arena, count, SAP_FRICTIONS * sizeof(double));
  gather->gamma = sap_arena_take(arena, count, 3 * sizeof(double));
  gather->v_c = sap_arena_take(arena, count, 3 * sizeof(double));
  gather->force = sap_arena_take(arena, count, 3 * sizeof(double));
  gather->regions = sap_arena_take(arena, count, sizeof(int8_t));
  sap_torsional_contacts_carve(&gather->spins, arena, count);
  sap_inactive_carve(&gather->inactive, arena, count);
}

sap_status sap_gather_create(struct sap_gather *gather, const struct sap_forest *forest,
                             const struct sap_elements *elements, const sap_allocator *allocator) {
  memset(gather, 0, sizeof *gather);
  gather->forest = forest;
  gather->open_tau_d = gather->release_speed = INFINITY;
  gather->allocator = sap_allocator_or_default(allocator);
  sap_free_motion_create(&gather->free_motion, forest);

  if (!sap_block_carve_zeros(&gather->fixed, carve_fixed, gather, &gather->allocator)) {
    return SAP_OUT_OF_MEMORY;
  }
  sap_free_motion_prepare(&gather->free_motion);
  for (int32_t g = 0; g < forest->n_geoms; ++g) {
    gather->has_barriers |= forest->barrier && forest->barrier[g] != SAP_BARRIER_NONE;
    gather->motion[g] = sap_motion_of_geom(forest, g);
  }
  return sap_element_gather_create(&gather->elements, elements, forest, allocator);
}

void sap_gather_release(struct sap_gather *gather) {
  sap_patches_release(&gather->patches, &gather->allocator);
  sap_element_gather_release(&gather->elements);
  sap_block_release(&gather->fixed, &gather->allocator);
  sap_block_release(&gather->listed, &gather->allocator);
  sap_block_release(&gather->jacobian, &gather->allocator);
}

/* The arrays are laid out again if there are more contacts than ever before. */
int sap_gather_make_room(struct sap_gather *gather, int32_t count) {
  if (count < gather->room) {
    return 1;
  }
  struct sap_arena arena = {NULL, 0};
  carve_listed(gather, &arena, (size_t)count);
  gather->room = 0;
  if (!sap_block_reserve(&gather->listed, arena.used, &gather->allocator)) {
    return 0;
  }
  arena = (struct sap_arena){gather->listed.base, 0};
  carve_listed(gather, &arena, (size_t)count);
  gather->room = count + 1;
  return 1;
}
