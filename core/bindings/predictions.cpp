// What scores say: classes and their probabilities.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/learner.hpp"
#include "tasks/calibration.hpp"
#include "tasks/error_counts.hpp"
#include "tasks/margin_variances.hpp"
#include "tasks/moved_columns.hpp"
#include "tasks/task.hpp"

namespace confidently::python {

namespace {

// Probabilities of both classes from the score of the second.
void binary_probabilities(Input<double, 1> scores, Input<double, 1> calibration, Array<double, 2> out) {
    const std::size_t n = scores.shape(0);
    require(calibration.shape(0) == SigmoidCalibration::size, "the calibration is not one of two classes");
    require(out.shape(0) == n && out.shape(1) == 2, "out does not have two columns");
    const ReleasedLock released(n > kManyEntries);
    for (std::size_t i = 0; i < n; ++i) {
        const double p = answered(SigmoidCalibration::logit(calibration.data(), scores.data()[i]));
        out.data()[2 * i] = 1.0 - p;
        out.data()[2 * i + 1] = p;
    }
}

// Probabilities of labels, each by itself.
void label_probabilities(Input<double, 2> scores, Input<double, 1> calibration, Array<double, 2> out) {
    const std::size_t n = scores.shape(0), columns = scores.shape(1);
    require(calibration.shape(0) == LabelCalibration::size * columns, "every label has one calibration");
    require(out.shape(0) == n && out.shape(1) == columns, "out does not have the shape of the scores");
    const ReleasedLock released(n * columns > kManyEntries);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < columns; ++k) {
            const double* own = calibration.data() + k * LabelCalibration::size;
            out.data()[i * columns + k] = answered(SigmoidCalibration::logit(own, scores.data()[i * columns + k]));
        }
}

// Probabilities of several classes.
void class_probabilities(Input<double, 2> scores, Input<double, 1> calibration, Array<double, 2> out) {
    const std::size_t n = scores.shape(0), columns = scores.shape(1);
    require(calibration.shape(0) == TemperatureCalibration::size, "the calibration is not one of several classes");
    require(out.shape(0) == n && out.shape(1) == columns, "out does not have the shape of the scores");
    const ReleasedLock released(n * columns > kManyEntries);
    for (std::size_t i = 0; i < n; ++i)
        TemperatureCalibration::probabilities(calibration.data(), scores.data() + i * columns, int(columns),
                                              out.data() + i * columns, out.data() + i * columns);
}

// Calibrates by scores that were made before: of one column of two classes, or one per class.
void calibration_learn(Array<double, 1> calibration, Input<double, 2> scores, Input<std::int32_t, 1> labels,
                       Optional<double> weight) {
    const std::size_t n = scores.shape(0), columns = scores.shape(1), classes = std::max<std::size_t>(columns, 2);
    require(columns >= 1 && columns < (std::size_t(1) << 31), "there must be a column");
    require(calibration.shape(0) == std::size_t(columns == 1 ? SigmoidCalibration::size : TemperatureCalibration::size),
            "the calibration does not match the columns");
    require(labels.shape(0) == n && (!weight || weight->shape(0) == n), "labels or weights do not match the rows");
    require_below(labels.data(), std::int64_t(n), std::int64_t(classes), "labels out of range");
    const ReleasedLock released(n * columns > kManyEntries);
    std::vector<double> t(columns), p(columns);
    for (std::size_t i = 0; i < n; ++i) {
        const double w = weight ? weight->data()[i] : 1.0, *score = scores.data() + i * columns;
        if (!(w > 0.0)) continue;
        if (columns > 1) {
            TemperatureCalibration{calibration.data()}.learn(score, OneEach{int(columns)}, labels.data()[i], w,
                                                             t.data(), p.data());
            continue;
        }
        const SigmoidCalibration own{calibration.data()};
        const SigmoidCalibration::Seen seen = own.see(*score);
        own.learn(seen, labels.data()[i] == 1, w, sigmoid(seen.logit));
    }
}

// Counts variances of margins.
void margin_variances_learn(Array<double, 1> state, Input<double, 1> variances) {
    require(state.shape(0) == std::size_t(MarginVariances::size), "the counts have the wrong size");
    for (std::size_t i = 0; i < variances.shape(0); ++i) MarginVariances{state.data()}.learn(variances.data()[i]);
}

// Whether an array is that of sets of so many classes.
void require_conformal(std::size_t size, std::size_t classes) {
    require(classes < (std::size_t(1) << 24) && size == std::size_t(ConformalSets::size(int(classes))),
            "the conformal scores do not match the classes");
}

void conformal_begin(Array<double, 1> state, std::size_t classes) {
    require_conformal(state.shape(0), classes);
    ConformalSets::begin(state.data(), int(classes));
}

void conformal_begin_intervals(Array<double, 1> state) {
    require(state.shape(0) == std::size_t(ConformalIntervals::size), "the conformal errors have the wrong size");
    ConformalIntervals::begin(state.data());
}

// Whether an array is what is known of the errors of a group, of so many numbers.
void require_group_errors(std::size_t size, std::size_t numbers) {
    require(numbers < (std::size_t(1) << 24) && size == numbers * std::size_t(GroupErrors::size),
            "the errors of a group do not match the numbers");
}

void group_errors_begin(Array<double, 1> state, std::size_t numbers) {
    require_group_errors(state.shape(0), numbers);
    for (std::size_t k = 0; k < numbers; ++k) GroupErrors::begin(state.data() + k * GroupErrors::size);
}

// Learns from standardized errors, (rows, numbers).
void group_errors_learn(Array<double, 1> state, Input<double, 2> errors) {
    const std::size_t n = errors.shape(0), numbers = errors.shape(1);
    require_group_errors(state.shape(0), numbers);
    const ReleasedLock released(n * numbers > kManyEntries);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < numbers; ++k)
            GroupErrors{state.data() + k * GroupErrors::size}.learn(errors.data()[i * numbers + k]);
}

// The sizes of the noise of rows, given what is predicted of them.
void noise_sizes(Input<double, 1> state, const Matrix& matrix, Input<double, 1> predictions, Array<double, 1> out) {
    const std::size_t n = std::size_t(matrix.rows->n_rows);
    require(state.shape(0) == std::size_t(ConformalIntervals::size), "the conformal errors have the wrong size");
    require(predictions.shape(0) == n && out.shape(0) == n, "predictions or sizes do not match the rows");
    require(state.data()[1] >= 0.0 && state.data()[1] <= NoiseScale::inputs, "there are not so many inputs");
    const NoiseScale scale{const_cast<double*>(state.data())};
    const ReleasedLock released(n > kManyEntries / NoiseScale::inputs);
    RowBuffer buffer;
    for (std::size_t i = 0; i < n; ++i) {
        NoiseScale::Inputs inputs(predictions.data()[i], matrix.rows->at(std::int64_t(i), false, buffer));
        out.data()[i] = std::exp(scale.log_size(inputs));
    }
}

void conformal_learn(Array<double, 1> state, std::size_t classes, Input<double, 1> scores,
                     Input<std::int32_t, 1> labels) {
    require_conformal(state.shape(0), classes);
    require(scores.shape(0) == labels.shape(0), "scores do not match the labels");
    require_below(labels.data(), std::int64_t(labels.shape(0)), std::int64_t(classes), "labels out of range");
    const ConformalSets sets{state.data()};
    for (std::size_t i = 0; i < labels.shape(0); ++i) sets.learn(scores.data()[i], labels.data()[i]);
}

// Makes the scores of rare classes together those of each.
void conformal_gather_rare(Array<double, 1> state, std::size_t classes) {
    require_conformal(state.shape(0), classes);
    ConformalSets{state.data()}.gather_rare(int(classes));
}

void margin_variances_p_values(Input<double, 1> state, Input<double, 1> variances, Array<double, 1> out) {
    require(state.shape(0) == MarginVariances::size, "the variances are not counts");
    require(out.shape(0) == variances.shape(0), "out does not have the shape of the variances");
    const MarginVariances counts{const_cast<double*>(state.data())};
    for (std::size_t i = 0; i < variances.shape(0); ++i) out.data()[i] = counts.p_value(variances.data()[i]);
}

// The part of the rows before whose most probable class had less than those of rows.
void conformal_conformity(Input<double, 1> state, std::size_t classes, Input<double, 1> probabilities,
                          Array<double, 1> out) {
    require_conformal(state.shape(0), classes);
    require(out.shape(0) == probabilities.shape(0), "out does not have the shape of the probabilities");
    const ConformalSets sets{const_cast<double*>(state.data())};
    for (std::size_t i = 0; i < probabilities.shape(0); ++i)
        out.data()[i] = sets.conformity(log_odds(probabilities.data()[i]));
}

// Learns from what was predicted of rows long before their labels came. Row i has one label, or those from start[i] to
// start[i + 1]; one of weight 0 is ignored.
void conformal_learn_late(Array<double, 1> state, Input<double, 2> probabilities, Input<std::int32_t, 1> labels,
                          Optional<std::int64_t> start, Optional<double> weight) {
    const std::size_t n = probabilities.shape(0), classes = probabilities.shape(1);
    require_conformal(state.shape(0), classes);
    require(!weight || weight->shape(0) == n, "the weights do not match the rows");
    require(start ? start->shape(0) == n + 1 : labels.shape(0) == n, "the labels do not match the rows");
    if (start) require_starts(*start, labels.shape(0), "start does not match the labels");
    require_below(labels.data(), std::int64_t(labels.shape(0)), std::int64_t(classes), "labels out of range");
    const Labels of_rows{labels.data(), start ? start->data() : nullptr};
    const ConformalSets sets{state.data()};
    for (std::size_t i = 0; i < n; ++i) {
        if (weight && !(weight->data()[i] > 0.0)) continue;
        const double* p = probabilities.data() + i * classes;
        const std::int32_t *first = of_rows.begin(i), *last = of_rows.end(i);
        if (start) {
            DrawnLabel one{sets};
            for (std::size_t k = 0; k < classes; ++k)
                one.see(std::find(first, last, std::int32_t(k)) < last ? p[k] : 1.0 - p[k]);
            one.learn();
        } else {
            sets.surprise().learn(Expected::of_several(p, int(classes), *first));
        }
        for (const std::int32_t* k = first; k < last; ++k) sets.learn(log_odds(p[*k]), *k, true);
        if (start) continue;
        const double top = *std::max_element(p, p + classes);
        sets.answer(log_odds(top), p[*first] < top);
    }
}

// p-values of classes by their probabilities: among rows of any class; or by class, among rows of the class, or of all
// classes of which fewer rows count than `enough`. repeated: whether rows repeat
void conformal_p_values(Input<double, 1> state, Input<double, 2> probabilities, bool by_class, double enough,
                        bool repeated, Array<double, 2> out) {
    const std::size_t n = probabilities.shape(0), classes = probabilities.shape(1);
    require_conformal(state.shape(0), classes);
    require(out.shape(0) == n && out.shape(1) == classes, "out does not have the shape of the probabilities");
    const ConformalSets sets{const_cast<double*>(state.data())};
    const ReleasedLock released(n * classes > kManyEntries);
    std::vector<double> of_rare(Counts::size(ClassScores::bins));
    const Counts together{of_rare.data(), ClassScores::bins};
    if (by_class) sets.gather(int(classes), enough, together);
    for (std::size_t k = 0; k < classes; ++k) {
        const Counts own = (by_class ? sets.own(int(k)) : sets.all()).counts();
        const Counts counts = by_class && !own.has(enough) ? together : own;
        const double share = by_class ? sets.share_odds(int(k)) : 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            const int bin = ClassScores::bin(log_odds(probabilities.data()[i * classes + k]) - share);
            out.data()[i * classes + k] = repeated ? counts.p_value_of_repeated(bin) : counts.p_value(bin);
        }
    }
}

void moved_columns_begin(Array<double, 1> state) {
    require(state.shape(0) == MovedColumns::size, "the state has another size");
    MovedColumns::begin(state.data());
}

// Learns which columns move from rows of a matrix, in an order or as they come.
void moved_columns_learn(Array<double, 1> state, Array<double, 2> by_column, Array<double, 2> first,
                         const Matrix& matrix, Optional<std::int64_t> order) {
    const auto columns = static_cast<std::int64_t>(by_column.shape(1));
    require(state.shape(0) == MovedColumns::size && by_column.shape(0) == MovedColumns::per_column &&
                first.shape(0) == MovedColumns::first_rows && std::int64_t(first.shape(1)) == columns &&
                matrix.rows->n_columns < columns,
            "what is known of moved columns does not have the shape of the rows");
    const std::int64_t n = order ? std::int64_t(order->shape(0)) : matrix.rows->n_rows;
    if (order) require_below(order->data(), n, matrix.rows->n_rows, "order out of range");
    require_columns(matrix);
    const MovedColumns known{state.data(), by_column.data(), first.data(), columns};
    require(known.next() >= known.rows() && known.filled() >= 0.0 && known.filled() <= MovedColumns::first_rows,
            "what is known of moved columns is out of range");
    const ReleasedLock released(matrix.stored > kManyEntries);
    known.learn(*matrix.rows, data_or_null(order), n);
}

}  // namespace

void bind_predictions(nb::module_& m) {
    m.def("binary_probabilities", &binary_probabilities, "scores"_a.noconvert(), "calibration"_a.noconvert(),
          "out"_a.noconvert());
    m.def("label_probabilities", &label_probabilities, "scores"_a.noconvert(), "calibration"_a.noconvert(),
          "out"_a.noconvert());
    m.def("class_probabilities", &class_probabilities, "scores"_a.noconvert(), "calibration"_a.noconvert(),
          "out"_a.noconvert());
    m.def("calibration_learn", &calibration_learn, "calibration"_a.noconvert(), "scores"_a.noconvert(),
          "labels"_a.noconvert(), "weight"_a.noconvert().none() = nb::none());
    m.def("conformal_errors", [] { return std::vector<double>(Levels::error.begin(), Levels::error.end()); });
    m.attr("conformal_experts") = int(Levels::experts);
    m.attr("conformal_enough") = ConformalSets::enough;
    m.attr("conformal_counts") = ClassScores::counts_size;
    m.attr("conformal_counts_of_answers") = ConformalSets::of_answers;
    m.attr("conformal_answer_bins") = ConformalSets::answer_bins;
    m.attr("conformal_answer_width") = ConformalSets::answer_width;
    m.def("conformal_places", [] {
        return std::vector<int>{ConformalSets::at_alarms,  ConformalSets::at_alarms + Surprise::at_counts,
                                ConformalSets::at_answers, ConformalSets::at_mistakes,
                                ConformalSets::at_best,    ConformalSets::at_rare,
                                ConformalSets::at_classes};
    });
    m.def("conformal_places_of_numbers", [] {
        return std::vector<int>{ConformalIntervals::at_low, ConformalIntervals::at_high,
                                ConformalIntervals::at_martingale, ConformalIntervals::size};
    });
    m.def("group_errors_places", [] {
        return std::vector<int>{GroupErrors::at_counts, GroupErrors::at_low, GroupErrors::at_high, GroupErrors::size};
    });
    m.def("group_errors_begin", &group_errors_begin, "state"_a.noconvert(), "numbers"_a);
    m.def("group_errors_learn", &group_errors_learn, "state"_a.noconvert(), "errors"_a.noconvert());
    m.attr("noise_inputs") = int(NoiseScale::inputs);
    m.def("noise_sizes", &noise_sizes, "state"_a.noconvert(), "matrix"_a, "predictions"_a.noconvert(),
          "out"_a.noconvert());
    m.def("conformal_begin_intervals", &conformal_begin_intervals, "state"_a.noconvert());
    m.def("conformal_begin", &conformal_begin, "state"_a.noconvert(), "classes"_a);
    m.def("conformal_learn", &conformal_learn, "state"_a.noconvert(), "classes"_a, "scores"_a.noconvert(),
          "labels"_a.noconvert());
    m.def("conformal_gather_rare", &conformal_gather_rare, "state"_a.noconvert(), "classes"_a);
    m.def("conformal_learn_late", &conformal_learn_late, "state"_a.noconvert(), "probabilities"_a.noconvert(),
          "labels"_a.noconvert(), "start"_a.noconvert().none() = nb::none(),
          "weight"_a.noconvert().none() = nb::none());
    m.def("conformal_p_values", &conformal_p_values, "state"_a.noconvert(), "probabilities"_a.noconvert(), "by_class"_a,
          "enough"_a, "repeated"_a, "out"_a.noconvert());
    m.def("conformal_conformity", &conformal_conformity, "state"_a.noconvert(), "classes"_a,
          "probabilities"_a.noconvert(), "out"_a.noconvert());
    m.def("moved_columns_sizes", [] {
        return std::vector<int>{MovedColumns::size,      MovedColumns::per_column, MovedColumns::first_rows,
                                MovedColumns::at_before, MovedColumns::at_row,     MovedColumns::at_repeated};
    });
    m.def("moved_columns_rows_per_look", &MovedColumns::rows_per_look, "width"_a);
    m.def("moved_columns_begin", &moved_columns_begin, "state"_a.noconvert());
    m.def("moved_columns_learn", &moved_columns_learn, "state"_a.noconvert(), "by_column"_a.noconvert(),
          "first"_a.noconvert(), "rows"_a, "order"_a.noconvert().none() = nb::none());
    m.attr("margin_variances_size") = MarginVariances::size;
    m.def("margin_variances_learn", &margin_variances_learn, "state"_a.noconvert(), "variances"_a.noconvert());
    m.def("margin_variances_p_values", &margin_variances_p_values, "state"_a.noconvert(), "variances"_a.noconvert(),
          "out"_a.noconvert());
}

}  // namespace confidently::python
