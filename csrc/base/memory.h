/* This module provides the allocator hook and the arena.
 *
 * An arena is one block, carved by one routine that runs twice: first on an empty arena, which only
 * adds up the bytes, then on the block of that size. The two passes cannot drift apart because they
 * are the same code. Every piece is aligned to a cache line. red_zone.h forbids access to the gaps
 * between them.
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
  void *raw;           /* pointer from the allocator */
  unsigned char *base; /* aligned start, NULL while empty */
  size_t capacity;     /* bytes from base on */
};

/* Returns *given, or malloc and free if given is NULL. */
sap_allocator sap_allocator_or_default(const sap_allocator *given);

/* Returns the next piece of count * size bytes; NULL while measuring. */
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

/* Provides at least `bytes` and forgets the contents of the block; 0 if memory runs out. */
int sap_block_reserve(struct sap_block *block, size_t bytes, const sap_allocator *allocator);

/* Carves the block by the routine `pieces`, which receives the context and must not write to the
 * pieces: a block that is too small grows and is carved again. Returns 0 if memory runs out. */
int sap_block_carve(struct sap_block *block, void (*pieces)(void *context, struct sap_arena *arena),
                    void *context, const sap_allocator *allocator);

/* Carves like sap_block_carve() and fills all pieces with zeros. */
int sap_block_carve_zeros(struct sap_block *block,
                          void (*pieces)(void *context, struct sap_arena *arena), void *context,
                          const sap_allocator *allocator);

void sap_block_release(struct sap_block *block, const sap_allocator *allocator);

#endif
