/* Reporting an invalid argument in one line. */
#ifndef SAPWOOD_BASE_STATUS_H
#define SAPWOOD_BASE_STATUS_H

#include "sapwood.h"

/* fills *error (which may be NULL) and returns status */
sap_status sap_fail(sap_error *error, sap_status status, const char *argument, int64_t index,
                    double value, const char *rule);

#endif
