#include "python/errors.h"

#include <string.h>

#include "base/fail.h"

/* Arguments that have another name in C. */
static const struct {
  const char *in_c, *in_python;
} renamed[] = {{"barrier", "core"},
               {"barrier_lambda", "core_lambda"},
               {"barrier_table", "core_table"},
               {"barrier_table.s", "core_table[0]"},
               {"barrier_table.curvature", "core_table[1]"},
               {"qdd", "qdd_desired"}};

static const char *name_of(const sap_error *error, char text[SAPWOOD_NAME_LENGTH]) {
  if (error->group >= 0) {
    return sapwood_group_name(text, error->group, error->argument);
  }
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
    if (strcmp(error->argument, renamed[i].in_c) == 0) {
      return renamed[i].in_python;
    }
  }
  return error->argument;
}

static void raise_value_error(const sap_error *error) {
  char text[SAPWOOD_NAME_LENGTH];
  const char *name = name_of(error, text);
  if (error->kind == SAP_ERROR_TREE || error->kind == SAP_ERROR_CONSTRAINT) {
    char fault[256];
    sap_fault_text(error, name, fault, sizeof fault);
    PyErr_SetString(PyExc_ValueError, fault);
  } else {
    sapwood_value_error(name, error->index, error->value, error->rule);
  }
}

int sapwood_refuse_keywords(PyObject *keywords, const char *type) {
  if (keywords == NULL || PyDict_GET_SIZE(keywords) == 0) {
    return 0;
  }
  return SAPWOOD_FAIL(PyExc_TypeError, "%s takes no keyword arguments", type);
}

int sapwood_raise(sap_status status, const sap_error *error) {
  if (status == SAP_OK) {
    return 0;
  }
  if (status == SAP_OUT_OF_MEMORY) {
    PyErr_NoMemory();
  } else if (status == SAP_INTERRUPTED) {
    /* the handler has raised its exception */
  } else if (error == NULL || error->argument == NULL) {
    PyErr_SetString(PyExc_ValueError, sap_status_text(status));
  } else {
    raise_value_error(error);
  }
  return -1;
}

void sapwood_note_place(const char *name, Py_ssize_t i) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *note = PyUnicode_FromFormat("in %s[%zd]", name, i);
  PyObject *done = note == NULL ? NULL : PyObject_CallMethod(value, "add_note", "O", note);
  if (done == NULL) {
    PyErr_Clear();
  }
  Py_XDECREF(done);
  Py_XDECREF(note);
  PyErr_Restore(type, value, traceback);
}

const char *sapwood_group_name(char text[SAPWOOD_NAME_LENGTH], int32_t k, const char *name) {
  PyOS_snprintf(text, SAPWOOD_NAME_LENGTH, "constraints[%d].%s", (int)k, name);
  return text;
}

PyObject *sapwood_take_exception(void) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value != NULL && traceback != NULL) {
    PyException_SetTraceback(value, traceback);
  }
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
}
