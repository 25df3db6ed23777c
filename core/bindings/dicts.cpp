// Rows that are dicts of Python, learned and asked about one at a time: walked, numbered and looked up here.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "../hashing.hpp"
#include "../predict.hpp"
#include "../row_order.hpp"
#include "../rows_out.hpp"
#include "learner_settings.hpp"
#include "rows.hpp"

namespace confidently::python {

namespace {

// One row, however often it is asked for.
class OneRow final : public Rows {
  public:
    OneRow(Row row, std::int64_t n_columns) : Rows(1, n_columns), row_(row) {}
    Row at(std::int64_t, bool intercept, RowBuffer&) const override { return {row_.column, row_.value, row_.size, intercept}; }
    Fault fault(std::int64_t, double) const override { return {}; }

  private:
    Row row_;
};

// What a feature is called: a string as it is, anything else as str() has it.
class Name {
  public:
    explicit Name(nb::handle key) {
        if (!PyUnicode_Check(key.ptr())) key = owner_ = nb::str(key);
        Py_ssize_t size;
        const char* text = PyUnicode_AsUTF8AndSize(key.ptr(), &size);
        if (!text) nb::raise_python_error();
        view_ = {text, static_cast<std::size_t>(size)};
    }
    std::string_view view() const { return view_; }

  private:
    nb::object owner_;
    std::string_view view_;
};

[[noreturn]] void refuse(nb::handle key, nb::handle value, const char* why) {
    const nb::str text = nb::str("the feature {!r} is {!r}: {}").format(key, value, nb::str(why));
    throw nb::value_error(text.c_str());
}

double number_of(nb::handle key, nb::handle value, double largest) {
    double x;
    if (PyFloat_CheckExact(value.ptr())) {
        x = PyFloat_AS_DOUBLE(value.ptr());
    } else {
        x = PyFloat_AsDouble(value.ptr());
        if (x == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            refuse(key, value, "values are numbers, booleans, strings (categories) or None (nothing is known)");
        }
    }
    if (std::fabs(x) <= largest) return x;
    if (std::isnan(x)) refuse(key, value, "leave it out, or give None, where nothing is known");
    refuse(key, value, "it is too large; scale it down");
}

// Columns of the names met last, by the very objects: most streams give the same few strings with every row. What is
// remembered is kept alive, so that no other object can come to lie where it lies.
class RecentNames {
  public:
    std::int32_t find(PyObject* name) const {
        const Entry& entry = entries_[place(name)];
        return entry.name.ptr() == name ? entry.column : -1;
    }
    void remember(nb::handle name, std::int32_t column) { entries_[place(name.ptr())] = {nb::borrow(name), column}; }
    void forget() { entries_.assign(kSize, {}); }

  private:
    static constexpr std::size_t kSize = 4096;

    struct Entry {
        nb::object name;
        std::int32_t column = -1;
    };

    static std::size_t place(PyObject* name) { return reinterpret_cast<std::uintptr_t>(name) * 0x9e3779b97f4a7c15u >> 52; }

    std::vector<Entry> entries_{kSize};
};

// The entries of a dict as a row: columns ascending, each once. Features are numbered as they appear.
class DictReader {
  public:
    DictReader(int bits, std::int64_t most) : features_(bits, most), exact_(bits == FeatureTable::kExact) {}

    FeatureTable& features() { return features_; }
    bool exact() const { return exact_; }

    Row learned(nb::handle x, double largest) {
        const std::int64_t before = features_.size();
        try {
            walk(x, largest, [this](const Namespace& space, std::string_view name, double) {
                const std::int32_t column = features_.column(features_.key_of(space, name), space, name).first;
                if (column < 0) throw nb::value_error("there are more features than columns: hash them into fewer (hash_bits)");
                return column;
            });
        } catch (...) {
            features_.truncate(before);
            recent_.forget();
            throw;
        }
        return row();
    }

    // Features never met are one, the column after the last: their weights' means are 0 and their variances the prior's,
    // so that one counts as much as they do whose value is the root of the sum of their squares.
    Row asked(nb::handle x, double largest) {
        double unknown = 0.0;
        walk(x, largest, [&](const Namespace& space, std::string_view name, double value) {
            const std::int32_t column = features_.find(features_.key_of(space, name), space, name);
            if (column < 0) unknown += value * value;
            return column;
        });
        if (unknown > 0.0) add(static_cast<std::int32_t>(features_.size()), std::sqrt(unknown));
        return row();
    }

  private:
    // column_of(space, name, value): -1 where the row has no entry for it
    template <class F>
    void walk(nb::handle x, double largest, F&& column_of) {
        columns_.clear();
        values_.clear();
        if (PyDict_CheckExact(x.ptr())) return entries(x.ptr(), largest, column_of);
        const nb::object copy = nb::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyDict_Type), x.ptr()));
        if (!copy.is_valid()) nb::raise_python_error();
        entries(copy.ptr(), largest, column_of);
    }

    template <class F>
    void entries(PyObject* x, double largest, F& column_of) {
        Py_ssize_t at = 0;
        PyObject *key, *value;
        while (PyDict_Next(x, &at, &key, &value)) {
            if (PyFloat_CheckExact(value)) {  // the usual case: no code of Python's runs, so nothing need be held
                const double number = PyFloat_AS_DOUBLE(value);
                const std::int32_t column = recent_.find(key);
                if (column >= 0 && std::fabs(number) <= largest) {
                    if (number != 0.0) add(column, number);
                    continue;
                }
            }
            if (value != Py_None) entry(nb::borrow(key), nb::borrow(value), largest, column_of);
        }
    }

    template <class F>
    void entry(const nb::object& key, const nb::object& value, double largest, F& column_of) {
        const Name name(key);
        if (PyUnicode_Check(value.ptr())) {
            const Namespace space(std::string(name.view()) + "=");
            const std::int32_t column = column_of(space, Name(value).view(), 1.0);
            if (column >= 0) add(column, 1.0);
        } else if (const double number = number_of(key, value, largest); number != 0.0) {
            const std::int32_t known = recent_.find(key.ptr());
            const std::int32_t column = known >= 0 ? known : column_of(plain_, name.view(), number);
            if (column < 0) return;
            add(column, number);
            if (known < 0 && PyUnicode_CheckExact(key.ptr())) recent_.remember(key, column);
        }
    }

    void add(std::int32_t column, double value) {
        columns_.push_back(column);
        values_.push_back(value);
    }

    Row row() {
        const auto n = static_cast<std::int64_t>(columns_.size());
        bool ascending = true;
        for (std::int64_t k = 1; k < n; ++k) ascending &= columns_[std::size_t(k - 1)] < columns_[std::size_t(k)];
        const std::int64_t size = ascending ? n : order_.sort_and_sum(columns_.data(), values_.data(), n, [](std::int32_t c) { return c; });
        return {columns_.data(), values_.data(), static_cast<std::int32_t>(size), false};
    }

    const Namespace plain_;
    FeatureTable features_;
    bool exact_;
    std::vector<std::int32_t> columns_;
    std::vector<double> values_;
    RowOrder order_;
    RecentNames recent_;
};

// A learner and its state's arrays, put together once and not for every row.
class Bound {
  public:
    virtual ~Bound() = default;
    virtual void learn(Row row, const std::int32_t* labels, std::int64_t n_labels, double weight) = 0;
    virtual void scores(const Row& row, double* out) = 0;             // one a column
    virtual void probabilities(const Row& row, double* out) = 0;      // one a class or label; of two classes both
    virtual int columns() const = 0;
    virtual int answers() const = 0;        // probabilities there are
    virtual std::int64_t room() const = 0;  // for features
};

inline double inside(double p) { return std::min(std::max(p, 0x1p-53), 1.0 - 0x1p-53); }

template <class Geometry, class Task, class Real>
class BoundTo final : public Bound {
  public:
    BoundTo(const Geometry& geometry, const LearnerSettings& settings, const nb::dict& state, bool calibrate)
        : geometry_(geometry), rule_(settings.rule), prior_(settings.prior_variance), independent_(settings.independent()),
          calibrate_(calibrate), counters_(data<std::int64_t>(state, "counters")), updates_(data<std::int64_t>(state, "updates")),
          calibration_(data<double>(state, "calibration")), scratch_(std::size_t(geometry.weights.columns)) {
        for (auto [name, array] : state) owners_.push_back(nb::borrow(array));
    }

    void learn(Row row, const std::int32_t* labels, std::int64_t n_labels, double weight) override {
        const OneRow rows(row, room());
        const std::int64_t start[2] = {0, n_labels};
        const Batch batch{rows, {labels, start}, &weight, nullptr, nullptr, 0, 1};
        confidently::learn<Real>(geometry_, task_, rule_, prior_, batch, calibrate_ ? calibration_ : nullptr, nullptr,
                                 {counters_[0], counters_[1], counters_[2], updates_}, independent_,
                                 Inspector{rows, 0.0, HUGE_VAL});
    }

    void scores(const Row& row, double* out) override {
        geometry_.weights.prediction(with_intercept(row), counters_[0], out, scratch_.data());
    }

    void probabilities(const Row& bare, double* out) override {
        const Row row = with_intercept(bare);
        std::vector<double> s(static_cast<std::size_t>(columns()));
        scores(bare, s.data());
        if constexpr (std::is_same_v<Task, Binary>) {
            const double f = s[0] * moderation(geometry_.variance(row, {0, kNone}), prior_);
            out[1] = inside(sigmoid(calibration_[0] * f + calibration_[1]));
            out[0] = 1.0 - out[1];
        } else if constexpr (std::is_same_v<Task, Multilabel>) {
            for (int k = 1; k < columns(); ++k) {
                const double* c = calibration_ + (k - 1) * SigmoidCalibration::size;
                out[k - 1] = inside(sigmoid(c[0] * (s[std::size_t(k)] - s[Multilabel::threshold]) + c[1]));
            }
        } else {
            softmax(row, s, out);
        }
    }

    int columns() const override { return geometry_.weights.columns; }
    int answers() const override {
        return columns() + std::is_same_v<Task, Binary> - std::is_same_v<Task, Multilabel>;
    }
    std::int64_t room() const override { return geometry_.weights.n_features - geometry_.weights.intercept; }

  private:
    Row with_intercept(Row row) const {
        row.intercept = geometry_.weights.intercept;
        return row;
    }

    void softmax(const Row& row, const std::vector<double>& s, double* out) const {
        const TopTwo top(s.data(), columns());
        const double v = independent_ ? geometry_.variance(row, {top.first, kNone}) + geometry_.variance(row, {top.second, kNone})
                                      : geometry_.variance(row, {top.first, top.second});
        const double slope = calibration_[0] * moderation(v, prior_);
        double total = 0.0;
        for (std::size_t k = 0; k < s.size(); ++k) total += out[k] = std::exp(slope * (s[k] - s[std::size_t(top.first)]));
        for (std::size_t k = 0; k < s.size(); ++k) out[k] /= total;
    }

    Geometry geometry_;
    Task task_;
    AnyRule rule_;
    double prior_;
    bool independent_, calibrate_;
    std::int64_t *counters_, *updates_;
    double* calibration_;
    std::vector<double> scratch_;
    std::vector<nb::object> owners_;
};

// Learns dicts with a learner of a diagonal or no covariance, and numbers their features for any.
class DictLearner {
  public:
    DictLearner(int bits, std::int64_t most) : reader_(bits, most) {}

    void bind(const LearnerSettings& settings, const Dict& state, bool calibrate, double largest) {
        require(settings.covariance == Covariance::identity || settings.covariance == Covariance::diagonal,
                "dense covariances are learned by matrices");
        largest_ = largest;
        settings.with_geometry(state, 0, [&](const auto& geometry, auto type) {
            settings.with_task(geometry, [&](auto task) {
                bound_ = std::make_unique<BoundTo<std::decay_t<decltype(geometry)>, decltype(task), decltype(type)>>(
                    geometry, settings, state, calibrate);
            });
        });
    }

    // False, and nothing learned, if there must be more room for features first: one more than there are.
    bool learn(nb::handle x, const std::vector<std::int32_t>& labels, double weight) {
        return learn_row(x, labels.data(), std::int64_t(labels.size()), weight);
    }
    bool learn_class(nb::handle x, std::int32_t label, double weight) { return learn_row(x, &label, 1, weight); }

    // the number of the class that scores best
    int best(nb::handle x) {
        const std::vector<double> s = scores(x);
        return s.size() == 1 ? s[0] > 0.0 : TopTwo(s.data(), static_cast<int>(s.size())).first;
    }

    std::vector<double> scores(nb::handle x) {
        std::vector<double> out(static_cast<std::size_t>(bound().columns()));
        const Row row = asked(x);
        bound().scores(row, out.data());
        return out;
    }

    std::vector<double> probabilities(nb::handle x) {
        std::vector<double> out(static_cast<std::size_t>(bound().answers()));
        const Row row = asked(x);
        bound().probabilities(row, out.data());
        return out;
    }

    // values and columns of a row
    nb::typed<nb::tuple, Vector<double>, Vector<std::int32_t>> row(nb::handle x, bool learned, double largest) {
        const Row row = learned ? reader_.learned(x, largest) : reader_.asked(x, largest);
        return nb::make_tuple(array_of(std::vector<double>(row.value, row.value + row.size)),
                              array_of(std::vector<std::int32_t>(row.column, row.column + row.size)));
    }

    // the columns of some features; where they are not to be learned, -1 for those never met
    Vector<std::int32_t> columns(const nb::typed<nb::sequence, nb::str>& names, bool learned) {
        const Namespace plain;
        std::vector<std::int32_t> out;
        FeatureTable& features = reader_.features();
        for (nb::handle each : names) {
            const Name name(each);
            const std::uint32_t key = features.key_of(plain, name.view());
            out.push_back(learned ? features.column(key, plain, name.view()).first : features.find(key, plain, name.view()));
        }
        return array_of(std::move(out));
    }

    std::int64_t size() { return reader_.features().size(); }

    // keys of all features, and their names where they are kept: text, start
    nb::typed<nb::tuple, Vector<std::uint32_t>, PythonStrings> features() {
        FeatureTable& table = reader_.features();
        std::vector<std::uint32_t> keys;
        Strings names;
        for (std::int64_t k = 0; k < table.size(); ++k) {
            keys.push_back(table.key(k));
            if (reader_.exact()) names.add("", table.name(k));
        }
        return nb::make_tuple(array_of(std::move(keys)), python_strings(std::move(names)));
    }

    void restore(Input<std::uint32_t, 1> keys, Input<std::uint8_t, 1> text, Input<std::int64_t, 1> start) {
        restore_features(reader_.features(), keys, text, start);
    }

  private:
    Bound& bound() {
        require(bound_ != nullptr, "there is no learner yet");
        return *bound_;
    }

    Row asked(nb::handle x) {
        require(size() < bound().room(), "there is no room for a feature never met");
        return reader_.asked(x, largest_);
    }

    bool learn_row(nb::handle x, const std::int32_t* labels, std::int64_t n, double weight) {
        const Row row = reader_.learned(x, largest_);
        if (size() >= bound().room()) return false;
        bound().learn(row, labels, n, weight);
        return true;
    }

    DictReader reader_;
    std::unique_ptr<Bound> bound_;
    double largest_ = 0.0;
};

}  // namespace

void bind_dicts(nb::module_& m) {
    nb::class_<DictLearner>(m, "DictLearner")
        .def(nb::init<int, std::int64_t>(), "bits"_a, "most_columns"_a)
        .def("bind", &DictLearner::bind, "learner"_a, "state"_a, "calibrate"_a, "largest"_a)
        .def("learn", &DictLearner::learn_class, "x"_a, "label"_a, "weight"_a)
        .def("learn_labels", &DictLearner::learn, "x"_a, "labels"_a, "weight"_a)
        .def("best", &DictLearner::best, "x"_a)
        .def("scores", &DictLearner::scores, "x"_a)
        .def("probabilities", &DictLearner::probabilities, "x"_a)
        .def("row", &DictLearner::row, "x"_a, "learned"_a, "largest"_a)
        .def("columns", &DictLearner::columns, "names"_a, "learned"_a)
        .def_prop_ro("size", &DictLearner::size, "features met so far")
        .def("features", &DictLearner::features)
        .def("restore", &DictLearner::restore, "keys"_a.noconvert(), "text"_a.noconvert(), "start"_a.noconvert());
}

}  // namespace confidently::python
