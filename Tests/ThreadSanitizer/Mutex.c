// SPDX-License-Identifier: Apache-2.0
// Swift's Mutex waits inside the standard library, which is not instrumented: to the thread sanitizer, a thread that
// acquired the lock after a wait does not hold it. The linker's --wrap redirects the calls to these functions.
#if __has_feature(thread_sanitizer)
#include <stdbool.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

SWIFT void lock(uint32_t thread, SELF void *handle)
    __asm__("__real_$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void unlock(SELF void *handle) __asm__("__real_$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
SWIFT bool tryLock(SELF void *handle) __asm__("__real_$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");

SWIFT void seenLock(uint32_t thread, SELF void *handle)
    __asm__("__wrap_$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void seenUnlock(SELF void *handle) __asm__("__wrap_$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
SWIFT bool seenTryLock(SELF void *handle) __asm__("__wrap_$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");

SWIFT void seenLock(uint32_t thread, SELF void *handle) {
    lock(thread, handle);
    __tsan_acquire(handle);
}

SWIFT void seenUnlock(SELF void *handle) {
    __tsan_release(handle);
    unlock(handle);
}

SWIFT bool seenTryLock(SELF void *handle) {
    bool isLocked = tryLock(handle);
    if (isLocked) __tsan_acquire(handle);
    return isLocked;
}
#endif
