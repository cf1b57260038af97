/* This module declares the status and errors of calls, and the allocator hook. */
#ifndef SAPWOOD_STATUS_H
#define SAPWOOD_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "sapwood/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Status of a call. A sap_outcome, not a status, tells how a solve ended. */
typedef enum sap_status {
  SAP_OK = 0,
  SAP_OUT_OF_MEMORY,
  SAP_INVALID_ARGUMENT,      /* see sap_error */
  SAP_NOT_POSITIVE_DEFINITE, /* a block of A is not positive definite */
  SAP_INTERRUPTED            /* a sap_interrupt ended the solve */
} sap_status;

/* Part of an argument that breaks a rule. */
typedef enum sap_error_kind {
  SAP_ERROR_SCALAR = 0, /* a number, or a missing array: index is -1 */
  SAP_ERROR_ENTRY,      /* an entry of an array: index is flat */
  SAP_ERROR_TREE,       /* the block of a tree: index is the tree */
  SAP_ERROR_CONSTRAINT  /* the rows of a contact, or of a constraint of a group: index is its own */
} sap_error_kind;

/* Fault of an input: `argument[index] = value: rule`. Strings are static. */
typedef struct sap_error {
  const char *argument; /* name as in the struct that it belongs to */
  sap_error_kind kind;
  int64_t index;    /* index of the part named by `kind`, or -1 */
  int32_t group;    /* group of constraints of the array, or -1 */
  double value;     /* the offending value, NaN for none */
  const char *rule; /* for example "must be >= 0" */
} sap_error;

/* Returns one short static sentence per status. */
SAP_API const char *sap_status_text(sap_status status);

/* Writes the fault as one line, truncated to the n bytes of `text`, ended by a zero if n > 0:
 * "mu[3] = -1: must be >= 0", "dt = 0: must be finite and > 0", "J: must be given", "A: the block
 * of tree 2 must be symmetric", with the prefix "group 1: " for constraints of a group. Returns the
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
