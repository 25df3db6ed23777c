// What scores say: classes and their probabilities.
#include <algorithm>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interpreter_lock.hpp"
#include "tasks/calibration.hpp"

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

}  // namespace

void bind_predictions(nb::module_& m) {
    m.def("binary_probabilities", &binary_probabilities, "scores"_a.noconvert(), "calibration"_a.noconvert(),
          "out"_a.noconvert());
    m.def("label_probabilities", &label_probabilities, "scores"_a.noconvert(), "calibration"_a.noconvert(),
          "out"_a.noconvert());
    m.def("class_probabilities", &class_probabilities, "scores"_a.noconvert(), "calibration"_a.noconvert(),
          "out"_a.noconvert());
}

}  // namespace confidently::python
