// Rows that are Python dicts: training and prediction, one at a time.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/batches.hpp"
#include "bindings/dict_reader.hpp"
#include "bindings/learner_settings.hpp"
#include "data/rows_out.hpp"
#include "learner/predict.hpp"
#include "views/center.hpp"

namespace confidently::python {

namespace {

// A single row.
class OneRow final : public Rows {
  public:
    OneRow(Row row, std::int64_t n_columns) : Rows(1, n_columns), row_(row) {}
    Row at(std::int64_t, bool intercept, RowBuffer&) const override { return {row_.column, row_.value, row_.size, intercept}; }
    Fault fault(std::int64_t, double) const override { return {}; }

  private:
    Row row_;
};

// A learner bound to the arrays of its state, once instead of for every row.
class BoundLearner {
  public:
    virtual ~BoundLearner() = default;
    // target: of a regression; otherwise nullptr
    virtual void learn(Row row, const std::int32_t* labels, std::int64_t n_labels, double weight, const double* target) = 0;
    virtual void scores(const Row& row, double* out) = 0;  // one per column
    // mean and variance of the score of a regression; `unseen`: the root of the sum of squares of features without a column
    virtual std::pair<double, double> distribution(const Row& row, double unseen) = 0;
    virtual double offset() const = 0;  // of the scores of a regression, except for one of counts
    virtual void probabilities(const Row& row, double* out) = 0;  // one per class or label, also for two classes
    virtual int columns() const = 0;
    virtual int n_probabilities() const = 0;
    virtual std::int64_t capacity() const = 0;  // number of features the arrays have space for
};

template <class Task>
inline constexpr bool kPredictsNumbers = false;
template <Offset offset>
inline constexpr bool kPredictsNumbers<Regression<offset>> = true;

inline double clip(double p) { return std::min(std::max(p, 0x1p-53), 1.0 - 0x1p-53); }

template <class Covariance, class Task, class Real>
class BoundTo final : public BoundLearner {
  public:
    // state: writable
    BoundTo(const Covariance& covariance, const LearnerSettings& settings, const nb::dict& state, bool calibrate)
        : covariance_(covariance), undo_(*covariance.weights.undo), rule_(settings.rule), prior_(settings.prior_variance), independent_(settings.independent),
          calibrate_(calibrate), counters_(data<std::int64_t>(state, "counters")), updates_(data<std::int64_t>(state, "updates")),
          calibration_(data<double>(state, "calibration")), scratch_(std::size_t(covariance.weights.columns)) {
        for (auto [name, array] : state) {
            owners_.push_back(nb::borrow(array));
            const auto own = nb::cast<std::string>(name);
            if (own == "weights" || own == "precision" || own == "shift") continue;
            const auto numbers = nb::cast<nb::ndarray<nb::ro, nb::c_contig>>(array);
            // Bins of errors change, as the normal equations do, when nothing can fail any more.
            const bool without_bins = is_regression && own == "calibration" && covariance.weights.columns == 1;
            kept_.push_back({numbers.data(), without_bins ? 8 * sizeof(double) : numbers.nbytes()});
        }
        if (is_regression && state.contains("precision")) {
            const std::int64_t n = covariance.weights.n_features;
            require(!covariance.weights.intercept && covariance.weights.columns == 1, "normal equations are of one number");
            precision_ = StateArrays{state}.template array<double>("precision", n, n);
            shift_ = StateArrays{state}.template array<double>("shift", n, 1);
        }
        if (state.contains("center.kind")) center_.emplace(Center::open(StateArrays{state}, nullptr));
    }

    void learn(Row row, const std::int32_t* labels, std::int64_t n_labels, double weight, const double* target) override {
        require(has_labels || n_labels == 1, "a row has one class");
        require((target != nullptr) == is_regression, "a regression learns numbers, and nothing else does");
        require_below(labels, n_labels, n_probabilities(), "labels out of range");
        undo_.clear();
        for (Kept& kept : kept_) kept.save();
        const Row made = seen(row);
        const OneRow rows(made, capacity());
        if (center_ && weight > 0.0) center_->learn(row, weight);
        const std::int64_t start[2] = {0, n_labels};
        const Batch batch{rows, {labels, start, target}, &weight, nullptr, nullptr, 0, 1};
        double evidence[2] = {};
        Progressive progressive;
        if (precision_) progressive.evidence = evidence;
        try {
            const Inspector inspector{rows, 0.0, HUGE_VAL};
            confidently::learn<Real>(covariance_, task_, rule_, rows,
                                     {prior_, batch, calibrate_ ? calibration_ : nullptr, progressive,
                                      {counters_[0], counters_[1], counters_[2], updates_}, independent_, inspector,
                                      is_regression ? calibration_ : nullptr});
        } catch (const InvalidRow&) {
            restore();
            throw std::overflow_error("a row takes the learner out of range");
        } catch (...) {  // memory for the log
            restore();
            throw;
        }
        if (precision_) add_evidence(made, evidence[0], evidence[1]);
    }

    void scores(const Row& row, double* out) override {
        covariance_.weights.prediction(with_intercept(seen(row)), counters_[0], out, scratch_.data());
    }

    std::pair<double, double> distribution(const Row& bare, double unseen) override {
        require(columns() == 1, "a row has one number");
        const Row row = with_intercept(seen(bare));
        double mean;
        covariance_.weights.prediction(row, counters_[0], &mean, scratch_.data());
        return {mean, covariance_.variance(row, {0, kNone}) + prior_ * unseen * unseen};
    }

    double offset() const override { return is_regression ? TargetStatistics{calibration_}.mean() : 0.0; }

    void probabilities(const Row& bare, double* out) override {
        const Row row = with_intercept(seen(bare));
        std::vector<double> s(static_cast<std::size_t>(columns()));
        scores(bare, s.data());
        if constexpr (std::is_same_v<Task, Binary>) {
            const double f = s[0] * moderation(covariance_.variance(row, {0, kNone}), prior_);
            out[1] = clip(sigmoid(calibration_[0] * f + calibration_[1]));
            out[0] = 1.0 - out[1];
        } else if constexpr (std::is_same_v<Task, MultilabelOneVsRest>) {
            for (int k = 0; k < columns(); ++k) {
                const double* c = calibration_ + k * SigmoidCalibration::size;
                const double f = s[std::size_t(k)] * moderation(covariance_.variance(row, {k, kNone}), prior_);
                out[k] = clip(sigmoid(c[0] * f + c[1]));
            }
        } else if constexpr (std::is_same_v<Task, Multilabel>) {
            for (int k = 1; k < columns(); ++k) {
                const double* c = calibration_ + (k - 1) * SigmoidCalibration::size;
                out[k - 1] = clip(sigmoid(c[0] * (s[std::size_t(k)] - s[Multilabel::threshold]) + c[1]));
            }
        } else {
            softmax(row, s, out);
        }
    }

    int columns() const override { return covariance_.weights.columns; }
    int n_probabilities() const override {
        return columns() + std::is_same_v<Task, Binary> - std::is_same_v<Task, Multilabel>;
    }
    std::int64_t capacity() const override {
        const std::int64_t weights = covariance_.weights.n_features - covariance_.weights.intercept;
        return center_ ? std::min(weights, std::int64_t(center_->present.size())) : weights;
    }

  private:
    static constexpr bool is_regression = kPredictsNumbers<Task>;
    static constexpr bool has_labels = std::is_same_v<Task, Multilabel> || std::is_same_v<Task, MultilabelOneVsRest>;

    // Adds a row to the normal equations of least squares (src/confidently/covariances/normal_equations.py).
    void add_evidence(const Row& row, double zeta, double target) {
        const std::int64_t n = covariance_.weights.n_features;
        for (std::int32_t i = 0; i < row.size; ++i) {
            const double z = zeta * row.value[i];
            double* const of_row = precision_ + row.column[i] * n;
            for (std::int32_t j = 0; j < row.size; ++j) of_row[row.column[j]] += z * row.value[j];
            shift_[row.column[i]] += z * target;
        }
    }

    void restore() {
        undo_.roll_back();
        for (Kept& kept : kept_) kept.restore();
    }

    // What the learner sees of a row: with centered columns, the row less their means.
    Row seen(const Row& row) {
        if (!center_) return row;
        made_.value.clear(), made_.column.clear();
        made_.start.resize(1);
        center_->see(row, made_);
        return {made_.column.data(), made_.value.data(), std::int32_t(made_.value.size()), row.intercept};
    }

    Row with_intercept(Row row) const {
        row.intercept = covariance_.weights.intercept;
        return row;
    }

    void softmax(const Row& row, const std::vector<double>& s, double* out) const {
        const TopTwo top(s.data(), columns());
        const double v = independent_ ? covariance_.variance(row, {top.first, kNone}) + covariance_.variance(row, {top.second, kNone})
                                      : covariance_.variance(row, {top.first, top.second});
        const double slope = calibration_[0] * moderation(v, prior_);
        double total = 0.0;
        for (std::size_t k = 0; k < s.size(); ++k) total += out[k] = std::exp(slope * (s[k] - s[std::size_t(top.first)]));
        for (std::size_t k = 0; k < s.size(); ++k) out[k] /= total;
    }

    // A small array of the state, and its content before the row.
    struct Kept {
        const void* data;
        std::vector<char> before;

        Kept(const void* data, std::size_t bytes) : data(data), before(bytes) {}
        void save() { std::memcpy(before.data(), data, before.size()); }
        void restore() { std::memcpy(const_cast<void*>(data), before.data(), before.size()); }
    };

    Covariance covariance_;
    Undo<Real>& undo_;  // which the weights of the covariance refer to
    Task task_;
    AnyRule rule_;
    double prior_;
    bool independent_, calibrate_;
    std::int64_t *counters_, *updates_;
    double* calibration_;
    std::vector<double> scratch_;
    double *precision_ = nullptr, *shift_ = nullptr;  // normal equations, where the state has them
    std::optional<Center> center_;
    MadeRows made_;
    std::vector<nb::object> owners_;
    std::vector<Kept> kept_;
};

// Trains on dicts where the covariance can be bound to its arrays, and numbers the features of dicts for any learner.
class DictLearner {
  public:
    DictLearner(int bits, std::int64_t max_columns, bool zeros)
        : reader_((require_table(bits, max_columns), bits), max_columns, zeros) {}

    // `spare`: whether the arrays have space for one feature more than there are, which stands for the unseen ones of a row
    // classes: their numbers, which the caller keeps up to date
    void bind(const LearnerSettings& settings, const Dict& state, bool calibrate, double largest, bool spare, const nb::typed<nb::dict, nb::any, int>& classes) {
        require_writable(state);
        largest_ = largest;
        spare_ = spare;
        classes_ = classes;
        with_covariance(settings.covariance, [&](auto row) {
            settings.open_row(row, state, 0, &undo_, [&](const auto& covariance, auto type) {
                constexpr bool may_be_kept = decltype(row)::template outlives_call<decltype(type)>;
                require(may_be_kept, "this covariance trains on matrices only");
                if constexpr (may_be_kept)
                    with_task<std::decay_t<decltype(covariance)>>(settings.task, [&](auto task) {
                        bound_ = std::make_unique<BoundTo<std::decay_t<decltype(covariance)>, decltype(task), decltype(type)>>(
                            covariance, settings, state, calibrate);
                    });
            });
        });
    }

    void unbind() { bound_.reset(); }

    // Returns false, and leaves everything unchanged, if no learner is bound, if the class is unknown, or if the arrays must
    // grow first.
    bool learn(nb::handle x, nb::handle y, double weight) {
        if (!bound_) return false;
        PyObject* number = PyDict_GetItemWithError(classes_.ptr(), y.ptr());
        if (!number && PyErr_Occurred()) nb::raise_python_error();
        if (!number) return false;
        const bool learned = learn_class(x, nb::cast<std::int32_t>(nb::handle(number)), weight);
        if (!learned) reader_.forget_new();
        return learned;
    }

    // The same for the number of a class, or those of labels; new features remain, if the arrays must grow.
    bool learn_class(nb::handle x, std::int32_t label, double weight) { return learn_row(x, &label, 1, weight); }
    bool learn_labels(nb::handle x, const std::vector<std::int32_t>& labels, double weight) {
        return learn_row(x, labels.data(), std::int64_t(labels.size()), weight);
    }

    // The same for a regression; none if no learner is bound.
    bool learn_number(nb::handle x, double y, double weight) {
        if (!bound_) return false;
        const std::int32_t label = 0;
        return learn_row(x, &label, 1, weight, &y);
    }

    // the number of the class of the best score
    int best(nb::handle x) {
        const std::vector<double>& s = score(x);
        return s.size() == 1 ? s[0] > 0.0 : TopTwo(s.data(), static_cast<int>(s.size())).first;
    }

    std::vector<double> scores(nb::handle x) { return score(x); }

    // what a regression predicts that is not one of counts
    double number(nb::handle x) {
        const std::vector<double>& s = score(x);
        require(s.size() == 1, "a row has one number");
        return s[0] + bound().offset();
    }

    // mean and variance of the score of a regression, without its offset
    std::pair<double, double> distribution(nb::handle x) {
        Row row = to_predict(x);
        double unseen = 0.0;
        if (!spare_ && has_unseen(row)) unseen = row.value[--row.size];
        return bound().distribution(row, unseen);
    }

    // none if the row has unseen features and the arrays have no space for them
    std::vector<double> probabilities(nb::handle x) {
        const Row row = to_predict(x);
        if (!spare_ && has_unseen(row)) return {};
        std::vector<double> out(static_cast<std::size_t>(bound().n_probabilities()));
        bound().probabilities(row, out.data());
        return out;
    }

    // values and columns of a row
    nb::typed<nb::tuple, Vector<double>, Vector<std::int32_t>> row(nb::handle x, bool learned, double largest) {
        const Row row = learned ? reader_.to_train(x, largest) : reader_.to_predict(x, largest);
        return nb::make_tuple(array_of(std::vector<double>(row.value, row.value + row.size)),
                              array_of(std::vector<std::int32_t>(row.column, row.column + row.size)));
    }

    // the columns of some features; unless `learned`, -1 for unseen ones
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

    void forget(std::int64_t features) {
        require(features >= 0, "there is no such feature");
        reader_.forget(features);
    }

    // keys of all features, and where names are kept: text, start
    nb::typed<nb::tuple, Vector<std::uint32_t>, PythonStrings> features() {
        FeatureTable& table = reader_.features();
        std::vector<std::uint32_t> keys;
        Strings names;
        for (std::int64_t k = 0; k < table.size(); ++k) {
            keys.push_back(table.key(k));
            if (table.exact()) names.add("", table.name(k));
        }
        return nb::make_tuple(array_of(std::move(keys)), python_strings(std::move(names)));
    }

    void restore(Input<std::uint32_t, 1> keys, Input<std::uint8_t, 1> text, Input<std::int64_t, 1> start) {
        restore_features(reader_.features(), keys, text, start);
    }

  private:
    BoundLearner& bound() {
        require(bound_ != nullptr, "no learner is bound yet");
        return *bound_;
    }

    const std::vector<double>& score(nb::handle x) {
        scores_.resize(static_cast<std::size_t>(bound().columns()));
        Row row = to_predict(x);
        row.size -= !spare_ && has_unseen(row);  // their weights have mean 0
        bound().scores(row, scores_.data());
        return scores_;
    }

    Row to_predict(nb::handle x) {
        require(size() + spare_ <= bound().capacity(), "there is no space for an unseen feature");
        return reader_.to_predict(x, largest_);
    }

    // Whether a row to predict ends with the column that stands for its unseen features.
    bool has_unseen(const Row& row) { return row.size && row.column[row.size - 1] >= size(); }

    bool learn_row(nb::handle x, const std::int32_t* labels, std::int64_t n, double weight, const double* target = nullptr) {
        const Row row = reader_.to_train(x, largest_);
        if (size() + spare_ > bound().capacity()) return false;
        try {
            bound().learn(row, labels, n, weight, target);
        } catch (...) {
            reader_.forget_new();
            throw;
        }
        return true;
    }

    DictReader reader_;
    UndoLog undo_;
    std::unique_ptr<BoundLearner> bound_;
    double largest_ = 0.0;
    bool spare_ = true;
    nb::dict classes_;
    std::vector<double> scores_;
};

// Methods run in one thread at a time, even where Python has no global lock. Where it has one, a second lock would only slow
// down every call.
#ifdef NB_FREE_THREADED
inline auto row_argument() { return "x"_a.none().lock(); }
template <class... Of>
void method(nb::class_<DictLearner>& learner, const Of&... of) { learner.def(of..., nb::lock_self()); }
#else
inline auto row_argument() { return "x"_a.none(); }
template <class... Of>
void method(nb::class_<DictLearner>& learner, const Of&... of) { learner.def(of...); }
#endif

}  // namespace

void bind_dicts(nb::module_& m) {
    const auto x = row_argument();
    nb::class_<DictLearner> learner(m, "DictLearner");
    learner.def(nb::init<int, std::int64_t, bool>(), "bits"_a, "max_columns"_a, "zeros"_a = false);
    method(learner, "bind", &DictLearner::bind, "learner"_a, "state"_a, "calibrate"_a, "largest"_a, "spare"_a, "classes"_a);
    method(learner, "unbind", &DictLearner::unbind);
    method(learner, "learn", &DictLearner::learn, x, "y"_a.none(), "weight"_a);
    method(learner, "learn_class", &DictLearner::learn_class, x, "label"_a, "weight"_a);
    method(learner, "learn_labels", &DictLearner::learn_labels, x, "labels"_a, "weight"_a);
    method(learner, "learn_number", &DictLearner::learn_number, x, "y"_a, "weight"_a);
    method(learner, "best", &DictLearner::best, x);
    method(learner, "scores", &DictLearner::scores, x);
    method(learner, "number", &DictLearner::number, x);
    method(learner, "distribution", &DictLearner::distribution, x);
    method(learner, "probabilities", &DictLearner::probabilities, x);
    method(learner, "row", &DictLearner::row, x, "learned"_a, "largest"_a);
    method(learner, "columns", &DictLearner::columns, "names"_a, "learned"_a);
    method(learner, "forget", &DictLearner::forget, "features"_a);
    method(learner, "features", &DictLearner::features);
    method(learner, "restore", &DictLearner::restore, "keys"_a.noconvert(), "text"_a.noconvert(), "start"_a.noconvert());
    learner.def_prop_ro("size", &DictLearner::size, "number of features seen");
}

}  // namespace confidently::python
