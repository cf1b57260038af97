/* This module lays red zones: bytes between the pieces of an arena that nobody may read or write.
 *
 * AddressSanitizer knows only the blocks of the allocator: it does not see a write past the end of
 * one piece into the next. Builds with it place pieces SAP_RED_ZONE bytes further apart and forbid
 * these. Other builds have no such bytes, and both functions are empty. */
#ifndef SAPWOOD_BASE_RED_ZONE_H
#define SAPWOOD_BASE_RED_ZONE_H

#include <stddef.h>

#ifdef __SANITIZE_ADDRESS__
#define SAP_HAS_RED_ZONES
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SAP_HAS_RED_ZONES
#endif
#endif

#ifdef SAP_HAS_RED_ZONES

#include <sanitizer/asan_interface.h>

/* bytes: twice the widest vector that a kernel writes, and a multiple of SAP_ALIGNMENT */
enum { SAP_RED_ZONE = 128 };

static inline void sap_forbid(const void *begin, size_t bytes) {
  __asan_poison_memory_region(begin, bytes);
}

static inline void sap_permit(const void *begin, size_t bytes) {
  __asan_unpoison_memory_region(begin, bytes);
}

#else

enum { SAP_RED_ZONE = 0 };

static inline void sap_forbid(const void *begin, size_t bytes) {
  (void)begin;
  (void)bytes;
}

static inline void sap_permit(const void *begin, size_t bytes) {
  (void)begin;
  (void)bytes;
}

#endif
#endif
