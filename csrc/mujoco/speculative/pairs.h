/* A pair of geoms whose contact may close within the step. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_PAIRS_H
#define SAPWOOD_MUJOCO_SPECULATIVE_PAIRS_H

#include <stdint.h>

#include "mujoco/speculative/speculative_tuning.h"

/* Two geoms, the first of the lower body; `given`: place in the model's own list, or -1. */
struct sap_geom_pair {
  int32_t geom[2], given;
};

/* The pairs that a search found, for states so near that it would find the same ones. */
struct sap_kept_pairs {
  int32_t n; /* -1: not known yet, or more than SAP_KEPT_PAIRS */
  struct sap_geom_pair pair[SAP_KEPT_PAIRS];
};

#endif
