// Shared by the bindings of the learners: matrices, rules, tasks, entries of the state.
#pragma once

#include <optional>
#include <string>

#include "learner/learn.hpp"
#include "bindings/arrays.hpp"

namespace confidently::python {

// A matrix and the Python objects that own its arrays.
struct Matrix {
    std::unique_ptr<Rows> rows;
    std::int64_t stored;
    std::vector<nb::object> owners;
    double checked = 0.0;  // every row is valid and no absolute value is larger; 0: not checked yet
};

// A struct, because nanobind would convert a bare variant into its alternatives.
struct Rule {
    AnyRule any;
};

// What training has replaced in the weights of a state, of either type.
struct UndoLog {
    Undo<float> narrow;
    Undo<double> wide;

    template <class Real>
    Undo<Real>& of() {
        if constexpr (sizeof(Real) == 4)
            return narrow;
        else
            return wide;
    }
    void clear() { narrow.clear(), wide.clear(); }
    void roll_back() { narrow.roll_back(), wide.roll_back(); }
};

enum class Task { binary, joint, one_vs_rest, multilabel };

// An entry of the state. It may be a read-only array, since prediction only reads it; Python makes it writable before
// training.
template <class T, int dimensions>
auto entry(const nb::dict& state, const char* name) {
    return nb::cast<Input<T, dimensions>>(state[name]);
}

template <class T>
T* data(const nb::dict& state, const char* name) {
    return const_cast<T*>(entry<T, 1>(state, name).data());
}

inline int calibration_size(Task task, int columns) {
    if (task == Task::binary) return SigmoidCalibration::size;
    return task == Task::multilabel ? SigmoidCalibration::size * (columns - 1) : TemperatureCalibration::size;
}

// Checks the entries that every learner has, for a number of columns.
inline void require_counts(const nb::dict& state, Task task, int columns) {
    const auto learners = static_cast<std::size_t>(task == Task::one_vs_rest ? columns : 1);
    for (const char* name : {"scale", "folded"})
        require(entry<double, 1>(state, name).size() == learners, "the scales do not match the weights");
    require(entry<std::int64_t, 1>(state, "updates").size() == learners, "the updates do not match the weights");
    require(entry<std::int64_t, 1>(state, "counters").size() == 3, "there must be three counters");
    require(int(entry<double, 1>(state, "calibration").size()) == calibration_size(task, columns),
            "the calibration does not match the weights");
}

// Calls f with the task.
template <class F>
void with_task(Task task, F&& f) {
    switch (task) {
        case Task::binary: return f(Binary());
        case Task::joint: return f(Joint());
        case Task::one_vs_rest: return f(OneVsRest());
        case Task::multilabel: return f(Multilabel());
    }
}

}  // namespace confidently::python
