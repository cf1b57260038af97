/* A problem made of the bytes of a fuzzer: random and sound at first, then entries of its arrays
 * are replaced by what the bytes say. Each array is a block of exactly its length, so that the
 * address sanitizer sees what is read beyond it. */
#ifndef SAPWOOD_TESTS_FUZZ_MADE_H
#define SAPWOOD_TESTS_FUZZ_MADE_H

#include "input.h"
#include "sapwood.h"

enum { MADE_MOST_GROUPS = 3, MADE_MOST_ARRAYS = 128, MADE_MOST_VALUES = 10 };

struct made {
  sap_problem problem;
  sap_sizes sizes;
  sap_spin spin;
  sap_constraints groups[MADE_MOST_GROUPS];
  int64_t n_rows[MADE_MOST_GROUPS];
  sap_parameters parameters;
  /* of the groups; their values by parameter */
  sap_group_parameters physical[MADE_MOST_GROUPS];
  const double *values[MADE_MOST_GROUPS][MADE_MOST_VALUES];
  const double *guess; /* NULL, or (nv) */
  double *dv;          /* (nv) */
  /* arrays that entries are replaced in */
  struct made_array {
    void *data;
    int64_t n;
    const double **member; /* where the problem points to it; NULL where it has to stay */
  } arrays[MADE_MOST_ARRAYS];
  int n_arrays;
  uint64_t random;
};

/* SAP_OK, or what sap_problem_sizes() says of the index arrays: then there are no others. A problem
 * that is larger than a fuzzer has time for is SAP_OUT_OF_MEMORY. */
sap_status made_take(struct made *made, struct input *in);
void made_release(struct made *made);

/* settings with some fields replaced */
sap_settings made_settings(struct input *in);

#endif
