// Any of the tasks, chosen when the program runs: the only list of their types.
#pragma once

#include <type_traits>
#include <variant>

#include "covariances/columns.hpp"
#include "learner/regression.hpp"
#include "learner/softmax.hpp"
#include "learner/tasks.hpp"

namespace confidently {

using AnyTask = std::variant<Binary, Joint, OneVsRest, Multilabel, MultilabelOneVsRest, Softmax, Regression>;

// Whether a covariance serves a task.
template <class Covariance, class Task>
inline constexpr bool kServes =
    std::is_same_v<Task, Softmax>
        ? MovesColumns<Covariance> && !Covariance::one_column
        : !Covariance::one_column || std::is_same_v<Task, Binary> || std::is_same_v<Task, Regression>;

}  // namespace confidently
