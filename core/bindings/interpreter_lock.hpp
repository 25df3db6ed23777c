// Other Python threads may run while compiled code works, if that is worth it: to get the interpreter's lock back from
// a thread that keeps it takes up to half a millisecond, in which hundreds of short rows could be learned.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>

namespace confidently::python {

// Work of this size takes about as long as a change of threads.
inline constexpr std::int64_t kManyEntries = 2048;
inline constexpr std::size_t kManyBytes = 16384;

class ReleasedLock {
  public:
    explicit ReleasedLock(bool if_worth_it) {
        if (if_worth_it) released_.emplace();
    }

  private:
    std::optional<nanobind::gil_scoped_release> released_;
};

}  // namespace confidently::python
