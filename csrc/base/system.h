/* Threads, locks and processes of the operating system: system_posix.c and system_windows.c. */
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

/* a mutex, and the condition that its holders wait for */
struct sap_monitor {
  sap_system_mutex mutex;
  sap_system_condition condition;
};
void sap_monitor_init(struct sap_monitor *monitor);
void sap_monitor_destroy(struct sap_monitor *monitor);
void sap_monitor_enter(struct sap_monitor *monitor);
void sap_monitor_leave(struct sap_monitor *monitor);

/* By a holder, who lets others in meanwhile; it may return without a reason. */
void sap_monitor_wait(struct sap_monitor *monitor);
void sap_monitor_wake_all(struct sap_monitor *monitor);

struct sap_thread {
  sap_system_thread system;
  void (*run)(void *context);
  void *context;
};

/* Runs `run` in a thread of its own, which takes no signals but faults; 0 where it cannot be made.
 * `thread` stays where it is until it is joined. */
int sap_thread_start(struct sap_thread *thread, void (*run)(void *context), void *context);
void sap_thread_join(struct sap_thread *thread);

/* offers the core to others */
void sap_thread_yield(void);

/* number of this process: another one in a child made by fork() */
int64_t sap_process(void);

#endif
