#include "step/contacts/memory_row.h"

#include <math.h>
#include <string.h>

enum { KEY = 0, EXTENT = 1, POSITION = 2, FORCE = 5 };

int64_t sap_memory_row_size(int64_t n_state, int64_t n) {
  return 1 + n_state + SAP_MEMORY_ROW_COLUMNS * n;
}

/* Returns the number of contacts in a row, or -1 if it is no number from 0 to the capacity. */
static int32_t count_of(const double *row, int64_t capacity) {
  const double n = row[0];
  return n >= 0 && n <= (double)capacity && n <= INT32_MAX && n == floor(n) ? (int32_t)n : -1;
}

/* Returns 1 if the numbers of a contact are possible behind those of another one, or of none. */
static int is_possible(const double *contact, const double *before) {
  const double most = 9007199254740992.0; /* 2^53: larger integers are not exact */
  int good = contact[KEY] >= 0 && contact[KEY] < most && contact[KEY] == floor(contact[KEY]) &&
             isfinite(contact[EXTENT]) &&
             (contact[EXTENT] >= 0 || (before && contact[KEY] == before[KEY]));
  for (int j = POSITION; j <= FORCE; ++j) {
    good &= isfinite(contact[j]) != 0;
  }
  return good;
}

/* Reads n contacts; returns 0 at one that is impossible. */
static int read_contacts(struct sap_remembered_list *list, const double *contact) {
  for (int32_t i = 0; i < list->n_contacts; ++i, contact += SAP_MEMORY_ROW_COLUMNS) {
    if (!is_possible(contact, i > 0 ? contact - SAP_MEMORY_ROW_COLUMNS : NULL)) {
      return 0;
    }
    memcpy(list->contacts[i].position, contact + POSITION, sizeof list->contacts[i].position);
    list->contacts[i].force = contact[FORCE];
    if (contact[EXTENT] >= 0) {
      sap_remembered_list_add(list, (int64_t)contact[KEY], i, contact[EXTENT]);
    }
    list->pairs[list->n_pairs - 1].end = i + 1;
  }
  return 1;
}

sap_status sap_memory_row_load(struct sap_friction_memory *memory, const double *row,
                               int64_t n_state, int64_t capacity) {
  const int32_t n = count_of(row, capacity);
  struct sap_remembered_list *list = &memory->lists[memory->last];
  sap_friction_memory_forget(memory);
  if (n <= 0) {
    return n < 0 ? SAP_INVALID_ARGUMENT : SAP_OK;
  }
  const struct sap_state_part state = {row + 1, n_state};
  sap_friction_memory_mark(memory, &state, 1);
  if (!memory->marked || !sap_remembered_list_clear(list, n, &memory->allocator)) {
    sap_friction_memory_forget(memory);
    return SAP_OUT_OF_MEMORY;
  }
  if (!read_contacts(list, row + 1 + n_state)) {
    sap_friction_memory_forget(memory);
    return SAP_INVALID_ARGUMENT;
  }
  return SAP_OK;
}

int64_t sap_memory_row_contacts(const struct sap_friction_memory *memory) {
  const struct sap_remembered_list *list = &memory->lists[memory->last];
  return memory->marked && list->n_pairs > 0 ? list->n_contacts : 0;
}

static void write_pair(const struct sap_remembered_list *list,
                       const struct sap_remembered_pair *pair, double *contacts) {
  for (int32_t i = pair->begin; i < pair->end; ++i) {
    double *contact = contacts + (int64_t)SAP_MEMORY_ROW_COLUMNS * i;
    contact[KEY] = (double)pair->key;
    contact[EXTENT] = i == pair->begin ? pair->extent : -1;
    memcpy(contact + POSITION, list->contacts[i].position, sizeof list->contacts[i].position);
    contact[FORCE] = list->contacts[i].force;
  }
}

void sap_memory_row_save(const struct sap_friction_memory *memory, double *row, int64_t n_state,
                         int64_t capacity) {
  const struct sap_remembered_list *list = &memory->lists[memory->last];
  const int64_t before = count_of(row, capacity), n = sap_memory_row_contacts(memory);
  double *contacts = row + 1 + n_state;
  row[0] = (double)n;
  if (n > 0) {
    memcpy(row + 1, memory->state.base, (size_t)n_state * sizeof *row);
  } else {
    memset(row + 1, 0, (size_t)n_state * sizeof *row);
  }
  for (int32_t k = 0; k < list->n_pairs && n > 0; ++k) {
    write_pair(list, &list->pairs[k], contacts);
  }
  const int64_t stale = (before < 0 ? capacity : before) - n;
  if (stale > 0) {
    memset(contacts + SAP_MEMORY_ROW_COLUMNS * n, 0,
           (size_t)(SAP_MEMORY_ROW_COLUMNS * stale) * sizeof *row);
  }
}
