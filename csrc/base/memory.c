#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void *default_allocate(size_t bytes, void *context) {
  (void)context;
  return malloc(bytes);
}

static void default_release(void *memory, void *context) {
  (void)context;
  free(memory);
}

sap_allocator sap_allocator_or_default(const sap_allocator *given) {
  if (given) {
    return *given;
  }
  return (sap_allocator){default_allocate, default_release, NULL};
}

/* Permits access to the first `bytes` of the block and forbids the memory around them. */
static void permit_only(const struct sap_block *block, size_t bytes) {
  sap_forbid(block->raw, block->capacity + SAP_ALIGNMENT);
  sap_permit(block->base, bytes);
}

int sap_block_reserve(struct sap_block *block, size_t bytes, const sap_allocator *allocator) {
  if (bytes <= block->capacity && block->base) {
    permit_only(block, bytes);
    return 1;
  }
  if (bytes > SIZE_MAX / 4) {
    return 0;
  }
  size_t capacity = block->capacity + block->capacity / 2;
  if (capacity < bytes) {
    capacity = bytes;
  }
  sap_block_release(block, allocator);
  block->raw = allocator->allocate(capacity + SAP_ALIGNMENT, allocator->context);
  if (!block->raw) {
    return 0;
  }
  const uintptr_t address = (uintptr_t)block->raw;
  const size_t shift = (SAP_ALIGNMENT - address % SAP_ALIGNMENT) % SAP_ALIGNMENT;
  block->base = (unsigned char *)block->raw + shift;
  block->capacity = capacity;
  permit_only(block, bytes);
  return 1;
}

int sap_block_carve(struct sap_block *block, void (*pieces)(void *context, struct sap_arena *arena),
                    void *context, const sap_allocator *allocator) {
  /* red zones are written only into a block that is known to be large enough */
  struct sap_arena arena = {SAP_RED_ZONE > 0 ? NULL : block->base, 0};
  pieces(context, &arena);
  if (arena.base && arena.used <= block->capacity) {
    return 1;
  }
  if (!sap_block_reserve(block, arena.used, allocator)) {
    return 0;
  }
  arena = (struct sap_arena){block->base, 0};
  pieces(context, &arena);
  return 1;
}

int sap_block_carve_zeros(struct sap_block *block,
                          void (*pieces)(void *context, struct sap_arena *arena), void *context,
                          const sap_allocator *allocator) {
  struct sap_arena arena = {NULL, 0};
  pieces(context, &arena);
  if (!sap_block_reserve(block, arena.used, allocator)) {
    return 0;
  }
  memset(block->base, 0, arena.used);
  return sap_block_carve(block, pieces, context, allocator);
}

void sap_block_release(struct sap_block *block, const sap_allocator *allocator) {
  if (block->raw) {
    sap_permit(block->raw, block->capacity + SAP_ALIGNMENT);
    allocator->release(block->raw, allocator->context);
  }
  *block = (struct sap_block){NULL, NULL, 0};
}
