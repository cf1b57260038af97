/* Contacts of the engine's list, and their fields. */
#ifndef SAPWOOD_STEP_CONTACTS_LISTED_CONTACT_H
#define SAPWOOD_STEP_CONTACTS_LISTED_CONTACT_H

#include "sapwood.h"

/* what the engine has in the place of a coefficient of friction of 0 */
#define SAP_LEAST_FRICTION 1e-5

/* one gathered contact, beside the arrays of the problem */
struct sap_listed_contact {
  int32_t index; /* in the engine's list */
  int32_t row;
  int32_t dim;
  int32_t face; /* of a patch: index and row are -1; -1 of the engine's */
  int32_t geom[2];
};

static inline const double *sap_doubles_at(struct sap_field field, int32_t i) {
  return (const double *)(const void *)(field.base + field.stride * i);
}

static inline const int32_t *sap_int32s_at(struct sap_field field, int32_t i) {
  return (const int32_t *)(const void *)(field.base + field.stride * i);
}

#endif
