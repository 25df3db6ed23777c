// Shared by the bindings of the learners: matrices, rules, tasks, entries of the state.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "tasks/table.hpp"
#include "learner/learn.hpp"
#include "views/pair_table.hpp"

namespace confidently::python {

// A matrix and the Python objects that own its arrays.
struct Matrix {
    std::unique_ptr<Rows> rows;
    std::int64_t stored;
    std::vector<nb::object> owners;
    double checked = 0.0;  // every row is valid and no absolute value is larger; 0: not checked yet
    // Whether all columns are in range; otherwise its rows must be checked one by one. Looked at when it is first asked
    // for.
    std::shared_ptr<std::atomic<bool>> in_range = std::make_shared<std::atomic<bool>>(false);
};

// A struct, because nanobind would convert a bare variant into its alternatives.
struct Rule {
    AnyRule any;
};

// What training has replaced in the weights of a state, of either type.
struct UndoLog {
    Undo<float> narrow;
    Undo<double> wide;
    Undo<std::int64_t> lists;                               // of weights of which only some are stored
    std::vector<std::pair<PairTable, std::int64_t>> terms;  // and how many a table had

    UndoLog() = default;
    explicit UndoLog(std::size_t first_block) : narrow(first_block), wide(first_block), lists(first_block) {}

    template <class Real>
    Undo<Real>& of() {
        if constexpr (sizeof(Real) == 4)
            return narrow;
        else
            return wide;
    }
    void clear() { narrow.clear(), wide.clear(), lists.clear(), terms.clear(); }
    void roll_back() {
        narrow.roll_back(), wide.roll_back(), lists.roll_back();
        for (; !terms.empty(); terms.pop_back()) terms.back().first.forget(terms.back().second);
    }
};

template <class T>
T* data(const nb::dict& state, const char* name) {
    return const_cast<T*>(entry<T, 1>(state, name).data());
}

// What a call trains on besides a matrix: the labels of rows, or their targets, their weights, and the part of an
// order; and what it records of them. Python makes it in one place (src/confidently/covariances/examples.py).
struct TrainingRows {
    Input<std::int32_t, 1> labels;
    Optional<std::int64_t> label_start;
    Optional<double> weight, class_weight;
    Optional<std::int64_t> order;
    std::int64_t from, to;
    Optional<std::int64_t> class_start;
    std::optional<Input<double, 2>> targets;
    bool calibrate;
    std::optional<Array<double, 1>> log_loss;
    std::optional<Array<double, 2>> logits, evidence;
    std::optional<Array<double, 1>> scores;
    const Matrix* seen = nullptr;  // where the rows to train on are only products of these; order and first: of them
    Optional<std::int64_t> seen_order = {};
    std::int64_t seen_first = 0;

    // Checks everything that training on rows of a matrix indexes by.
    void check(const TaskFacts& task, int columns, std::int64_t n_rows) const {
        const bool lists = task.lists;
        require(targets.has_value() == task.targets, "targets are for regression, and needed there");
        require(!targets || (std::int64_t(targets->shape(0)) == n_rows && std::int64_t(targets->shape(1)) == columns),
                "targets do not match the rows and columns");
        const std::int64_t least = targets ? 1 : 2;
        const std::int64_t classes = lists ? columns - task.extra_columns() : std::max<std::int64_t>(columns, least),
                           new_classes = std::int64_t(starts().size());
        require(new_classes <= classes - (lists ? 0 : least), "more classes begin than there are");
        require(std::is_sorted(starts().begin(), starts().end()), "class_start must not decrease");
        require(from >= 0 && from <= to && to <= (order ? std::int64_t(order->size()) : n_rows), "rows out of range");
        require(label_start.has_value() == lists, "lists of labels are for multilabel data, and needed there");
        require(lists ? std::int64_t(label_start->size()) == n_rows + 1 : std::int64_t(labels.size()) == n_rows,
                "labels do not match the rows");
        require(!weight || std::int64_t(weight->size()) == n_rows, "weights do not match the rows");
        require(!class_weight || (!lists && std::int64_t(class_weight->size()) == classes),
                "class weights do not match the classes");
        if (order) require_below(order->data() + from, to - from, n_rows, "order out of range");
        if (seen && seen_order) {
            require(std::int64_t(seen_order->size()) >= n_rows, "the order does not match the rows");
            require_below(seen_order->data(), n_rows, seen->rows->n_rows, "order out of range");
        } else if (seen) {
            require(seen_first >= 0 && seen_first + n_rows <= seen->rows->n_rows, "rows out of range");
        }
        std::int64_t existing = classes - new_classes;
        if (!lists && !order && !new_classes)
            return require_below(labels.data() + from, to - from, existing, "labels out of range");
        auto new_class = starts().begin();
        for (std::int64_t at = from; at < to; ++at) {
            for (; new_class != starts().end() && *new_class <= at; ++new_class) ++existing;
            const std::int64_t i = order ? order->data()[at] : at;
            const std::int64_t first = lists ? label_start->data()[i] : i,
                               last = lists ? label_start->data()[i + 1] : i + 1;
            require(0 <= first && first <= last && last <= std::int64_t(labels.size()),
                    "label_start does not match the labels");
            require_below(labels.data() + first, last - first, existing, "labels out of range");
        }
    }

    Batch batch(const Rows& rows) const {
        return {rows,
                {labels.data(), data_or_null(label_start), targets ? targets->data() : nullptr},
                data_or_null(weight),
                data_or_null(class_weight),
                data_or_null(order),
                from,
                to,
                starts(),
                {seen ? seen->rows.get() : nullptr, data_or_null(seen_order), seen_first}};
    }

    // Checks all of n rows of a chunk, which are trained on in their order.
    void check_chunk(const TaskFacts& task, int columns, std::int64_t n) const {
        require(!order && !class_start && from == 0 && to == n, "a chunk is trained on as a whole, in its order");
        check(task, columns, n);
    }

    // The numbers that make sets of classes conformal, if they are learned: not where scores are only recorded.
    double* conformal(const nb::dict& state) const {
        return calibrate && !logits ? data<double>(state, "conformal") : nullptr;
    }

    // What is to be recorded, for a number of columns.
    Progressive progressive(const TaskFacts& task, int columns) const {
        const std::int64_t n = to - from;
        require(!log_loss || log_loss->shape(0) == 1, "log_loss must be one number");
        const int per_row = task.targets ? 2 * columns : columns - task.extra_columns();
        require(!logits || (std::int64_t(logits->shape(0)) == n && std::int64_t(logits->shape(1)) == per_row),
                "logits do not match the rows and columns");
        require(!evidence || task.targets, "evidence is that of regression");
        require(!evidence || (std::int64_t(evidence->shape(0)) == n && evidence->shape(1) == std::size_t(columns) + 1),
                "the evidence does not match the rows and columns");
        require(!scores || std::int64_t(scores->shape(0)) == recorded(columns), "scores do not match the rows");
        return {log_loss ? log_loss->data() : nullptr, logits ? logits->data() : nullptr,
                evidence ? evidence->data() : nullptr, scores ? scores->data() : nullptr, per_row};
    }

  private:
    std::span<const std::int64_t> starts() const { return span_of(class_start); }

    // How many scores are recorded of all rows.
    std::int64_t recorded(int columns) const {
        const Labels own{labels.data(), data_or_null(label_start), targets ? targets->data() : nullptr};
        std::int64_t n = 0;
        for (std::int64_t at = from; at < to; ++at) n += own.scores(order ? order->data()[at] : at, columns);
        return n;
    }
};

inline void require_columns(const Matrix& matrix) {
    if (*matrix.in_range) return;
    require(matrix.rows->in_range(), "the matrix has columns out of range");
    *matrix.in_range = true;
}

// Checks the entries that every learner has, for a number of columns.
inline void require_counts(const nb::dict& state, const TaskFacts& task, int columns, bool independent) {
    require(task.one_column ? columns == 1 : columns >= task.least_columns,
            "the weights have the wrong number of columns");
    const auto learners = static_cast<std::size_t>(independent ? columns : 1);
    for (const char* name : {"scale", "folded"})
        require(entry<double, 1>(state, name).size() == learners, "the scales do not match the weights");
    require(entry<std::int64_t, 1>(state, "updates").size() == learners, "the updates do not match the weights");
    require(entry<std::int64_t, 1>(state, "counters").size() == 3, "there must be three counters");
    require(int(entry<double, 1>(state, "calibration").size()) == task.calibration_size(columns),
            "the calibration does not match the weights");
    require(int(entry<double, 1>(state, "conformal").size()) == task.conformal_size(columns),
            "the conformal scores do not match the weights");
    require(int(entry<double, 1>(state, "variances").size()) == MarginVariances::size, "the variances are not counts");
}

}  // namespace confidently::python
