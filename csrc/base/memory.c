#include "base/memory.h"

#include <stdlib.h>

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

int sap_block_reserve(struct sap_block *block, size_t bytes, const sap_allocator *allocator) {
  if (bytes <= block->capacity && block->base) {
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
  return 1;
}

int sap_block_carve(struct sap_block *block, void (*pieces)(void *context, struct sap_arena *arena),
                    void *context, const sap_allocator *allocator) {
  struct sap_arena arena = {block->base, 0};
  pieces(context, &arena);
  if (block->base && arena.used <= block->capacity) {
    return 1;
  }
  if (!sap_block_reserve(block, arena.used, allocator)) {
    return 0;
  }
  arena = (struct sap_arena){block->base, 0};
  pieces(context, &arena);
  return 1;
}

void sap_block_release(struct sap_block *block, const sap_allocator *allocator) {
  if (block->raw) {
    allocator->release(block->raw, allocator->context);
  }
  *block = (struct sap_block){NULL, NULL, 0};
}
