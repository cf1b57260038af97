/* A program that is wrong on purpose: the build option SAPWOOD_SANITIZE must make the library
 * itself notice it. `address`: two contacts are announced, one is there. `piece`: the same, where
 * the contact lies between other pieces of an arena. `undefined`: a misaligned array. `thread`: two
 * threads write the same result. */
#include <pthread.h>
#include <sapwood.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const double mu[2] = {1, 1}, R[2] = {1, 1};
static double impulse[6];

static void *project(void *y) {
  sap_project(1, y, mu, R, R, 0.0, impulse, NULL, NULL, NULL);
  return NULL;
}

static int race(void) {
  double y[3] = {0, 0, 1};
  pthread_t thread;
  if (pthread_create(&thread, NULL, project, y) != 0) {
    return 2;
  }
  project(y);
  pthread_join(thread, NULL);
  printf("nothing noticed, gamma_n = %g\n", impulse[2]);
  return 0;
}

static int overrun_piece(void) {
  const sap_allocator allocator = sap_allocator_or_default(NULL);
  struct sap_block block = {0};
  if (!sap_block_reserve(&block, 1024, &allocator)) {
    return 2;
  }
  struct sap_arena arena = {block.base, 0};
  double *y = sap_arena_take(&arena, 3, sizeof *y);
  double *others = sap_arena_take(&arena, 3, sizeof *others);
  for (int i = 0; i < 3; ++i) {
    y[i] = others[i] = 0;
  }
  sap_project(2, y, mu, R, R, 0.0, impulse, NULL, NULL, NULL);
  sap_block_release(&block, &allocator);
  printf("nothing noticed, gamma_n = %g\n", impulse[2]);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    return 2;
  }
  if (strcmp(argv[1], "thread") == 0) {
    return race();
  }
  if (strcmp(argv[1], "piece") == 0) {
    return overrun_piece();
  }
  const int one_byte_off = strcmp(argv[1], "undefined") == 0;
  const int n = one_byte_off ? 1 : 2;
  char *memory = calloc(1, 3 * sizeof(double) + (size_t)one_byte_off);
  if (!memory) {
    return 2;
  }
  const void *y = memory + one_byte_off;
  sap_project(n, y, mu, R, R, 0.0, impulse, NULL, NULL, NULL);
  free(memory);
  printf("nothing noticed, gamma_n = %g\n", impulse[2]);
  return 0;
}
