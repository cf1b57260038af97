/* Access to the fields of MuJoCo's structs. Each row of sapwood/mujoco_fields.h that C reads has a
 * function that reads the field in its type, and one that writes it.
 *
 *     sap_mjmodel_nv(api, model)          int64_t
 *     sap_mjmodel_geom_size(api, model)   const double *, as every array of a model is const
 *     sap_mjdata_qpos(api, data)          double *
 *     sap_mjcontact_dist(api, contact)    double
 *     sap_mjmodel_set_nv(api, copy, 3)    in a copy of a model, in the data or in a contact
 *     SAP_MODEL(world, nv)                the field of the model of a world
 *     SAP_DATA(world, qpos)               the field of its data
 *     SAP_SET_DATA(world, ncon, 3)
 *     SAP_CONTACT(world, 2)               contact 2 of its list, char *
 *
 * No file outside this folder uses an offset. */
#ifndef SAPWOOD_MUJOCO_ENGINE_FIELDS_H
#define SAPWOOD_MUJOCO_ENGINE_FIELDS_H

#include <stdint.h>
#include <string.h>

#include "sapwood/mujoco_engine.h"

#define SAP_MODEL(world, name) sap_mjmodel_##name((world)->api, (world)->model)
#define SAP_DATA(world, name) sap_mjdata_##name((world)->api, (world)->data)
#define SAP_SET_DATA(world, name, value) sap_mjdata_set_##name((world)->api, (world)->data, value)
#define SAP_CONTACT(world, i) \
  (SAP_DATA(world, contact) + (size_t)(i) * (size_t)(world)->api->contact.size)

/* ---- types ---------------------------------------------------------------------------------- */

typedef int64_t sap_mjmodel_SIZE, sap_mjdata_SIZE;
typedef size_t sap_mjdata_WORD;
typedef unsigned char sap_mjdata_BOOL;
typedef int sap_mjmodel_INT, sap_mjdata_INT, sap_mjcontact_INT;
typedef double sap_mjmodel_NUM, sap_mjdata_NUM, sap_mjcontact_NUM;
typedef const int *sap_mjmodel_INTS;
typedef const unsigned char *sap_mjmodel_BOOLS;
typedef const float *sap_mjmodel_FLOATS;
typedef const double *sap_mjmodel_NUMS, *sap_mjmodel_NUM_ROW;
typedef const int *sap_mjcontact_INT_ROW;
typedef int *sap_mjdata_INTS;
typedef double *sap_mjdata_NUMS, *sap_mjdata_NUM_ROW, *sap_mjcontact_NUM_ROW;
typedef char *sap_mjdata_CONTACTS;

/* ---- functions ------------------------------------------------------------------------------ */

/* Names of fields and types cannot stand in parentheses, and MuJoCo's data are written in place
 * through pointers that readers of a world hold as const.
 * NOLINTBEGIN(bugprone-macro-parentheses, performance-no-int-to-ptr) */

/* A number, or the pointer to an array, is copied. */
#define SAP_VALUE(prefix, owner, name, type)                                                \
  static inline prefix##_##type prefix##_##name(const sap_mujoco *api, const void *owner) { \
    prefix##_##type value;                                                                  \
    memcpy(&value, (const char *)owner + api->owner.name, sizeof value);                    \
    return value;                                                                           \
  }                                                                                         \
  static inline void prefix##_set_##name(const sap_mujoco *api, void *owner,                \
                                         prefix##_##type value) {                           \
    memcpy((char *)owner + api->owner.name, &value, sizeof value);                          \
  }

/* An array within the struct is read and written in place. */
#define SAP_ROW(prefix, owner, name, type)                                                  \
  static inline prefix##_##type prefix##_##name(const sap_mujoco *api, const void *owner) { \
    return (prefix##_##type)((uintptr_t)owner + (uintptr_t)api->owner.name);                \
  }

#define SAP_ACCESS_SIZE SAP_VALUE
#define SAP_ACCESS_WORD SAP_VALUE
#define SAP_ACCESS_BOOL SAP_VALUE
#define SAP_ACCESS_INT SAP_VALUE
#define SAP_ACCESS_NUM SAP_VALUE
#define SAP_ACCESS_INTS SAP_VALUE
#define SAP_ACCESS_BOOLS SAP_VALUE
#define SAP_ACCESS_FLOATS SAP_VALUE
#define SAP_ACCESS_NUMS SAP_VALUE
#define SAP_ACCESS_CONTACTS SAP_VALUE
#define SAP_ACCESS_INT_ROW SAP_ROW
#define SAP_ACCESS_NUM_ROW SAP_ROW

#define SAP_OF_MODEL(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(SAP_ACCESS_##type(sap_mjmodel, model, name, type))
#define SAP_OF_DATA(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(SAP_ACCESS_##type(sap_mjdata, data, name, type))
#define SAP_OF_CONTACT(name, type, shape, versions, readers, change, again) \
  SAP_MUJOCO_IN_C_##readers(SAP_ACCESS_##type(sap_mjcontact, contact, name, type))
#define SAP_OF_WARNING(name, warning) SAP_VALUE(sap_mjdata, data, name, INT)

/* clang-format off */
SAP_MUJOCO_MODEL(SAP_OF_MODEL)
SAP_MUJOCO_OPTION(SAP_OF_MODEL)
SAP_MUJOCO_DATA(SAP_OF_DATA)
SAP_MUJOCO_WARNINGS(SAP_OF_WARNING)
SAP_MUJOCO_CONTACT(SAP_OF_CONTACT)
/* clang-format on */
/* NOLINTEND(bugprone-macro-parentheses, performance-no-int-to-ptr) */

/* Returns 0 if explicit pairs may have arrays that are not in the table. */
static inline int sap_mujoco_knows_pairs(const sap_mujoco *api) { return api->model.pair_dim >= 0; }

/* Returns the type of contact sensors, mjSENS_CONTACT. */
static inline int sap_mujoco_contact_sensor(const sap_mujoco *api) {
  return (int)api->model.contact_sensor;
}

#undef SAP_VALUE
#undef SAP_ROW
#undef SAP_OF_MODEL
#undef SAP_OF_DATA
#undef SAP_OF_CONTACT
#undef SAP_OF_WARNING
#undef SAP_ACCESS_SIZE
#undef SAP_ACCESS_WORD
#undef SAP_ACCESS_BOOL
#undef SAP_ACCESS_INT
#undef SAP_ACCESS_NUM
#undef SAP_ACCESS_INTS
#undef SAP_ACCESS_BOOLS
#undef SAP_ACCESS_FLOATS
#undef SAP_ACCESS_NUMS
#undef SAP_ACCESS_CONTACTS
#undef SAP_ACCESS_INT_ROW
#undef SAP_ACCESS_NUM_ROW

#endif
