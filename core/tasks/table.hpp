// All tasks: the only list of them.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <variant>

#include "covariances/columns.hpp"
#include "tasks/binary.hpp"
#include "tasks/joint.hpp"
#include "tasks/labels.hpp"
#include "tasks/numbers.hpp"
#include "tasks/one_vs_rest.hpp"
#include "tasks/softmax.hpp"

namespace confidently {

// Any of the tasks, chosen when the program runs.
using AnyTask = std::variant<Binary, Joint, OneVsRest, Multilabel, MultilabelOneVsRest, Softmax, Regression>;

struct TaskRow {
    TaskFacts facts;
    AnyTask (*make)();
};

template <class T>
AnyTask made() {
    return T();
}

template <Offset offset>
AnyTask made_regression() {
    return Regression(offset);
}

inline constexpr std::array kTasks{
    TaskRow{Binary::facts, made<Binary>},
    TaskRow{Joint::facts, made<Joint>},
    TaskRow{OneVsRest::facts, made<OneVsRest>},
    TaskRow{Multilabel::facts, made<Multilabel>},
    TaskRow{MultilabelOneVsRest::facts, made<MultilabelOneVsRest>},
    TaskRow{Softmax::facts, made<Softmax>},
    TaskRow{Regression::facts, made_regression<Offset::none>},
    TaskRow{Regression::named("offset_regression"), made_regression<Offset::mean>},
    TaskRow{Regression::named("centered_regression"), made_regression<Offset::centered>},
};

// The number of a task in the table.
enum class Task : std::size_t {};

inline const TaskFacts& facts_of(Task task) { return kTasks[std::size_t(task)].facts; }
inline AnyTask any_task(Task task) { return kTasks[std::size_t(task)].make(); }

// Whether a covariance serves a task.
template <class Covariance, class Task>
inline constexpr bool kServes =
    GathersColumns<Covariance> ? Task::facts.one_column || std::is_same_v<Task, Joint>
    : Task::facts.all_columns  ? MovesColumns<Covariance> && !Covariance::one_column
                               : !Covariance::one_column || Task::facts.one_column || Task::facts.targets;

}  // namespace confidently
