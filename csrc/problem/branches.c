#include "problem/branches.h"

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
