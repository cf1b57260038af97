/* Ends a solve early if its caller wants that, see sap_interrupt.
 *
 * The calling thread asks between iterations and trials, once the interval has passed. It reads the
 * clock only after so much work that this costs nothing. The other threads follow it. */
#ifndef SAPWOOD_SOLVER_INTERRUPTION_H
#define SAPWOOD_SOLVER_INTERRUPTION_H

#include <stdatomic.h>

#include "sapwood.h"

/* The state of one solver. */
struct sap_interruption {
  sap_interrupt interrupt; /* zeros without a callback */
  double asked; /* time of the last call, or of the first check, sap_seconds(); 0 at first */
  atomic_int wanted;
};

/* The state of one thread. */
struct sap_interrupt_check {
  struct sap_interruption *interruption;
  int asks;     /* 1: this is the calling thread */
  int32_t work; /* work since the last check */
};

/* Begins a solve. */
void sap_interruption_begin(struct sap_interruption *interruption);

/* Should the solve end? `work`: velocities and triples visited since the last call. */
int sap_interrupted(struct sap_interrupt_check *interrupt_check, int32_t work);

/* Should the solve end? For a thread that waits. */
int sap_interrupted_waiting(struct sap_interrupt_check *interrupt_check);

#endif
