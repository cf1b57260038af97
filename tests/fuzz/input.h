/* How the bytes of a fuzzer are read: choices, ordinary numbers, hostile ones. Where they end,
 * zeros follow. */
#ifndef SAPWOOD_TESTS_FUZZ_INPUT_H
#define SAPWOOD_TESTS_FUZZ_INPUT_H

#include <float.h>
#include <math.h>
#include <stdint.h>

struct input {
  const uint8_t *at, *end;
};

/* is the last byte this one? then it is taken: what inputs without it mean stays what it was */
static inline int take_mark(struct input *in, uint8_t mark) {
  const int is_marked = in->at < in->end && in->end[-1] == mark;
  in->end -= is_marked;
  return is_marked;
}

static inline uint8_t take_byte(struct input *in) { return in->at < in->end ? *in->at++ : 0; }

/* from 0 to `most` */
static inline int32_t take_up_to(struct input *in, int32_t most) {
  const int32_t low = take_byte(in);
  return (most < 256 ? low : low + 256 * take_byte(in)) % (most + 1);
}

/* any bits */
static inline uint64_t take_bits(struct input *in) {
  uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) {
    bits = bits << 8 | take_byte(in);
  }
  return bits;
}

/* of moderate size, or a power of ten, or what overflows, vanishes or is no number, or any bits */
static inline double take_double(struct input *in) {
  static const double hostile[] = {
      0.0,   -0.0,   INFINITY, -INFINITY,   NAN,         DBL_MAX, -DBL_MAX, DBL_MIN,   0x1p-1074,
      1e155, -1e155, 1e-162,   1 - 0x1p-53, 1 + 0x1p-52, 0.99999, 0x1p1000, 0x1p-1000, 1e6,
  };
  const int choice = take_byte(in);
  if (choice < 128) {
    return (choice - 64) / 16.0;
  }
  if (choice < 192) {
    return pow(10.0, 10 * (choice - 160));
  }
  if (choice < 255) {
    return hostile[choice % (int)(sizeof hostile / sizeof *hostile)];
  }
  const union {
    uint64_t bits;
    double value;
  } any = {take_bits(in)};
  return any.value;
}

/* small, or at an end of what some type or rule allows */
static inline int32_t take_int32(struct input *in) {
  static const int32_t hostile[] = {INT32_MAX, INT32_MIN, -1,      1 << 28, (1 << 28) + 1,
                                    1 << 15,   32769,     1000000, 1000001, 257};
  const int choice = take_byte(in);
  return choice < 192 ? choice - 8 : hostile[choice % (int)(sizeof hostile / sizeof *hostile)];
}

#endif
