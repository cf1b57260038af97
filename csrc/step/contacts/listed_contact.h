/* Contacts of the engine's list, and access to their fields. */
#ifndef SAPWOOD_STEP_CONTACTS_LISTED_CONTACT_H
#define SAPWOOD_STEP_CONTACTS_LISTED_CONTACT_H

#include "sapwood.h"

/* The engine replaces a coefficient of friction of 0 by this one. */
#define SAP_LEAST_FRICTION 1e-5

/* One gathered contact, beside the arrays of the problem. */
struct sap_listed_contact {
  int32_t index; /* number in the engine's list, -1 for a face */
  int32_t row;
  int32_t dim;
  int32_t face; /* face of a patch, whose index and row are -1; -1 for a contact of the engine */
  int32_t geom[2];
};

static inline const double *sap_doubles_at(struct sap_field field, int32_t i) {
  return (const double *)(const void *)(field.base + field.stride * i);
}

static inline const int32_t *sap_int32s_at(struct sap_field field, int32_t i) {
  return (const int32_t *)(const void *)(field.base + field.stride * i);
}

#endif
