#include "constraints/laws.h"

const struct sap_law *const sap_laws[SAP_N_LAWS] = {
    [SAP_LAW_CONTACT] = &sap_law_contact,     [SAP_LAW_DISK] = &sap_law_disk,
    [SAP_LAW_TORSIONAL] = &sap_law_torsional, [SAP_LAW_RIGID_CORE] = &sap_law_rigid_core,
    [SAP_LAW_CLAMP] = &sap_law_clamp,         [SAP_LAW_JOINT] = &sap_law_joint,
};

void sap_pool_carve(struct sap_pool *pool, struct sap_arena *arena, int32_t n,
                    const int8_t present[SAP_N_LAWS]) {
  sap_pool_carve_common(pool, arena, n);
  for (int law = 0; law < SAP_N_LAWS; ++law) {
    if (sap_laws[law]->carve) {
      sap_laws[law]->carve(pool, arena, present[law] ? n : 0);
    }
  }
}
