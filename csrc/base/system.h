/* This module wraps threads, locks and processes of the operating system. system_posix.c and
 * system_windows.c implement it. */
#ifndef SAPWOOD_BASE_SYSTEM_H
#define SAPWOOD_BASE_SYSTEM_H

#include <stdint.h>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
typedef SRWLOCK sap_system_mutex;
typedef CONDITION_VARIABLE sap_system_condition;
typedef HANDLE sap_system_thread;
#else
#include <pthread.h>
typedef pthread_mutex_t sap_system_mutex;
typedef pthread_cond_t sap_system_condition;
typedef pthread_t sap_system_thread;
#endif

/* A monitor is a mutex with the condition that its holders wait for. */
struct sap_monitor {
  sap_system_mutex mutex;
  sap_system_condition condition;
};
void sap_monitor_init(struct sap_monitor *monitor);
void sap_monitor_destroy(struct sap_monitor *monitor);
void sap_monitor_enter(struct sap_monitor *monitor);
void sap_monitor_leave(struct sap_monitor *monitor);

/* The holder calls it and lets others in meanwhile; it may return without a reason. */
void sap_monitor_wait(struct sap_monitor *monitor);
void sap_monitor_wake_all(struct sap_monitor *monitor);

struct sap_thread {
  sap_system_thread system;
  void (*run)(void *context);
  void *context;
};

/* Runs `run` in a thread of its own, which receives no signals except faults; 0 if the thread
 * cannot be created. `thread` must not move until it is joined. */
int sap_thread_start(struct sap_thread *thread, void (*run)(void *context), void *context);
void sap_thread_join(struct sap_thread *thread);

/* Offers the core to other threads. */
void sap_thread_yield(void);

/* Returns the number of this process; a child made by fork() has another one. */
int64_t sap_process(void);

#endif
