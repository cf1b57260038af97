#include "mujoco/engine/guard.h"

#include <setjmp.h>
#include <string.h>

#include "mujoco/engine/enumerations.h"
#include "mujoco/engine/fields.h"

/* The first fields of mjLogMessage. */
struct log_message {
  int level, topic;
  char subject[SAP_MUJOCO_MESSAGE];
};

struct guard {
  jmp_buf place;
  char *message;
  sap_mujoco_log *outer; /* handler before the outermost call */
  int lean;              /* its warnings are dropped */
  struct guard *previous;
};

/* The innermost call on this thread; MuJoCo passes no context to its handler. */
static _Thread_local struct guard *innermost;

static void handle_message(const void *object) {
  const struct log_message *message = object;
  struct guard *now = innermost;
  if (message->level != SAP_MJLOG_ERROR) {
    if (!now->lean) {
      now->outer(object);
    }
    return;
  }
  memcpy(now->message, message->subject, SAP_MUJOCO_MESSAGE);
  now->message[SAP_MUJOCO_MESSAGE - 1] = '\0';
  longjmp(now->place, 1);
}

static int call(const sap_mujoco *api, void (*body)(void *), void *context, char *message,
                int lean) {
  sap_mujoco_log *const before = api->_mjPRIVATE_setTlsLogHandler(handle_message);
  struct guard now = {.message = message, .lean = lean, .previous = innermost};
  /* warnings skip all nested calls, because a handler in between may pass them on to this one */
  now.outer = innermost != NULL ? innermost->outer : before;
  if (now.outer == NULL) {
    now.outer = api->_mjPRIVATE_getGlobalLogHandler();
  }
  /* volatile: GCC 12 on AArch64 otherwise sets it before the call, and a jump out of it keeps
   * that */
  volatile int answer = -1;
  innermost = &now;
  if (setjmp(now.place) == 0) {
    body(context);
    answer = 0;
  }
  innermost = now.previous;
  api->_mjPRIVATE_setTlsLogHandler(before);
  return answer;
}

/* Does call() for a world, and frees the stack memory of functions that an error left. */
static int call_for(const sap_mujoco_world *world, void (*body)(void *), void *context,
                    char *message, int lean) {
  const size_t pstack = SAP_DATA(world, pstack), pbase = SAP_DATA(world, pbase);
  const int answer = call(world->api, body, context, message, lean);
  if (answer < 0) {
    SAP_SET_DATA(world, pstack, pstack);
    SAP_SET_DATA(world, pbase, pbase);
  }
  return answer;
}

int sap_mujoco_call(sap_mujoco_world *world, void (*body)(void *), void *context) {
  return call_for(world, body, context, world->end.message, 0);
}

int sap_mujoco_try(const sap_mujoco_world *world, void (*body)(void *), void *context) {
  char message[SAP_MUJOCO_MESSAGE];
  return call_for(world, body, context, message, 1);
}

static const char probe[] = "sapwood looks for the way errors take";

static void raise_probe(void *context) {
  const sap_mujoco *const *api = context;
  (*api)->mju_error("%s", probe);
}

int sap_mujoco_catches_errors(const sap_mujoco *api) {
  char message[SAP_MUJOCO_MESSAGE] = "";
  return call(api, raise_probe, &api, message, 0) != 0 && strcmp(message, probe) == 0;
}
