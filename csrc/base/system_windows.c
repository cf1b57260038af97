#include "base/system.h"

#include <process.h>

void sap_monitor_init(struct sap_monitor *monitor) {
  InitializeSRWLock(&monitor->mutex);
  InitializeConditionVariable(&monitor->condition);
}

void sap_monitor_destroy(struct sap_monitor *monitor) { (void)monitor; }

void sap_monitor_enter(struct sap_monitor *monitor) { AcquireSRWLockExclusive(&monitor->mutex); }

void sap_monitor_leave(struct sap_monitor *monitor) { ReleaseSRWLockExclusive(&monitor->mutex); }

void sap_monitor_wait(struct sap_monitor *monitor) {
  SleepConditionVariableSRW(&monitor->condition, &monitor->mutex, INFINITE, 0);
}

void sap_monitor_wake_all(struct sap_monitor *monitor) {
  WakeAllConditionVariable(&monitor->condition);
}

static unsigned __stdcall run(void *argument) {
  const struct sap_thread *thread = argument;
  thread->run(thread->context);
  return 0;
}

int sap_thread_start(struct sap_thread *thread, void (*body)(void *context), void *context) {
  thread->run = body;
  thread->context = context;
  thread->system = (HANDLE)_beginthreadex(NULL, 0, run, thread, 0, NULL);
  return thread->system != NULL;
}

void sap_thread_join(struct sap_thread *thread) {
  WaitForSingleObject(thread->system, INFINITE);
  CloseHandle(thread->system);
}

void sap_thread_yield(void) { SwitchToThread(); }

int64_t sap_process(void) { return GetCurrentProcessId(); }
