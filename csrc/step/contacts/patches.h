/* Patches: the surfaces on which geoms with pressure fields meet in one step.
 *
 * The pairs that may meet are known beforehand; sapwood/geometry.h tests the pairs with bounding
 * spheres that meet in this step. A face makes a contact if k > 0. It acts at its centroid, with
 * the normal from A to B, at phi0, and
 *
 *     tau_d = (g_B tau_A + g_A tau_B)/(g_A + g_B)
 *
 * weighted by compliance, here 1/g; a rigid side has none. material.h gives mu.
 *
 * A face whose normal is far from the gradients has a small g. Its phi0 = -p0/g promises a depth
 * that the patch does not have, and it would push with its load A p0 at any speed of separation: a
 * pair that parts would gain energy. So with the steepness G of the face and the release speed V
 *
 *     g < G/min(sqrt(2), 1 + tau_d/dt), p0 > 0:
 *
 *         phi0 <- max(phi0, -max(p0/G, V (dt + tau_d)))     k <- A p0/(-phi0)
 *
 * The load stays, and the face lets go at the separation speed max(p0/(G (dt + tau_d)), V). Other
 * faces let go at p0/(G dt) at most if tau_d is small: the fields there are no deeper than the
 * bodies came in one step. An infinite V leaves all faces as they are.
 *
 * Ownership: a sap_patches owns its workspaces, which grow as needed and are kept. */
#ifndef SAPWOOD_STEP_CONTACTS_PATCHES_H
#define SAPWOOD_STEP_CONTACTS_PATCHES_H

#include "base/memory.h"
#include "sapwood.h"

struct sap_patches {
  sap_fields fields; /* n_pairs = 0: there are none */
  geo_workspace *work;
  struct sap_block block;
  geo_pair *near;     /* (n_pairs) workspace for the pairs of this step */
  int32_t *pair;      /* (found.n_pairs) pair of the fields of each surface */
  geo_surfaces found; /* surfaces of this step */
  int32_t n_contacts; /* number of faces that make a contact */
};

/* The contact of a face, beside its centroid. */
struct sap_face_contact {
  double axes[9]; /* t1, t2, n in the world */
  double tau_d;   /* s */
  double phi0;    /* m */
  double k;       /* N/m */
};

/* Checks and sets the fields, and forgets earlier ones. Their arrays must outlive the patches. */
sap_status sap_patches_set(struct sap_patches *patches, const sap_fields *fields,
                           const sap_forest *forest, const sap_allocator *allocator,
                           sap_error *error);
void sap_patches_release(struct sap_patches *patches, const sap_allocator *allocator);

/* Finds the surfaces of a state, from the poses of all geoms. SAP_INVALID_ARGUMENT: the pose of
 * *geom is invalid. */
sap_status sap_patches_find(struct sap_patches *patches, const sap_model_state *state,
                            int32_t *geom);

/* Returns the material of all faces of one surface in a step of length dt; its friction is 0 if the
 * pair has none. */
struct sap_material sap_patches_material(const struct sap_patches *patches,
                                         const sap_forest *forest, int32_t surface, double dt);

/* Returns the contact of a face between two geoms; the face must make one. `release_speed` is V,
 * m/s. */
struct sap_face_contact sap_patches_contact(const struct sap_patches *patches,
                                            const sap_forest *forest, const int32_t geom[2],
                                            int32_t face, double dt, double release_speed);

#endif
