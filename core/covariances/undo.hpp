// The numbers that a call has replaced, so that one that fails leaves no change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace confidently {

template <class Real>
class Undo {
  public:
    struct Change {
        Real* number;
        Real before;
    };

    // Room for so many more changes, which the caller fills in.
    Change* extend(std::size_t more) {
        if (size_ + more > changes_.size()) changes_.resize(std::max(size_ + more, 2 * changes_.size()));
        Change* added = changes_.data() + size_;
        size_ += more;
        return added;
    }

    void note(Real* number) { *extend(1) = {number, *number}; }
    void clear() { size_ = 0; }

    void roll_back() {
        for (; size_ > 0; --size_) *changes_[size_ - 1].number = changes_[size_ - 1].before;
    }

  private:
    std::vector<Change> changes_;
    std::size_t size_ = 0;
};

}  // namespace confidently
