/* What every call reports, and where it takes memory from. */
#ifndef SAPWOOD_STATUS_H
#define SAPWOOD_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "sapwood/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call reports about itself. How a solve ended is a sap_outcome, not a status. */
typedef enum sap_status {
  SAP_OK = 0,
  SAP_OUT_OF_MEMORY,
  SAP_INVALID_ARGUMENT,      /* sap_error says which */
  SAP_NOT_POSITIVE_DEFINITE, /* a block of A */
  SAP_INTERRUPTED            /* a solve that a sap_interrupt ended */
} sap_status;

/* What of an argument breaks a rule. */
typedef enum sap_error_kind {
  SAP_ERROR_SCALAR = 0, /* a number, or an array that is missing: index is -1 */
  SAP_ERROR_ENTRY,      /* an entry of an array: index is flat */
  SAP_ERROR_TREE,       /* the block of a tree: index is the tree */
  SAP_ERROR_CONSTRAINT  /* the rows of a contact, or of a constraint of a group: index is its own */
} sap_error_kind;

/* What was wrong with an input: `argument[index] = value: rule`. Strings are static. */
typedef struct sap_error {
  const char *argument; /* name as in the struct that it belongs to */
  sap_error_kind kind;
  int64_t index;    /* of what `kind` says, or -1 */
  int32_t group;    /* of constraints that the array belongs to, or -1 */
  double value;     /* the offending value, NaN where none is meant */
  const char *rule; /* for example "must be >= 0" */
} sap_error;

/* one short static sentence per status */
SAP_API const char *sap_status_text(sap_status status);

/* Writes what was wrong as one line, as far as it goes into the n bytes of `text`, ended by a zero
 * where n > 0: "mu[3] = -1: must be >= 0", "dt = 0: must be finite and > 0", "J: must be given",
 * "A: the block of tree 2 must be symmetric", and of constraints "group 1: " before it. Returns the
 * length of the whole line, as snprintf() does. */
SAP_API size_t sap_error_text(const sap_error *error, char *text, size_t n);

/* Allocator hook. Where a function takes a pointer to one, NULL means malloc and free. */
typedef struct sap_allocator {
  void *(*allocate)(size_t bytes, void *context); /* NULL on failure */
  void (*release)(void *memory, void *context);
  void *context;
} sap_allocator;

#ifdef __cplusplus
}
#endif

#endif
