#include "python/stepper/ready.h"

#include "python/errors.h"
#include "python/signals.h"

static int renew(void *owner) {
  sapwood_stepper *self = owner;
  sap_stepper *fresh;
  if (sapwood_raise(sap_stepper_renew(&fresh, self->core, &self->settings), NULL) < 0) {
    return -1;
  }
  if (sapwood_raise(sap_stepper_set_fields(fresh, &self->fields.core, NULL), NULL) < 0) {
    sap_stepper_destroy(fresh);
    return -1;
  }
  self->core = fresh;
  const sap_interrupt interrupt = sapwood_interrupt_of(self->state);
  sap_stepper_set_interrupt(fresh, &interrupt);
  return 0;
}

int sapwood_stepper_be_ready(sapwood_stepper *self) {
  return sapwood_lock_be_ready(&self->lock, renew, self);
}
