/* Ends a solve early where its caller wants that, see sap_interrupt.
 *
 * The thread that called asks, between iterations and trials: when enough work has been done for a
 * look at the clock not to count, and the clock says that it is time. The others follow it. */
#ifndef SAPWOOD_SOLVER_INTERRUPTION_H
#define SAPWOOD_SOLVER_INTERRUPTION_H

#include <stdatomic.h>

#include "sapwood.h"

/* of one solver */
struct sap_interruption {
  sap_interrupt interrupt; /* zeros where nobody is asked */
  double asked;            /* the last time, or first time not, by sap_seconds(); 0 at the begin */
  atomic_int wanted;
};

/* of one thread */
struct sap_interrupt_check {
  struct sap_interruption *interruption;
  int asks;     /* is this the thread that called? */
  int32_t work; /* since it last looked */
};

/* at the begin of a solve */
void sap_interruption_begin(struct sap_interruption *interruption);

/* Is the solve to end? After so much work more: velocities and triples that were gone through. */
int sap_interrupted(struct sap_interrupt_check *interrupt_check, int32_t work);

/* The same for a thread that waits. */
int sap_interrupted_waiting(struct sap_interrupt_check *interrupt_check);

#endif
