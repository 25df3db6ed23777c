// Rows that are Python dicts: training and prediction, one at a time.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bound_learner.hpp"
#include "bindings/dict_reader.hpp"
#include "bindings/learner_settings.hpp"

namespace confidently::python {

namespace {

// Trains on dicts where the covariance can be bound to its arrays, and numbers the features of dicts for any learner.
class DictLearner {
  public:
    DictLearner(int bits, std::int64_t max_columns, bool zeros)
        : reader_((require_table(bits, max_columns), bits), max_columns, zeros) {}

    // `spare`: whether the arrays have space for one feature more than there are, which stands for the unseen ones of a
    // row classes: their numbers, which the caller keeps up to date
    void bind(const LearnerSettings& settings, const Dict& state, bool calibrate, double largest, bool spare,
              const nb::typed<nb::dict, nb::any, int>& classes, const std::vector<Step>& views) {
        require_writable(state);
        largest_ = largest;
        spare_ = spare;
        classes_ = classes;
        bound_ = std::make_unique<BoundLearner>(settings, state, undo_, calibrate, views);
        has_views_ = !views.empty();
    }

    void unbind() { bound_.reset(); }

    // Returns false, and leaves everything unchanged, if no learner is bound, if the class is unknown, or if the arrays
    // must grow first.
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

    // the number of the class of the best score; -1 if views make another column than the weights have
    int best(nb::handle x) {
        if (has_views_ && has_unseen(to_predict(x))) return -1;
        try {
            const std::vector<double>& s = score(x);
            return s.size() == 1 ? s[0] > 0.0 : TopTwo(s.data(), static_cast<int>(s.size())).first;
        } catch (const Unmade&) {
            return -1;
        }
    }

    std::vector<double> scores(nb::handle x) { return score(x); }

    // what a regression predicts that is not one of counts
    double number(nb::handle x) {
        const std::vector<double>& s = score(x);
        require(s.size() == 1, "a row has one number");
        return bound().number(s[0]);
    }

    // mean and variance of the score of a regression, without its offset
    std::pair<double, double> distribution(nb::handle x) {
        Row row = to_predict(x);
        double unseen = 0.0;
        if (!spare_ && has_unseen(row)) unseen = row.value[--row.size];
        return bound().distribution(row, unseen);
    }

    // none if the row has unseen features, or views make others of it, for which the arrays have no space
    std::vector<double> probabilities(nb::handle x) {
        const Row row = to_predict(x);
        if (!spare_ && has_unseen(row)) return {};
        std::vector<double> out(static_cast<std::size_t>(bound().n_probabilities()));
        try {
            bound().probabilities(row, out.data());
        } catch (const Unmade&) {
            return {};
        }
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
            out.push_back(learned ? features.column(key, plain, name.view()).first
                                  : features.find(key, plain, name.view()));
        }
        return array_of(std::move(out));
    }

    std::int64_t size() { return reader_.features().size(); }

    void forget(std::int64_t features) {
        require(features >= 0, "there is no such feature");
        reader_.forget(features);
    }

    // keys of the features from one on, and where names are kept: text, start
    nb::typed<nb::tuple, Vector<std::uint32_t>, PythonStrings> features(std::int64_t first) {
        require(first >= 0, "there is no such feature");
        FeatureTable& table = reader_.features();
        std::vector<std::uint32_t> keys;
        Strings names;
        for (std::int64_t k = first; k < table.size(); ++k) {
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

    bool learn_row(nb::handle x, const std::int32_t* labels, std::int64_t n, double weight,
                   const double* target = nullptr) {
        const Row row = reader_.to_train(x, largest_);
        if (size() + spare_ > bound().capacity()) return false;
        try {
            return bound().learn(row, labels, n, weight, target);
        } catch (...) {
            reader_.forget_new();
            throw;
        }
    }

    DictReader reader_;
    UndoLog undo_;
    std::unique_ptr<BoundLearner> bound_;
    double largest_ = 0.0;
    bool spare_ = true, has_views_ = false;
    nb::dict classes_;
    std::vector<double> scores_;
};

// Methods run in one thread at a time, even where Python has no global lock. Where it has one, a second lock would only
// slow down every call.
#ifdef NB_FREE_THREADED
inline auto row_argument() { return "x"_a.none().lock(); }
template <class... Of>
void method(nb::class_<DictLearner>& learner, const Of&... of) {
    learner.def(of..., nb::lock_self());
}
#else
inline auto row_argument() { return "x"_a.none(); }
template <class... Of>
void method(nb::class_<DictLearner>& learner, const Of&... of) {
    learner.def(of...);
}
#endif

}  // namespace

void bind_dicts(nb::module_& m) {
    const auto x = row_argument();
    nb::class_<DictLearner> learner(m, "DictLearner");
    learner.def(nb::init<int, std::int64_t, bool>(), "bits"_a, "max_columns"_a, "zeros"_a = false);
    method(learner, "bind", &DictLearner::bind, "learner"_a, "state"_a, "calibrate"_a, "largest"_a, "spare"_a,
           "classes"_a, "views"_a);
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
    method(learner, "features", &DictLearner::features, "first"_a = 0);
    method(learner, "restore", &DictLearner::restore, "keys"_a.noconvert(), "text"_a.noconvert(),
           "start"_a.noconvert());
    learner.def_prop_ro("size", &DictLearner::size, "number of features seen");
}

}  // namespace confidently::python
