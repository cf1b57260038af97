/* Runs a fuzz target on files, without a fuzzer: what was found once stays found. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
  enum { MOST = 1 << 20 };
  uint8_t *data = malloc(MOST);
  for (int i = 1; i < argc; ++i) {
    FILE *file = fopen(argv[i], "rb");
    if (!file || !data) {
      fprintf(stderr, "%s cannot be read\n", argv[i]);
      return 1;
    }
    LLVMFuzzerTestOneInput(data, fread(data, 1, MOST, file));
    fclose(file);
  }
  free(data);
  printf("%d files\n", argc - 1);
  return argc < 2;
}
