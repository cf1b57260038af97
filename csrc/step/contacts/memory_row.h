/* This module writes a friction memory to a row of numbers and reads it back, so that callers can
 * copy, save and restore it:
 *
 *     row = (n, state (n_state), contact (6) x n, unspecified numbers)
 *     contact = (key, extent, position (3), force)
 *
 * `state` marks the memory, n is 0 if nothing is remembered. Contacts of two geoms are adjacent;
 * the first one has the extent of its pair, m, and the others have the extent -1. Keys are exact in
 * a double. Rows belong to the caller; a memory allocates as friction_memory.h has it. */
#ifndef SAPWOOD_STEP_CONTACTS_MEMORY_ROW_H
#define SAPWOOD_STEP_CONTACTS_MEMORY_ROW_H

#include "step/contacts/friction_memory.h"

enum { SAP_MEMORY_ROW_COLUMNS = 6 };

/* Returns the length of a row with room for n contacts. */
int64_t sap_memory_row_size(int64_t n_state, int64_t n);

/* Makes the row the memory of the last step. Returns SAP_INVALID_ARGUMENT and forgets everything if
 * a number of the row is impossible. */
sap_status sap_memory_row_load(struct sap_friction_memory *memory, const double *row,
                               int64_t n_state, int64_t capacity);

/* Returns the number of remembered contacts, 0 for a memory without a mark. */
int64_t sap_memory_row_contacts(const struct sap_friction_memory *memory);

/* Writes the memory, which must fit. Numbers of contacts that the row had and the memory has not
 * become 0. */
void sap_memory_row_save(const struct sap_friction_memory *memory, double *row, int64_t n_state,
                         int64_t capacity);

#endif
