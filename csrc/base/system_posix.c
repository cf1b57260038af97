#define _POSIX_C_SOURCE 200809L

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "base/system.h"

void sap_monitor_init(struct sap_monitor *monitor) {
  pthread_mutex_init(&monitor->mutex, NULL);
  pthread_cond_init(&monitor->condition, NULL);
}

void sap_monitor_destroy(struct sap_monitor *monitor) {
  pthread_cond_destroy(&monitor->condition);
  pthread_mutex_destroy(&monitor->mutex);
}

void sap_monitor_enter(struct sap_monitor *monitor) { pthread_mutex_lock(&monitor->mutex); }

void sap_monitor_leave(struct sap_monitor *monitor) { pthread_mutex_unlock(&monitor->mutex); }

void sap_monitor_wait(struct sap_monitor *monitor) {
  pthread_cond_wait(&monitor->condition, &monitor->mutex);
}

void sap_monitor_wake_all(struct sap_monitor *monitor) {
  pthread_cond_broadcast(&monitor->condition);
}

/* Threads of the application receive the signals; a fault goes to the thread that made it. */
static void block_signals(sigset_t *before) {
  const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  sigset_t all;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
    sigdelset(&all, faults[i]);
  }
  pthread_sigmask(SIG_SETMASK, &all, before);
}

static void *run(void *argument) {
  const struct sap_thread *thread = argument;
  thread->run(thread->context);
  return NULL;
}

int sap_thread_start(struct sap_thread *thread, void (*body)(void *context), void *context) {
  thread->run = body;
  thread->context = context;
  sigset_t before;
  block_signals(&before);
  const int failed = pthread_create(&thread->system, NULL, run, thread) != 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return !failed;
}

void sap_thread_join(struct sap_thread *thread) { pthread_join(thread->system, NULL); }

void sap_thread_yield(void) { sched_yield(); }

int64_t sap_process(void) { return getpid(); }
