// The training loop of the most common learner, compiled once more as a whole: PackedDiagonalAvx2 on rows of CSR in
// double precision.
//
// The code is that of learn.hpp, and so are the numbers, to the last bit. But here the type of the rows is known, and
// that of the rule if it is a confidence-weighted one, and everything is inlined into one function for AVX2. So a row
// costs no calls, whose arguments and results pass through memory: with 63 features that fit the second level of the
// cache, its 560 cycles become 430. An update waits for the margin, and the next margin for the update. Meanwhile the
// processor looks ahead by some 500 instructions, which are better spent on the next row.
//
// Other rows, covariances and tasks, and other processors, take the loop as it is.
#pragma once

#include <type_traits>
#include <variant>

#include "covariances/packed_avx2.hpp"
#include "learner/learn.hpp"
#include "tasks/binary.hpp"

namespace confidently {

#if CONFIDENTLY_X86
template <class Rule, class... Rules>
constexpr bool is_one_of(RuleList<Rules...>) {
    return (... || std::is_same_v<Rule, Rules>);
}

template <class Covariance, class Task, class Rule>
CONFIDENTLY_AVX2 __attribute__((flatten, noinline)) void learn_avx2(Covariance& covariance, Task& task,
                                                                    const Rule& rule, const CsrRows<double>& rows,
                                                                    const Training& training) {
    learn<double>(covariance, task, rule, rows, training);
}
#endif

// Of a single row, less is saved than it takes to find out its type.
inline bool several(const Batch& batch) { return batch.to - batch.from > 1; }

// Trains on the rows of a batch in the fastest way.
template <class Real, class Covariance, class Task>
void learn_rows(Covariance& covariance, Task& task, const AnyRule& rule, const Training& training) {
#if CONFIDENTLY_X86
    if constexpr (requires { Covariance::avx2; })
        if (const auto* rows =
                several(training.batch) ? dynamic_cast<const CsrRows<double>*>(&training.batch.rows) : nullptr)
            return std::visit([&]<class Rule>(const Rule& one) {
                if constexpr (std::is_same_v<Task, Binary> && is_one_of<Rule>(ConfidenceWeightedRules()))
                    learn_avx2(covariance, task, one, *rows, training);
                else
                    learn_avx2(covariance, task, rule, *rows, training);
            }, rule);
#endif
    learn<Real>(covariance, task, rule, training.batch.rows, training);
}

}  // namespace confidently
