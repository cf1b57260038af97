#include "step/contact_forces.h"

#include <string.h>

void sap_contact_forces_clear(const struct sap_contact_forces *forces) {
  const size_t n = (size_t)forces->n;
  if (n > 0) {
    memset(forces->acting, 0, n * sizeof *forces->acting);
    memset(forces->force, 0, 3 * n * sizeof *forces->force);
  }
}

void sap_contact_forces_add(const struct sap_contact_forces *forces,
                            const sap_contact_record *contact) {
  const double *f = contact->force, *frame = contact->frame;
  const int acts = f[0] != 0.0 || f[1] != 0.0 || f[2] != 0.0;
  if (!acts || !sap_contact_forces_reads(forces, contact->geom)) {
    return;
  }
  for (int side = 0; side < 2; ++side) {
    const int32_t column = forces->column[contact->geom[side]];
    if (column < 0 || !forces->meets[contact->geom[1 - side]]) {
      continue;
    }
    double *sum = forces->force + 3 * (int64_t)column;
    forces->acting[column] = 1;
    for (int j = 0; j < 3; ++j) {
      const double along = f[0] * frame[j] + f[1] * frame[3 + j] + f[2] * frame[6 + j];
      sum[j] += side == 0 ? -along : along;
    }
  }
}

void sap_contact_forces_end(const struct sap_contact_forces *forces, double now) {
  for (int32_t i = 0; i < forces->n; ++i) {
    double *since = forces->since + i;
    if (forces->acting[i] || !(*since <= now)) {
      *since = now;
    }
    forces->air_time[i] = now - *since;
  }
}
