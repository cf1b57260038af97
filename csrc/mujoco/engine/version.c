#include "sapwood/mujoco_engine.h"

enum { SERIES = 1000 }; /* difference of two series in the version number */

int sap_mujoco_is_tested(int version) {
#define VERSION(number) number,
  static const int tested[] = {SAP_MUJOCO_TESTED(VERSION)};
#undef VERSION
  int found = 0;
  for (unsigned i = 0; i < sizeof tested / sizeof *tested; ++i) {
    found |= tested[i] / SERIES == version / SERIES;
  }
  return found;
}
