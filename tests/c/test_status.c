/* Tests errors as one line of text, and the defaults. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "check.h"

static void check_text(sap_error error, const char *expected) {
  char text[80];
  CHECK_EQUAL(sap_error_text(&error, text, sizeof text), strlen(expected));
  CHECK_STRING(text, expected);
}

static void every_kind_has_its_line(void) {
  check_text((sap_error){"dt", SAP_ERROR_SCALAR, -1, -1, -1, "must be > 0"},
             "dt = -1: must be > 0");
  check_text((sap_error){"J", SAP_ERROR_SCALAR, -1, -1, NAN, "must be given"}, "J: must be given");
  check_text((sap_error){"mu", SAP_ERROR_ENTRY, 3, -1, -0.5, "must be >= 0"},
             "mu[3] = -0.5: must be >= 0");
  check_text((sap_error){"phi0", SAP_ERROR_ENTRY, 0, -1, NAN, "must be finite"},
             "phi0[0]: must be finite");
  check_text((sap_error){"A", SAP_ERROR_TREE, 2, -1, NAN, "must be symmetric"},
             "A: the block of tree 2 must be symmetric");
  check_text((sap_error){"J", SAP_ERROR_CONSTRAINT, 4, -1, 0, "must give an effective mass"},
             "J: the rows of contact 4 must give an effective mass");
  check_text((sap_error){"J", SAP_ERROR_CONSTRAINT, 4, 1, 0, "must give an effective mass"},
             "group 1: J: the rows of constraint 4 must give an effective mass");
}

static void a_line_is_cut_to_the_room_there_is(void) {
  const sap_error error = {"mu", SAP_ERROR_ENTRY, 3, 12, -0.5, "must be >= 0"};
  const char whole[] = "group 12: mu[3] = -0.5: must be >= 0";
  char text[sizeof whole + 1];
  CHECK_EQUAL(sap_error_text(&error, NULL, 0), strlen(whole));
  for (size_t n = 1; n <= sizeof whole; ++n) {
    memset(text, '#', sizeof text);
    CHECK_EQUAL(sap_error_text(&error, text, n), strlen(whole));
    CHECK_EQUAL(strlen(text), n - 1);
    CHECK(strncmp(text, whole, n - 1) == 0);
    CHECK_EQUAL(text[n], '#');
  }
}

static void defaults_make_a_sound_problem(void) {
  const sap_problem problem = sap_problem_default();
  sap_error error;
  CHECK_EQUAL(sap_problem_check(&problem, NULL, &error), SAP_OK);
  const sap_parameters contacts = sap_parameters_default(0.01);
  const sap_group_parameters rows = sap_group_parameters_default(0.01);
  CHECK_EQUAL(sap_regularize(&problem, &contacts, NULL, NULL, NULL, NULL, &error), SAP_OK);
  CHECK(contacts.dt == 0.01 && rows.dt == 0.01);
  CHECK(contacts.beta == 1 && rows.beta == 0.1 && contacts.sigma == rows.sigma);
  const sap_solution solution = sap_solution_default();
  CHECK(!solution.v && !solution.gamma && !solution.regions);
}

static const check_test tests[] = {
    CHECK_TEST(every_kind_has_its_line),
    CHECK_TEST(a_line_is_cut_to_the_room_there_is),
    CHECK_TEST(defaults_make_a_sound_problem),
};
CHECK_FILE(test_status, tests);
