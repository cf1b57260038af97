/* A test in a process made by fork(), where there is one: Windows has none, and ThreadSanitizer
 * does not follow a process with threads into its children. */
#ifndef SAPWOOD_TESTS_CHILD_H
#define SAPWOOD_TESTS_CHILD_H

#if !defined(_WIN32) && !defined(__SANITIZE_THREAD__)
#define CHECK_CHILDREN

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `child` in a process made by fork(). Returns 1 if it returns 1. */
static inline int holds_in_child(int (*child)(void *), void *context) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    _exit(child(context) ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#endif

#endif
