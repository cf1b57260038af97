/* Tests rows of flexes, whose trees are those of the columns of the engine's rows.
 *
 * Trees 0, 1 and 2 have the dofs 0, 1 to 2, and 3 to 4. */

#include "element_model.h"
#include "step/contacts/flex_rows.h"

enum { NV = 5, TREES = 3 };

/* components n, t1, t2 and torques about them of a contact of trees 0 and 2 */
static const double component[6][NV] = {{1, 0, 0, 2, -1}, {0, 0, 0, 3, 0}, {-2, 0, 0, 0, 1},
                                        {0, 0, 0, 5, 0},  {0, 0, 0, 0, 7}, {6, 0, 0, 0, 0}};
static const double along[9] = {0, -2, 1, 3, 0, 0, 1, 2, -1}; /* t1, t2, n in trees 0 and 2 */
static const double about[9] = {0, 0, 6, 5, 0, 0, 7, 0, 0};   /* n, t1, t2 likewise */

struct scene {
  struct model m;
  double friction[5];
  struct sap_element_gather g;
  struct sap_contact_list list;
  struct sap_flex_rows rows;
};

static void begin(struct scene *s, enum sap_cone cone) {
  memset(s, 0, sizeof *s);
  s->m = (struct model){.tree_dofadr = {0, 1, 3},
                        .tree_dofnum = {1, 2, 2},
                        .equality_kind = {SAP_EQUALITY_ROWS},
                        .equality_tree = {-1, -1},
                        .equality_k = {9, 1},
                        .equality_scale = {1}};
  wire(&s->m, TREES, NV, &(struct sap_elements){.n_equalities = 1, .n_flexes = 1});
  s->m.forest.n_geoms = 2;
  const double friction[5] = {0.5, 0.25, 0.125, 0.0625, 0.03125};
  memcpy(s->friction, friction, sizeof friction);
  s->list.friction = (struct sap_field){(const char *)s->friction, sizeof s->friction};
  s->rows = (struct sap_flex_rows){&s->g, &s->m.state, &s->list, cone};
  REQUIRE(sap_element_gather_create(&s->g, &s->m.elements, &s->m.forest, NULL) == SAP_OK);
}

/* Adds the rows of the contact, or the edges of its pyramid. */
static void add_contact_rows(struct scene *s, int32_t dim) {
  const int is_pyramid = s->rows.cone == SAP_CONE_PYRAMIDAL && dim > 1;
  for (int32_t k = is_pyramid; k < dim; ++k) {
    for (int sign = 1; sign >= (is_pyramid ? -1 : 1); sign -= 2) {
      double J[NV];
      for (int j = 0; j < NV; ++j) {
        J[j] = is_pyramid ? component[0][j] + sign * s->friction[k - 1] * component[k][j]
                          : component[k][j];
      }
      add_row(&s->m, SAP_ROW_CONTACT, 0, 0, 0, J);
    }
  }
}

static void rows_and_edges_give_the_same_jacobian(void) {
  for (int i = 0; i < 8; ++i) {
    static const int32_t dims[] = {1, 3, 4, 6};
    struct scene s;
    begin(&s, i < 4 ? SAP_CONE_ELLIPTIC : SAP_CONE_PYRAMIDAL);
    const int32_t dim = dims[i % 4];
    add_contact_rows(&s, dim);
    const struct sap_listed_contact contact = {.dim = dim, .geom = {0, 1}};
    CHECK(sap_is_flex_contact(&s.g, &contact));
    int32_t tree[2];
    REQUIRE(sap_flex_trees(&s.rows, &contact, tree));
    CHECK(tree[0] == 0 && tree[1] == 2);
    double J[9], expected[9];
    memcpy(expected, along, sizeof along);
    if (dim == 1) {
      expected[0] = expected[1] = 0.0;
      memset(expected + 3, 0, 4 * sizeof *expected);
    }
    CHECK_EQUAL(sap_flex_jacobian(&s.rows, &contact, tree, J), 9);
    CHECK_ALL_CLOSE(J, expected, 9, 1e-14);
    CHECK_EQUAL(sap_flex_turning(&s.rows, &contact, tree, J), dim > 3 ? 9 : 0);
    for (int j = 0; j < 9; ++j) { /* torsion alone moves dof 3 */
      expected[j] = dim == 6 || j == 3 ? about[j] : 0.0;
    }
    if (dim > 3) {
      CHECK_ALL_CLOSE(J, expected, 9, 1e-13);
    }
    sap_element_gather_release(&s.g);
  }
}

static void wrong_rows_are_refused(void) {
  struct scene s;
  begin(&s, SAP_CONE_ELLIPTIC);
  add_contact_rows(&s, 3);
  struct sap_listed_contact contact = {.dim = 3, .geom = {1, 0}};
  int32_t tree[2];
  double J[9];
  CHECK(sap_flex_trees(&s.rows, &contact, tree));
  s.m.J[1] = 1e-20; /* round-off of a third tree */
  CHECK(sap_flex_trees(&s.rows, &contact, tree));
  s.m.J[0] = INFINITY;
  CHECK_EQUAL(sap_flex_jacobian(&s.rows, &contact, tree, J), -1);
  s.m.J[1] = 0.5;
  CHECK(!sap_flex_trees(&s.rows, &contact, tree));
  s.m.J[1] = 0.0;
  s.m.J_col[0] = NV;
  CHECK(!sap_flex_trees(&s.rows, &contact, tree));
  s.m.J_col[0] = 0;
  contact.row = 1; /* one row is behind the last */
  CHECK(!sap_flex_trees(&s.rows, &contact, tree));
  contact.geom[0] = 0;
  CHECK(!sap_is_flex_contact(&s.g, &contact));
  sap_element_gather_release(&s.g);
}

static void rows_of_an_equality_are_constraints_of_their_own(void) {
  for (int dense = 0; dense < 2; ++dense) {
    struct scene s;
    begin(&s, SAP_CONE_ELLIPTIC);
    add_row(&s.m, SAP_ROW_EQUALITY, 0, 0.25, 0, (const double[NV]){1, 0, 2, 0, 0});
    add_row(&s.m, SAP_ROW_EQUALITY, 0, 0.5, 0, (const double[NV]){0});
    add_row(&s.m, SAP_ROW_EQUALITY, 0, -1, 0, (const double[NV]){0, 0, 0, 3, 4});
    if (dense) {
      s.m.state.efc_J_rownnz = s.m.state.efc_J_rowadr = s.m.state.efc_J_colind = NULL;
    }
    enum sap_fault fault;
    int64_t index;
    uint8_t touched[TREES] = {0};
    REQUIRE(sap_elements_check(&s.m.elements, &s.m.forest, NULL) == SAP_OK);
    REQUIRE(gather_rows(&s.g, &s.m.state, touched, &fault, &index) == SAP_OK);
    REQUIRE(fault == SAP_FAULT_NONE && s.g.n_groups == 1 && s.g.groups[0].n == 2);
    CHECK(touched[0] && touched[1] && touched[2]);
    CHECK(s.g.groups[0].tree_b[0] == 1 && s.g.groups[0].tree_a[1] == 2);
    CHECK_EQUAL(s.g.groups[0].tree_b[1], -1);
    CHECK_ALL_CLOSE(s.g.groups[0].J, ((const double[]){1, 0, 2, 3, 4}), 5, 0);
    CHECK_ALL_CLOSE(s.g.value[0], ((const double[]){0.25, -1}), 2, 0);
    CHECK_ALL_CLOSE(s.g.value[1], ((const double[]){9, 9}), 2, 0);
    CHECK(s.g.label[1].part == 2 && s.g.label[1].row == 2);
    /* a row of three trees */
    s.m.J[3] = 1;
    CHECK(gather_rows(&s.g, &s.m.state, touched, &fault, &index) == SAP_OK);
    CHECK_EQUAL(fault, SAP_FAULT_ROWS);
    sap_element_gather_release(&s.g);
  }
}

static void surfaces_of_flexes_are_geoms(void) {
  struct scene s;
  begin(&s, SAP_CONE_ELLIPTIC);
  sap_error error = {0};
  s.m.elements.n_flexes = 3;
  CHECK_EQUAL(sap_elements_check(&s.m.elements, &s.m.forest, &error), SAP_INVALID_ARGUMENT);
  CHECK_STRING(error.argument, "n_flexes");
  sap_element_gather_release(&s.g);
}

static const struct check_test tests[] = {
    CHECK_TEST(rows_and_edges_give_the_same_jacobian),
    CHECK_TEST(wrong_rows_are_refused),
    CHECK_TEST(rows_of_an_equality_are_constraints_of_their_own),
    CHECK_TEST(surfaces_of_flexes_are_geoms),
};

CHECK_FILE(test_flex_rows, tests);
