// Asking for memory that is soon to be read, so that it is there by then.
#pragma once

namespace confidently {

// The empty statements are needed: to GCC, a function that does nothing but ask has no effect, and calls to it are left
// out.

inline void prefetch(const void* p) {
#if defined(__GNUC__)
    __builtin_prefetch(p);
    asm volatile("");
#else
    (void)p;
#endif
}

// To the second level of the cache only. The first takes few requests at a time, and would have to drop other numbers
// for them.
inline void prefetch_far(const void* p) {
#if defined(__GNUC__)
    __builtin_prefetch(p, 0, 2);
    asm volatile("");
#else
    (void)p;
#endif
}

}  // namespace confidently
