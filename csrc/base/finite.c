#include "base/finite.h"

#include <math.h>

#include "base/fail.h"

int64_t sap_first_non_finite(int64_t n, const double *x) {
  /* 0 x is NaN exactly where x is not finite; eight sums keep the loop in vectors */
  enum { LANES = 8 };
  double sum[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (int lane = 0; lane < LANES; ++lane) {
      sum[lane] += 0 * x[i + lane];
    }
  }
  double total = 0;
  for (int lane = 0; lane < LANES; ++lane) {
    total += sum[lane];
  }
  for (; i < n; ++i) {
    total += 0 * x[i];
  }
  if (total == 0) {
    return -1;
  }
  for (i = 0; i < n && isfinite(x[i]); ++i) {
  }
  return i < n ? i : -1; /* another thread may have changed the array meanwhile */
}

sap_status sap_check_finite(const char *argument, int64_t n, const double *x, sap_error *error) {
  if (n > 0 && !x) {
    return sap_invalid(error, argument, -1, NAN, "must be given");
  }
  const int64_t i = sap_first_non_finite(n, x);
  return i < 0 ? SAP_OK : sap_invalid(error, argument, i, x[i], "must be finite");
}
