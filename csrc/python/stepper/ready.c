#include "python/stepper/ready.h"

#include <string.h>

#include "python/errors.h"
#include "python/signals.h"

int sapwood_stepper_be_ready(sapwood_stepper *self) {
  if (!sapwood_lock_is_lost(&self->lock)) {
    return sapwood_lock_check(&self->lock);
  }
  const sap_stepper *old = self->core;
  sap_stepper *fresh;
  if (sapwood_raise(
          sap_stepper_create(&fresh, &old->forest, old->constrained ? &old->elements : NULL,
                             &old->settings, &self->settings, NULL, NULL),
          NULL) < 0) {
    return -1;
  }
  if (sapwood_raise(sap_stepper_set_fields(fresh, &self->fields.core, NULL), NULL) < 0 ||
      sapwood_lock_make(&self->lock, self->lock.forks) < 0) {
    sap_stepper_destroy(fresh);
    return -1;
  }
  memcpy(fresh->counts, old->counts, sizeof fresh->counts);
  self->core = fresh;
  sapwood_watch_signals(fresh->solver, self->state);
  return 0;
}
