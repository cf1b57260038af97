/* Memory: the allocator hook and the arena.
 *
 * An arena is one block, carved by one routine that runs twice: first on an empty arena, which only
 * adds up the bytes, then on the block of that size. The two passes cannot drift apart because they
 * are the same code. Every piece is aligned to a cache line. red_zone.h forbids what lies between.
 *
 * A sap_block is the block behind an arena. It grows by half when it must and never shrinks, so
 * that a simulation stops allocating once it has seen its largest problem. */
#ifndef SAPWOOD_BASE_MEMORY_H
#define SAPWOOD_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/red_zone.h"
#include "sapwood.h"

enum { SAP_ALIGNMENT = 64 };

struct sap_arena {
  unsigned char *base; /* NULL while measuring */
  size_t used;         /* bytes, SIZE_MAX once the sum overflowed */
};

struct sap_block {
  void *raw;           /* what the allocator gave */
  unsigned char *base; /* aligned start, NULL while empty */
  size_t capacity;     /* bytes behind base */
};

/* the hook to use: *given, or malloc and free when given is NULL */
sap_allocator sap_allocator_or_default(const sap_allocator *given);

/* next piece of count * size bytes; NULL while measuring */
static inline void *sap_arena_take(struct sap_arena *arena, size_t count, size_t size) {
  const size_t limit = SIZE_MAX / 4;
  size_t bytes;
  if (arena->used > limit || __builtin_mul_overflow(count, size, &bytes) || bytes > limit) {
    arena->used = SIZE_MAX;
    return NULL;
  }
  unsigned char *piece = arena->base ? arena->base + arena->used : NULL;
  const size_t room = (bytes + SAP_ALIGNMENT - 1) / SAP_ALIGNMENT * SAP_ALIGNMENT + SAP_RED_ZONE;
  arena->used += room;
  if (piece) {
    sap_permit(piece, bytes);
    sap_forbid(piece + bytes, room - bytes);
  }
  return piece;
}

/* makes room for at least `bytes`, forgetting what the block held; 0 when memory ran out */
int sap_block_reserve(struct sap_block *block, size_t bytes, const sap_allocator *allocator);

/* Carves the block by this routine, which is given the context: most often the block is large
 * enough for it, else it grows and is carved again. 0 when memory ran out. */
int sap_block_carve(struct sap_block *block, void (*pieces)(void *context, struct sap_arena *arena),
                    void *context, const sap_allocator *allocator);

/* The same, with zeros in all pieces. */
int sap_block_carve_zeros(struct sap_block *block,
                          void (*pieces)(void *context, struct sap_arena *arena), void *context,
                          const sap_allocator *allocator);

void sap_block_release(struct sap_block *block, const sap_allocator *allocator);

#endif
