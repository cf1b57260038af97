/* Patches: the surfaces on which geoms with pressure fields meet in one step.
 *
 * Pairs that may meet are known beforehand; those whose bounding spheres do in this step go to
 * sapwood/geometry.h. A face that makes a contact, k > 0, acts at its centroid, with the normal
 * from A to B, at phi0, and
 *
 *     tau_d = (g_B tau_A + g_A tau_B)/(g_A + g_B)
 *
 * as elsewhere weighted by compliance, here 1/g; a rigid side has none. mu is that of material.h.
 *
 * Ownership: a sap_patches owns its workspaces, which grow as needed and are kept. */
#ifndef SAPWOOD_STEP_CONTACTS_PATCHES_H
#define SAPWOOD_STEP_CONTACTS_PATCHES_H

#include "base/memory.h"
#include "sapwood.h"

struct sap_patches {
  sap_fields fields; /* n_pairs 0: none */
  geo_workspace *work;
  struct sap_block block;
  geo_pair *near;     /* (n_pairs) room for the pairs of this step */
  int32_t *pair;      /* (found.n_pairs) which pair of the fields each surface is of */
  geo_surfaces found; /* of this step */
  int32_t n_contacts; /* faces that make a contact */
};

/* what a face acts as, beside what the surfaces have of it */
struct sap_face_contact {
  double axes[9]; /* t1, t2, n in the world */
  double tau_d;   /* s */
};

/* Checks the fields, whose arrays must outlive the patches; those that were there are forgotten. */
sap_status sap_patches_set(struct sap_patches *patches, const sap_fields *fields,
                           const sap_forest *forest, const sap_allocator *allocator,
                           sap_error *error);
void sap_patches_release(struct sap_patches *patches, const sap_allocator *allocator);

/* The surfaces of a state, from the poses of all geoms. SAP_INVALID_ARGUMENT where one is no pose:
 * *geom is of that pair. */
sap_status sap_patches_find(struct sap_patches *patches, const sap_model_state *state,
                            int32_t *geom);

/* mu of all faces of one surface; 0 where its pair is without friction */
double sap_patches_friction(const struct sap_patches *patches, const sap_forest *forest,
                            int32_t surface);

/* of a face between two geoms that makes a contact */
struct sap_face_contact sap_patches_contact(const struct sap_patches *patches,
                                            const sap_forest *forest, const int32_t geom[2],
                                            int32_t face);

#endif
