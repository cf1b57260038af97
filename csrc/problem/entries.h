/* Entries of a row of J that are not zero, where they are few. */
#ifndef SAPWOOD_PROBLEM_ENTRIES_H
#define SAPWOOD_PROBLEM_ENTRIES_H

#include <stdint.h>
#include <string.h>

/* what counts as few: a coupling of two joints has two, a loop of linkages some more */
enum { SAP_FEW_ENTRIES = 8 };

/* how many x (n) has that are not 0, and which; -1 where they are more than a few */
static inline int32_t sap_find_entries(int32_t n, const double *x, int32_t *entry) {
  enum { AT_ONCE = 4 };
  int32_t count = 0;
  for (int32_t i = 0; i < n; i += AT_ONCE) {
    uint64_t bits[AT_ONCE];
    if (i + AT_ONCE <= n) {
      memcpy(bits, x + i, sizeof bits);
      if ((bits[0] | bits[1] | bits[2] | bits[3]) << 1 == 0) { /* zeros of either sign */
        continue;
      }
    }
    for (int32_t k = i; k < n && k < i + AT_ONCE; ++k) {
      if (x[k] != 0) {
        if (count == SAP_FEW_ENTRIES) {
          return -1;
        }
        entry[count++] = k;
      }
    }
  }
  return count;
}

#endif
