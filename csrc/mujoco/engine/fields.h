/* Fields of MuJoCo's structs by their offsets in bytes. */
#ifndef SAPWOOD_MUJOCO_ENGINE_FIELDS_H
#define SAPWOOD_MUJOCO_ENGINE_FIELDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline int64_t sap_int64_at(const void *base, ptrdiff_t offset) {
  int64_t value;
  memcpy(&value, (const char *)base + offset, sizeof value);
  return value;
}

static inline int sap_int_at(const void *base, ptrdiff_t offset) {
  int value;
  memcpy(&value, (const char *)base + offset, sizeof value);
  return value;
}

static inline double sap_double_at(const void *base, ptrdiff_t offset) {
  double value;
  memcpy(&value, (const char *)base + offset, sizeof value);
  return value;
}

static inline void *sap_pointer_at(const void *base, ptrdiff_t offset) {
  void *value;
  memcpy(&value, (const char *)base + offset, sizeof value);
  return value;
}

#endif
