#include "solver/interruption.h"

#include "base/clock.h"
#include "solver/solver_tuning.h"

void sap_interruption_begin(struct sap_interruption *interruption) {
  atomic_store_explicit(&interruption->wanted, 0, memory_order_relaxed);
  interruption->asked = 0;
}

static void ask(struct sap_interruption *interruption) {
  const sap_interrupt *interrupt = &interruption->interrupt;
  const double now = sap_seconds();
  if (interruption->asked == 0) {
    interruption->asked = now; /* a short solve never reaches this line */
  }
  if (now - interruption->asked >= interrupt->interval) {
    if (interrupt->wanted(interrupt->context)) {
      atomic_store_explicit(&interruption->wanted, 1, memory_order_relaxed);
    }
    interruption->asked = sap_seconds(); /* the callback may take long */
  }
}

static int is_wanted(const struct sap_interruption *interruption) {
  return atomic_load_explicit(&interruption->wanted, memory_order_relaxed);
}

int sap_interrupted_waiting(struct sap_interrupt_check *interrupt_check) {
  struct sap_interruption *interruption = interrupt_check->interruption;
  if (interrupt_check->asks && interruption->interrupt.wanted && !is_wanted(interruption)) {
    ask(interruption);
  }
  return is_wanted(interruption);
}

int sap_interrupted(struct sap_interrupt_check *interrupt_check, int32_t work) {
  interrupt_check->work += work;
  if (interrupt_check->work < SAP_WORK_BETWEEN_CHECKS) {
    return is_wanted(interrupt_check->interruption);
  }
  interrupt_check->work = 0;
  return sap_interrupted_waiting(interrupt_check);
}
