#include "problem/graph/branches.h"

void sap_branches_find(int32_t n, double *A, int32_t *parent) {
  for (int32_t i = n - 1; i >= 0; --i) {
    const double *row = A + (int64_t)i * n;
    parent[i] = -1;
    for (int32_t j = i - 1; j >= 0; --j) {
      if (row[j] == 0) {
        continue;
      }
      if (parent[i] < 0) {
        parent[i] = j;
      } else {
        A[(int64_t)parent[i] * n + j] = row[j];
      }
    }
  }
}

int64_t sap_branches_broken(int32_t n, const int32_t *parent, const double *A) {
  for (int32_t i = 0; i < n; ++i) {
    const double *row = A + (int64_t)i * n;
    int32_t above = parent[i];
    for (int32_t j = i - 1; j >= 0; --j) {
      if (j == above) {
        above = parent[j];
      } else if (row[j] != 0) {
        return (int64_t)i * n + j;
      }
    }
  }
  return -1;
}

/* Lists for each of n velocities the strips of the columns from its root to itself. */
static void list_columns(int32_t n, const int32_t *parent, uint64_t *columns) {
  const int32_t shift = sap_strip_shift(n);
  columns[0] = 0;
  for (int32_t j = 0; j < n; ++j) {
    /* a parent that is not earlier makes j a root; a jump would often be mispredicted */
    const int32_t above = parent ? parent[j] : j - 1, is_root = (uint32_t)above >= (uint32_t)j;
    const uint64_t of_above = columns[is_root ? 0 : above];
    columns[j] = (is_root ? 0 : of_above) | (uint64_t)1 << (j >> shift);
  }
}

void sap_branches_strips(int32_t n, const int32_t *parent, uint64_t *strips) {
  if (n <= 8) {
    strips[0] = 1;
    return;
  }
  const int32_t shift = sap_strip_shift(n);
  list_columns(n, parent, strips);
  for (int32_t begin = 0; begin < n; begin += 1 << shift) {
    const int32_t end = n - begin < 1 << shift ? n : begin + (1 << shift);
    uint64_t any = 0;
    for (int32_t j = begin; j < end; ++j) {
      any |= strips[j];
    }
    strips[begin >> shift] = any;
  }
}
