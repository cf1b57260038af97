/* A program that is wrong on purpose: the build option SAPWOOD_SANITIZE must make the library
 * itself notice it. `address`: two contacts are announced, one is there. `undefined`: a misaligned
 * array. `thread`: two threads write the same result. */
#include <pthread.h>
#include <sapwood.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv) {
  if (argc != 2) {
    return 2;
  }
  if (strcmp(argv[1], "thread") == 0) {
    return race();
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
