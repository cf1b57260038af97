#include "python/problem/problem_arguments.h"

#define NAME(name) #name,
#define NONE(name) .name = Py_None,
#define TARGET(name) , &in->name

int sapwood_problem_arguments_parse(sapwood_problem_arguments *in, PyObject *args,
                                    PyObject *keywords) {
  static char *names[] = {SAPWOOD_PROBLEM_ARGUMENTS(NAME) NULL};
  *in = (sapwood_problem_arguments){SAPWOOD_PROBLEM_ARGUMENTS(NONE)};
  in->groups = NULL;
  return PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOOOOOOO|OOOOOOOOOOOOOOOOOOOO:Problem",
                                     names SAPWOOD_PROBLEM_ARGUMENTS(TARGET))
             ? 0
             : -1;
}
