/* Finds rows of J and constants of the contacts of a step: first for the engine's list, then for
 * the faces of patches. */
#include <math.h>
#include <string.h>

#include "step/contacts/contact_jacobian.h"
#include "step/contacts/flex_rows.h"
#include "step/contacts/material.h"
#include "step/gather.h"
#include "step/joints/release.h"

/* The contacts kept so far. A kept contact moves up to the first free place. */
struct kept {
  struct sap_gather *gather;
  const struct sap_model_state *state;
  struct sap_movers movers;
  int32_t n;
  double *J; /* end of their rows */
};

/* The engine's list, and the material that adjacent contacts in it share. */
struct source {
  const struct sap_contact_list *list;
  enum sap_cone cone;
  const struct sap_release *release;
  struct sap_flex_rows rows; /* for contacts of flexes */
  struct sap_material material;
  int32_t pair[2]; /* geoms of the material, -1 before the first contact */
};

/* Writes the inverse masses by which the engine weighs the two bodies of a contact. The inverse
 * mass of the contact itself goes to zero near a centre of rotation, where it would press as if the
 * body weighed tons. */
static void find_body_masses(struct sap_gather *gather, int32_t c) {
  const double *w = gather->forest->geom_inverse_mass;
  const int32_t *geom = gather->contacts[c].geom;
  const double one = w ? w[geom[0]] : 0.0, two = w ? w[geom[1]] : 0.0;
  double *body_w = gather->body_w + 2 * (int64_t)c;
  body_w[0] = gather->tree_b[c] < 0 ? one + two : one;
  body_w[1] = gather->tree_b[c] < 0 ? 0.0 : two;
}

/* Keeps contact c, with this number of entries of J, with its geoms and trees. */
static void keep(struct kept *kept, int32_t c, int64_t length) {
  struct sap_gather *gather = kept->gather;
  const int32_t to = kept->n++;
  gather->contacts[to] = gather->contacts[c];
  gather->tree_a[to] = gather->tree_a[c];
  gather->tree_b[to] = gather->tree_b[c];
  find_body_masses(gather, to);
  kept->J += length;
}

/* Makes room for J, for J of torsional friction and for the normal rows of the inactive set;
 * returns 0 if memory runs out. */
static int make_room(struct sap_gather *gather) {
  const size_t bytes = sizeof(double) * (size_t)(gather->nJ / 3 * 4 + gather->spins.nJ);
  if (!sap_block_reserve(&gather->jacobian, bytes, &gather->allocator)) {
    return 0;
  }
  gather->J = (double *)(void *)gather->jacobian.base;
  gather->spins.J = gather->J + gather->nJ;
  gather->inactive.J = gather->spins.J + gather->spins.nJ;
  gather->inactive.nJ = gather->inactive.n = 0;
  gather->spins.nJ = 0;
  return 1;
}

/* ---- contacts of the engine's list ----------------------------------------------------------- */

/* Writes position and axes (t1, t2, n) of the next contact, and its rows of J. Returns their
 * length, 0 if it moves no dof, -1 if a number is not finite. */
static int64_t find_rows(const struct kept *kept, const struct source *from, int32_t c) {
  const struct sap_listed_contact *contact = kept->gather->contacts + c;
  const double *frame = sap_doubles_at(from->list->frame, contact->index);
  const double *p = sap_doubles_at(from->list->pos, contact->index);
  double *axes = kept->gather->frame + 9 * (int64_t)kept->n;
  memcpy(axes, frame + 3, 6 * sizeof *axes);
  memcpy(axes + 6, frame, 3 * sizeof *axes);
  memcpy(kept->gather->position + 3 * (int64_t)kept->n, p, 3 * sizeof *p);
  if (sap_is_flex_contact(&kept->gather->elements, contact)) {
    const int32_t trees[2] = {kept->gather->tree_a[c], kept->gather->tree_b[c]};
    return sap_flex_jacobian(&from->rows, contact, trees, kept->J);
  }
  return sap_contact_jacobian(&kept->movers, kept->state, contact->geom, axes, p, kept->J);
}

static void find_material(const struct sap_gather *gather, struct source *from, int32_t c) {
  const int32_t *geom = gather->contacts[c].geom;
  if (memcmp(from->pair, geom, sizeof from->pair) != 0) {
    from->material = sap_material_of_pair(gather->forest, geom[0], geom[1], gather->dt);
    memcpy(from->pair, geom, sizeof from->pair);
  }
}

/* Returns the velocity of row r of contact c, whose rows begin at kept->J, at v. */
static double row_velocity(const struct kept *kept, int32_t c, int32_t r, const double *v) {
  const struct sap_gather *gather = kept->gather;
  const int32_t trees[2] = {gather->tree_a[c], gather->tree_b[c]};
  return sap_row_velocity(gather->forest, trees, 3, r, kept->J, v);
}

/* Returns the speed e u at which the contact opens after an impact with the speed u of the state
 * before the step. It is 0 if u is too small for a rebound. */
static double find_rebound(const struct kept *kept, const struct source *from, int32_t c) {
  const struct sap_gather *gather = kept->gather;
  const double e = from->material.restitution;
  if (!(e > 0.0)) {
    return 0.0;
  }
  const double u = -row_velocity(kept, c, 2, gather->free_motion.v_0);
  return u > SAP_REBOUND * kept->state->gravity * gather->dt ? e * u : 0.0;
}

/* Returns 1 if the free motion closes the contact within the step. */
static int closes(const struct kept *kept, int32_t c, double phi0) {
  const struct sap_gather *gather = kept->gather;
  return phi0 + gather->dt * row_velocity(kept, c, 2, gather->free_motion.v_star) <= 0.0;
}

/* Returns 1 if the contact joins the inactive set (inactive.h), which has contacts of one tree. */
static int may_be_inactive(const struct kept *kept, const struct source *from, int32_t c,
                           double phi0, double tau_d) {
  struct sap_gather *gather = kept->gather;
  if (!gather->may_be_inactive || !(phi0 > 0.0) || gather->tree_b[c] >= 0 ||
      from->material.barrier != SAP_BARRIER_NONE) {
    return 0;
  }
  const struct sap_inactive_contact open = {
      .tree = gather->tree_a[c], .phi0 = phi0, .h = gather->dt + tau_d};
  return sap_inactive_take(&gather->inactive, gather->forest, &open, kept->J,
                           gather->free_motion.v_0, gather->free_motion.v_star);
}

/* Finds v_hat_t, by which friction drives v_c,t to minus the velocity of a moving surface, and the
 * coefficients of pyramid edges. */
static void find_tangential(struct sap_gather *gather, const struct source *from,
                            const struct sap_listed_contact *contact, int32_t to) {
  double *v_hat_t = gather->v_hat_t + 2 * (int64_t)to;
  v_hat_t[0] = v_hat_t[1] = 0.0;
  if (from->list->surface_velocity.base) {
    const double *velocity = sap_doubles_at(from->list->surface_velocity, contact->index);
    v_hat_t[0] = -velocity[0];
    v_hat_t[1] = -velocity[1];
  }
  if (from->cone == SAP_CONE_PYRAMIDAL) {
    memcpy(gather->edge_friction + SAP_FRICTIONS * (int64_t)to,
           sap_doubles_at(from->list->friction, contact->index),
           sizeof(double) * (size_t)(contact->dim - 1));
  }
}

/* Adds the torsional and rolling friction of the next contact; cores support three components
 * only. */
static enum sap_fault add_spin(const struct kept *kept, const struct source *from, int32_t c) {
  struct sap_gather *gather = kept->gather;
  struct sap_torsional_contacts *spins = &gather->spins;
  const struct sap_listed_contact *contact = gather->contacts + c;
  const int32_t trees[2] = {gather->tree_a[c], gather->tree_b[c]};
  const struct sap_motion *one = gather->motion + contact->geom[0];
  const struct sap_motion *two = gather->motion + contact->geom[1];
  double *J = spins->J + spins->nJ;
  const int64_t length =
      sap_is_flex_contact(&gather->elements, contact)
          ? sap_flex_turning(&from->rows, contact, trees, J)
          : sap_torsional_jacobian(gather->forest, one, two,
                                   sap_doubles_at(from->list->frame, contact->index),
                                   kept->state->cdof, J);
  const enum sap_fault fault =
      sap_torsional_contacts_add(spins, from->list, contact, kept->n, length);
  const int32_t n = spins->spin.n;
  const int has_spin = n > 0 && spins->contact[n - 1] == kept->n;
  return has_spin && from->material.barrier != SAP_BARRIER_NONE ? SAP_FAULT_DIMENSION : fault;
}

/* Returns the slip speed of contact c, which is kept next, in the state before the step, m/s. */
static double slip_before(const struct kept *kept, int32_t c) {
  const double *v_hat_t = kept->gather->v_hat_t + 2 * (int64_t)kept->n;
  double slip[2];
  for (int r = 0; r < 2; ++r) {
    slip[r] = row_velocity(kept, c, r, kept->state->qvel) - v_hat_t[r];
  }
  return sqrt(slip[0] * slip[0] + slip[1] * slip[1]);
}

/* Returns the coefficient of friction of contact c, which is kept next, with this material. */
static double friction_of_material(const struct kept *kept, int32_t c,
                                   const struct sap_material *material) {
  if (!(material->mu_static > material->mu)) {
    return material->mu;
  }
  return sap_material_friction(material, slip_before(kept, c) / kept->gather->stiction_speed);
}

/* Returns mu of a contact; it is not finite if the engine's value is not. */
static double find_friction(const struct kept *kept, const struct source *from, int32_t c) {
  const struct sap_listed_contact *contact = kept->gather->contacts + c;
  if (contact->dim == 1) {
    return 0.0;
  }
  return from->material.friction_given
             ? friction_of_material(kept, c, &from->material)
             : sap_friction_of_engine(sap_doubles_at(from->list->friction, contact->index));
}

/* Finds the slip speed of contact c, which is kept next, over V_s. */
static void find_slip(const struct kept *kept, int32_t c) {
  struct sap_gather *gather = kept->gather;
  if (gather->slip_speed > 0.0) {
    gather->slip_ratio[kept->n] = slip_before(kept, c) / gather->slip_speed;
  }
}

static double find_release(const struct kept *kept, const struct source *from, int32_t c,
                           double phi0, double tau_d) {
  const struct sap_gather *gather = kept->gather;
  const int32_t trees[2] = {gather->tree_a[c], gather->tree_b[c]};
  if (from->material.barrier != SAP_BARRIER_NONE || !isinf(from->material.k)) {
    return INFINITY;
  }
  return sap_release_contact(from->release, gather->contacts + c, trees, kept->J, -phi0, tau_d);
}

/* Keeps listed contact c, unless it is inactive or moves no dof. A contact at a point on the axis
 * of the only joint moves none. */
static enum sap_fault gather_contact(struct kept *kept, struct source *from, int32_t c) {
  struct sap_gather *gather = kept->gather;
  const struct sap_listed_contact *contact = gather->contacts + c;
  const int32_t to = kept->n;
  const int64_t length = find_rows(kept, from, c);
  const double phi0 = *sap_doubles_at(from->list->dist, contact->index);
  if (length < 0 || !isfinite(phi0)) {
    return SAP_FAULT_CONTACT;
  }
  if (length == 0) {
    return SAP_FAULT_NONE;
  }
  find_material(gather, from, c);
  const struct sap_material *pair = &from->material;
  const double rebound = find_rebound(kept, from, c);
  const int is_impact = rebound > 0.0 && closes(kept, c, phi0);
  /* an approach that ends in a rebound is not braked before the gap closes */
  const double open_tau_d = rebound > 0.0 ? 0.0 : gather->open_tau_d;
  const double tau_d = phi0 > 0.0 ? fmin(pair->tau_d, open_tau_d) : pair->tau_d;
  if (!is_impact && may_be_inactive(kept, from, c, phi0, tau_d)) {
    return SAP_FAULT_NONE;
  }
  find_tangential(gather, from, contact, to);
  const double mu = find_friction(kept, from, c);
  if (!isfinite(mu)) {
    return SAP_FAULT_CONTACT;
  }
  gather->phi0[to] = phi0;
  gather->k[to] = pair->k;
  gather->tau_d[to] = tau_d;
  gather->barrier[to] = pair->barrier;
  gather->delta[to] = pair->delta;
  gather->barrier_lambda[to] = pair->barrier_lambda;
  gather->mu[to] = mu;
  if (contact->dim > 3 && mu > 0.0) {
    const enum sap_fault fault = add_spin(kept, from, c);
    if (fault != SAP_FAULT_NONE) {
      return fault;
    }
  }
  find_slip(kept, c);
  gather->rebound[to] = is_impact ? rebound : 0.0;
  gather->n_rebounds += is_impact;
  gather->release[to] = find_release(kept, from, c, phi0, tau_d);
  keep(kept, c, length);
  return SAP_FAULT_NONE;
}

/* ---- contacts of the faces of patches -------------------------------------------------------- */

/* Keeps contact c of a face, with the friction of this material, unless it moves no dof. */
static enum sap_fault gather_face(struct kept *kept, int32_t c,
                                  const struct sap_material *friction) {
  struct sap_gather *gather = kept->gather;
  const geo_surfaces *s = &gather->patches.found;
  const struct sap_listed_contact *contact = gather->contacts + c;
  const struct sap_face_contact face =
      sap_patches_contact(&gather->patches, gather->forest, contact->geom, contact->face,
                          gather->dt, gather->release_speed);
  const double *p = s->centroid + 3 * (int64_t)contact->face, phi0 = face.phi0;
  const int64_t length =
      sap_contact_jacobian(&kept->movers, kept->state, contact->geom, face.axes, p, kept->J);
  const int32_t to = kept->n;
  if (length < 0 || !isfinite(phi0)) {
    return SAP_FAULT_PATCH;
  }
  if (length == 0) {
    return SAP_FAULT_NONE;
  }
  memcpy(gather->position + 3 * (int64_t)to, p, 3 * sizeof *p);
  memcpy(gather->frame + 9 * (int64_t)to, face.axes, sizeof face.axes);
  gather->phi0[to] = phi0;
  gather->k[to] = face.k;
  gather->tau_d[to] = phi0 > 0.0 ? fmin(face.tau_d, gather->open_tau_d) : face.tau_d;
  gather->v_hat_t[2 * (int64_t)to] = gather->v_hat_t[2 * (int64_t)to + 1] = 0.0;
  gather->mu[to] = friction_of_material(kept, c, friction);
  gather->release[to] = gather->delta[to] = INFINITY;
  gather->rebound[to] = 0.0;
  gather->barrier[to] = SAP_BARRIER_NONE;
  gather->barrier_lambda[to] = 1.0;
  find_slip(kept, c);
  keep(kept, c, length);
  return SAP_FAULT_NONE;
}

/* Finds the surface of this face, and its friction. *surface is that of the face before, or -1. */
static void find_surface(const struct sap_gather *gather, int32_t face, int32_t *surface,
                         struct sap_material *friction) {
  while (*surface < 0 || face >= gather->patches.found.pair_start[*surface + 1]) {
    *friction = sap_patches_material(&gather->patches, gather->forest, ++*surface, gather->dt);
  }
}

/* ---- all ------------------------------------------------------------------------------------- */

sap_status sap_gather_contacts(struct sap_gather *gather, const struct sap_model_state *state,
                               const struct sap_contact_list *list,
                               const struct sap_element_state *elements, enum sap_cone cone,
                               const struct sap_release *release, enum sap_fault *fault,
                               int64_t *index) {
  *fault = SAP_FAULT_NONE;
  gather->n_rebounds = 0;
  if (!make_room(gather)) {
    return SAP_OUT_OF_MEMORY;
  }
  struct kept kept = {.gather = gather,
                      .state = state,
                      .movers = {gather->forest, gather->motion, gather->transposed},
                      .J = gather->J};
  struct source from = {.list = list,
                        .cone = cone,
                        .release = release,
                        .rows = {&gather->elements, elements, list, cone},
                        .pair = {-1, -1}};
  for (int32_t c = 0; c < gather->n_listed && *fault == SAP_FAULT_NONE; ++c) {
    *index = gather->contacts[c].index;
    *fault = gather_contact(&kept, &from, c);
  }
  int32_t surface = -1;
  struct sap_material friction = {0};
  const int32_t end = gather->problem.n_contacts;
  for (int32_t c = gather->n_listed; c < end && *fault == SAP_FAULT_NONE; ++c) {
    *index = gather->contacts[c].geom[0];
    find_surface(gather, gather->contacts[c].face, &surface, &friction);
    *fault = gather_face(&kept, c, &friction);
  }
  if (*fault == SAP_FAULT_NONE) {
    gather->problem.n_contacts = kept.n;
    gather->nJ = kept.n > 0 ? kept.J - gather->J : 0;
  }
  return SAP_OK;
}
