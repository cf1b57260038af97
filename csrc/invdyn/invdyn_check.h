/* What a problem of inverse dynamics must obey. */
#ifndef SAPWOOD_INVDYN_INVDYN_CHECK_H
#define SAPWOOD_INVDYN_INVDYN_CHECK_H

#include "sapwood/invdyn.h"

/* sizes, of which workspaces are made */
sap_status invdyn_check_sizes(const invdyn_settings *settings, const invdyn_problem *problem,
                              sap_error *error);

/* arrays; mark (m) is work */
sap_status invdyn_check_arrays(const invdyn_settings *settings, const invdyn_problem *problem,
                               int32_t *mark, sap_error *error);

#endif
