// The learner for Python: checks shapes, selects the types, releases the interpreter lock.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "bindings/interpreter_lock.hpp"
#include "bindings/learner_settings.hpp"
#include "covariances/table.hpp"
#include "data/integer_labels.hpp"
#include "data/label_order.hpp"
#include "data/suspects.hpp"

namespace confidently::python {

namespace {

// reason, row, column, value; None for a valid matrix
using FaultTuple = std::optional<std::tuple<std::string, std::int64_t, std::int64_t, double>>;

FaultTuple as_tuple(const Fault& f) {
    return f.bad() ? FaultTuple({f.reason, f.row, f.column, f.value}) : std::nullopt;
}

constexpr std::int64_t kMaxColumns = std::numeric_limits<std::int32_t>::max();

template <class Value>
Matrix dense(Input<Value, 2> x) {
    require(std::int64_t(x.shape(1)) <= kMaxColumns, "there are too many columns");
    return {std::make_unique<DenseRows<Value>>(x.data(), std::int64_t(x.shape(0)), std::int64_t(x.shape(1))),
            std::int64_t(x.size()),
            {nb::cast(x)}};
}

template <class Value>
Matrix csr(Input<Value, 1> values, Input<std::int32_t, 1> columns, Input<std::int64_t, 1> start,
           std::int64_t n_columns) {
    require(n_columns >= 0 && n_columns <= kMaxColumns, "n_columns must be a number from 0 to 2^31 - 1");
    require(values.shape(0) == columns.shape(0), "the values do not match the columns");
    require_starts(start, values.shape(0), "indptr must not be negative, not decrease, and end within the values");
    require(start.data()[0] == 0, "indptr must start with 0");
    const std::int64_t n = std::int64_t(start.shape(0)) - 1, stored = start.data()[n];
    return {std::make_unique<CsrRows<Value>>(values.data(), columns.data(), start.data(), n, n_columns),
            stored,
            {nb::cast(values), nb::cast(columns), nb::cast(start)}};
}

// Whether an array has one row per row of a matrix and one column per column of the weights.
template <class Out>
void require_scores(const AnyLearner& learner, const Matrix& matrix, const Out& out) {
    require(std::int64_t(out.shape(0)) == matrix.rows->n_rows && out.shape(1) == std::size_t(learner.columns),
            "scores do not match the rows and columns");
}

// Trains on the rows of matrices and predicts them.
struct Learner : LearnerSettings {
    // largest: of the values that are allowed; 0: the rows are known to be valid
    FaultTuple learn(const Dict& state, const Matrix& matrix, const TrainingRows& rows, double largest,
                     UndoLog* undo) const {
        require_writable(state);
        if (!(largest > 0.0)) require_columns(matrix);
        std::int64_t* counters = data<std::int64_t>(state, "counters");
        const Counters count{counters[0], counters[1], counters[2], data<std::int64_t>(state, "updates")};
        double* statistics = data<double>(state, "calibration");
        double *calibration = rows.calibrate ? statistics : nullptr, *conformal = rows.conformal(state),
               *variances = data<double>(state, "variances");
        const Batch batch = rows.batch(*matrix.rows);
        const double suspicious = min_variance * prior_variance * largest * largest;
        const Inspector inspector{*matrix.rows, largest, largest > 0.0 ? suspicious : HUGE_VAL};
        try {
            const auto learner = open(state, matrix.rows->n_columns, undo);
            rows.check(facts(), learner->columns, matrix.rows->n_rows);
            const Progressive progressive = rows.progressive(facts(), learner->columns);
            AnyTask kind = any_task(task);
            const ReleasedLock released(matrix.stored > kManyEntries);
            learner->learn(kind, rule,
                           {prior_variance, batch, calibration, progressive, count, independent, inspector, statistics,
                            conformal, variances});
        } catch (const InvalidRow& invalid) {
            return as_tuple(invalid.fault);
        } catch (const NoRoom& found) {
            return FaultTuple({"room", found.at, found.needed, 0.0});
        }
        return std::nullopt;
    }

    // largest: of the values that are allowed; 0: the rows are known to be valid
    FaultTuple scores(const Dict& state, const Matrix& matrix, Array<double, 2> out, double largest) const {
        return predict(state, matrix, largest,
                       [&](const AnyLearner& learner, const Inspector& inspector, std::int64_t seen) {
            require_scores(learner, matrix, out);
            learner.scores(inspector, seen, out.data());
        });
    }

    // The column of the best score of every row.
    FaultTuple best(const Dict& state, const Matrix& matrix, Array<std::int32_t, 1> out, double largest) const {
        require(facts().several, "the best score is that of several classes");
        require(std::int64_t(out.shape(0)) == matrix.rows->n_rows, "one column per row is needed");
        return predict(state, matrix, largest,
                       [&](const AnyLearner& learner, const Inspector& inspector, std::int64_t seen) {
            learner.best(inspector, seen, out.data());
        });
    }

    // The same and moderated, into another array.
    FaultTuple moderated(const Dict& state, const Matrix& matrix, Array<double, 2> scores, Array<double, 2> out,
                         double largest) const {
        require(!facts().threshold, "scores relative to a threshold are not moderated");
        return predict(state, matrix, largest,
                       [&](const AnyLearner& learner, const Inspector& inspector, std::int64_t seen) {
            require_scores(learner, matrix, scores);
            require_scores(learner, matrix, out);
            learner.moderated(inspector, seen, prior_variance, facts().several, independent, scores.data(), out.data());
        });
    }

    template <class F>
    FaultTuple predict(const Dict& state, const Matrix& matrix, double largest, F&& f) const {
        if (!(largest > 0.0)) require_columns(matrix);
        try {
            const auto learner = open(state, matrix.rows->n_columns, nullptr);
            const std::int64_t seen = data<std::int64_t>(state, "counters")[0];
            const ReleasedLock released(matrix.stored > kManyEntries);
            f(*learner, Inspector{*matrix.rows, largest > 0.0 ? largest : 0.0, HUGE_VAL}, seen);
        } catch (const InvalidRow& invalid) {
            return as_tuple(invalid.fault);
        }
        return std::nullopt;
    }

    void variances(const Dict& state, const Matrix& matrix, Array<double, 2> out) const {
        require_columns(matrix);
        const auto learner = open(state, matrix.rows->n_columns, nullptr);
        require_scores(*learner, matrix, out);
        const ReleasedLock released(matrix.stored > kManyEntries);
        learner->variances(*matrix.rows, facts().threshold ? Multilabel::threshold : kNone, out.data());
    }

    void top_variances(const Dict& state, const Matrix& matrix, Input<double, 2> scores, Array<double, 1> out) const {
        require_columns(matrix);
        require(facts().several, "the two best scores are those of several classes");
        const auto learner = open(state, matrix.rows->n_columns, nullptr);
        require_scores(*learner, matrix, scores);
        require(out.shape(0) == scores.shape(0), "one variance per row is needed");
        const ReleasedLock released(matrix.stored > kManyEntries);
        learner->top_variances(*matrix.rows, scores.data(), independent, out.data());
    }
};

// The distinct ones, and the position among them of each; None for integers in a wide range.
std::optional<std::tuple<Vector<std::int64_t>, Vector<std::int32_t>>> distinct_numbers(Input<std::int64_t, 1> labels) {
    std::optional<IntegerLabels> found = integer_labels(labels.data(), labels.size());
    if (!found) return std::nullopt;
    return std::make_tuple(array_of(std::move(found->distinct)), array_of(std::move(found->position)));
}

FaultTuple first_fault(const Matrix& m, double largest) {
    const ReleasedLock released(m.stored > kManyEntries);
    return as_tuple(m.rows->first_fault(largest));
}

std::tuple<double, double, double, bool> rule_step(const AnyRule& rule, double m, double v, double w, double updates,
                                                   std::optional<double> target) {
    require(target.has_value() == has_target(rule), "targets are for the rules of regression, and needed there");
    const Step s = target ? step_to(rule, m, v, *target, w) : step(rule, m, v, w, updates);
    return {s.alpha, s.zeta, s.scale, s.infeasible};
}

// Weights and variances of the mixture of Gaussians that stands for logistic noise.
std::vector<std::tuple<double, double>> logistic_noise() {
    std::vector<std::tuple<double, double>> noise;
    for (int k = 0; k < Logistic::parts; ++k)
        noise.push_back({Logistic::weight[k], 1.0 / (Logistic::slope[k] * Logistic::slope[k])});
    return noise;
}

}  // namespace

void bind_learner(nb::module_& m) {
    m.def("rule_names", &rule_names);
    m.def("largest_weight", [](bool single) { return single ? kLargestWeight<float> : kLargestWeight<double>; },
          "single"_a);
    m.def("covariance_names", &covariance_names);
    m.def("multiclass_names", [] {
        std::vector<std::string> names;
        for (const TaskRow& row : kTasks)
            if (row.facts.several) names.emplace_back(row.facts.name);
        return names;
    });

    m.def("logistic_noise", &logistic_noise);

    nb::class_<Rule>(m, "Rule")
        .def("__init__",
             [](Rule* self, const std::string& name, const std::vector<double>& parameters) {
        new (self) Rule{make_rule(name, parameters)};
    }, "name"_a, "parameters"_a)
        .def_prop_ro("rescales", [](const Rule& r) { return rescales(r.any); },
                     "whether its steps have a scale other than 1")
        .def("step",
             [](const Rule& r, double margin, double variance, double weight, double updates,
                std::optional<double> target) { return rule_step(r.any, margin, variance, weight, updates, target); },
             "margin"_a, "variance"_a, "weight"_a = 1.0, "updates"_a = 0.0, "target"_a = nb::none());

    nb::class_<Matrix>(m, "Matrix")
        .def_prop_ro("shape", [](const Matrix& x) { return std::make_tuple(x.rows->n_rows, x.rows->n_columns); })
        .def_rw("checked", &Matrix::checked, "largest absolute value that its rows were checked for; 0: not checked")
        .def_prop_ro("stored", [](const Matrix& x) { return x.stored; }, "number of stored values")
        .def("fault", &first_fault, "largest"_a);
    // NumPy gives up the interpreter's lock for such small work, and then waits for the threads that read.
    nb::class_<LabelOrder>(m, "LabelOrder")
        .def(nb::init<>())
        .def_ro("rows", &LabelOrder::rows)
        .def_ro("changes", &LabelOrder::changes)
        .def_prop_ro("counts", [](const LabelOrder& order) {
        return array_of(std::vector<std::int64_t>(order.counts));
    }).def("add", [](LabelOrder& order, Input<std::int32_t, 1> labels) {
        require(are_within(labels.data(), labels.size(), kMaxColumns), "labels must not be negative");
        order.add(labels.data(), labels.size());
    }, "labels"_a.noconvert());
    m.def("are_within", [](Input<std::int32_t, 1> labels, std::int64_t n_classes) {
        return are_within(labels.data(), labels.size(), n_classes);
    }, "labels"_a.noconvert(), "n_classes"_a);
    m.def("least_positive", [](Input<double, 1> numbers) {  // infinite if there is none
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < numbers.size(); ++i)
            if (numbers.data()[i] > 0.0) least = std::min(least, numbers.data()[i]);
        return least;
    }, "numbers"_a.noconvert());
    m.def("distinct_numbers", &distinct_numbers, "labels"_a.noconvert());
    m.def("suspects", [](const Matrix& x, double earliest, double fraction) {
        const Suspects found = find_suspects(*x.rows, earliest, fraction);
        return std::make_tuple(found.n_columns, found.ids, found.late, found.dominant);
    }, "rows"_a, "earliest"_a, "fraction"_a);
    m.def("column_counts", [](Input<std::int32_t, 1> columns, std::int64_t n) {
        require(n >= 0 && n <= kMaxColumns, "n must be a number from 0 to 2^31 - 1");
        require_below(columns.data(), std::int64_t(columns.size()), n, "columns out of range");
        std::vector<std::int64_t> counts(static_cast<std::size_t>(n));
        for (std::size_t k = 0; k < columns.size(); ++k) ++counts[std::size_t(columns.data()[k])];
        return array_of(std::move(counts));
    }, "columns"_a.noconvert(), "n"_a);
    m.def("dense", &dense<float>, "x"_a.noconvert());
    m.def("dense", &dense<double>, "x"_a.noconvert());
    m.def("csr", &csr<float>, "values"_a.noconvert(), "columns"_a.noconvert(), "start"_a.noconvert(), "n_columns"_a);
    m.def("csr", &csr<double>, "values"_a.noconvert(), "columns"_a.noconvert(), "start"_a.noconvert(), "n_columns"_a);

    nb::enum_<Task> tasks(m, "Task");
    for (std::size_t number = 0; number < kTasks.size(); ++number) tasks.value(kTasks[number].facts.name, Task(number));

    nb::class_<TrainingRows>(m, "TrainingRows")
        .def(
            "__init__",
            [](TrainingRows* self, Input<std::int32_t, 1> labels, Optional<std::int64_t> label_start,
               Optional<double> weight, Optional<double> class_weight, Optional<std::int64_t> order, std::int64_t first,
               std::int64_t last, Optional<std::int64_t> class_start, std::optional<Input<double, 2>> targets,
               bool calibrate, std::optional<Array<double, 1>> log_loss, std::optional<Array<double, 2>> logits,
               std::optional<Array<double, 2>> evidence, std::optional<Array<double, 1>> scores, const Matrix* seen,
               Optional<std::int64_t> seen_order, std::int64_t seen_first) {
        new (self)
            TrainingRows{labels,    label_start, weight, class_weight, order,  first, last,       class_start, targets,
                         calibrate, log_loss,    logits, evidence,     scores, seen,  seen_order, seen_first};
    },
            "labels"_a.noconvert(), "label_start"_a.noconvert().none(), "weight"_a.noconvert().none(),
            "class_weight"_a.noconvert().none(), "order"_a.noconvert().none(), "first"_a, "last"_a,
            "class_start"_a.noconvert().none(), "targets"_a.noconvert().none(), "calibrate"_a,
            "log_loss"_a.noconvert().none(), "logits"_a.noconvert().none(), "evidence"_a.noconvert().none(),
            "scores"_a.noconvert().none(), "seen"_a.none() = nb::none(), "seen_order"_a.noconvert().none() = nb::none(),
            "seen_first"_a = 0, nb::keep_alive<1, 16>());
    nb::class_<UndoLog>(m, "UndoLog").def(nb::init<>()).def("roll_back", &UndoLog::roll_back);
    nb::class_<LearnerSettings>(m, "LearnerSettings");
    nb::class_<Learner, LearnerSettings>(m, "Learner")
        .def("__init__",
             [](Learner* self, const Rule& rule, const std::string& covariance, Task task, bool independent,
                bool intercept, bool average, bool moments, double prior_variance, double min_variance, double forget,
                bool pending) {
        const std::size_t number = covariance_number(covariance);
        with_covariance(number,
                        [&](auto row) { require(forget == 0.0 || row.forgets, "this covariance does not forget"); });
        new (self) Learner{{rule.any, number, task, independent, intercept, average, moments, prior_variance,
                            min_variance, forget, pending}};
    },
             "rule"_a, "covariance"_a, "task"_a, nb::kw_only(), "independent"_a, "intercept"_a, "average"_a,
             "moments"_a, "prior_variance"_a, "min_variance"_a, "forget"_a, "pending"_a = false)
        .def("learn", &Learner::learn, "state"_a, "matrix"_a, "rows"_a, "largest"_a = 0.0, "undo"_a.none() = nb::none())
        .def("scores", &Learner::scores, "state"_a, "matrix"_a, "out"_a.noconvert(), "largest"_a = 0.0)
        .def("best", &Learner::best, "state"_a, "matrix"_a, "out"_a.noconvert(), "largest"_a = 0.0)
        .def("moderated", &Learner::moderated, "state"_a, "matrix"_a, "scores"_a.noconvert(), "out"_a.noconvert(),
             "largest"_a = 0.0)
        .def("variances", &Learner::variances, "state"_a, "matrix"_a, "out"_a.noconvert())
        .def("top_variances", &Learner::top_variances, "state"_a, "matrix"_a, "scores"_a.noconvert(),
             "out"_a.noconvert());
}

}  // namespace confidently::python
