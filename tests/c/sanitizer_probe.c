/* A program that is wrong on purpose: the build option SAPWOOD_SANITIZE must make the library itself
 * notice it. `address`: two contacts are announced, one is there. `undefined`: a misaligned array. */
#include <sapwood.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  if (argc != 2) {
    return 2;
  }
  const int one_byte_off = strcmp(argv[1], "undefined") == 0;
  const int n = one_byte_off ? 1 : 2;
  const double mu[2] = {1, 1}, R[2] = {1, 1};
  double gamma[6];
  char *memory = calloc(1, 3 * sizeof(double) + (size_t)one_byte_off);
  if (!memory) {
    return 2;
  }
  const void *y = memory + one_byte_off;
  sap_project(n, y, mu, R, R, 0.0, gamma, NULL, NULL, NULL);
  free(memory);
  printf("nothing noticed, gamma_n = %g\n", gamma[2]);
  return 0;
}
