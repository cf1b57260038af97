/* The result of contact impulses as a complementarity problem. */
#ifndef SAPWOOD_INVDYN_ANSWER_H
#define SAPWOOD_INVDYN_ANSWER_H

#include "sapwood/lcp.h"

struct invdyn_answer {
  lcp_outcome outcome; /* LCP_SOLVED and LCP_INACCURATE come with impulses */
  int32_t pivots;
  double regularization;
};

#endif
