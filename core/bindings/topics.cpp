// Topic models for Python: checks shapes, distributes models to threads, releases the interpreter lock.
#include <nanobind/stl/optional.h>

#include "topics/topics.hpp"
#include "bindings/arrays.hpp"

namespace confidently::python {

namespace {

// The arrays of a state (src/confidently/topics/learner.py). They belong to Python, and may be read-only for
// prediction; the Python side makes them writable before it learns.
struct Arrays {
    Input<double, 3> counts;
    Input<double, 2> totals;
    Input<double, 3> shift;
    std::optional<Input<double, 4>> precision;
    std::optional<Input<double, 3>> sticks;

    explicit Arrays(const nb::dict& state)
        : counts(entry<double, 3>(state, "words")), totals(entry<double, 2>(state, "totals")),
          shift(entry<double, 3>(state, "shift")) {
        if (state.contains("precision")) precision = entry<double, 4>(state, "precision");
        if (state.contains("sticks")) sticks = entry<double, 3>(state, "sticks");
    }

    template <class Array>
    static double* data(const Array& array) {
        return const_cast<double*>(array.data());
    }

    std::int64_t models() const { return std::int64_t(counts.shape(1)); }

    void require_shapes(const TopicSettings& s) const {
        const std::size_t models = counts.shape(1), K = s.topics, T = s.tasks;
        require(counts.shape(2) == K, "words does not fit the number of topics");
        require(totals.shape(0) == models && totals.shape(1) == K, "totals does not fit words");
        require(shift.shape(0) == models && shift.shape(1) == T && shift.shape(2) == K, "shift does not fit words");
        require(precision.has_value() == s.classifier.gibbs && sticks.has_value() == s.nonparametric,
                "precision or sticks is missing");
        if (precision)
            require(precision->shape(0) == models && precision->shape(1) == T && precision->shape(2) == K &&
                        precision->shape(3) == K,
                    "precision does not fit words");
        if (sticks)
            require(sticks->shape(0) == models && sticks->shape(1) == 2 && sticks->shape(2) == K,
                    "sticks does not fit words");
    }

    TopicState model(const TopicSettings& s, std::int64_t words, std::int64_t l) const {
        const std::int64_t K = s.topics, T = s.tasks;
        return {data(counts) + l * K,
                words,
                models() * K,
                data(totals) + l * K,
                precision ? data(*precision) + l * T * K * K : nullptr,
                data(shift) + l * T * K,
                sticks ? data(*sticks) + l * 2 * K : nullptr};
    }
};

Bags bags(const Input<std::int64_t, 1>& start, const Input<std::int32_t, 1>& words,
          const Input<std::int32_t, 1>& counts, std::int64_t n_words, const Arrays& arrays) {
    require_starts(start, words.shape(0), "indptr must not be negative, not decrease, and end within the words");
    require(words.shape(0) == counts.shape(0), "indptr does not fit");
    require(n_words >= 0 && n_words <= std::int64_t(arrays.counts.shape(0)), "more words than the state has room for");
    const std::int64_t first = start.data()[0], n = start.data()[start.shape(0) - 1] - first;
    require_below(words.data() + first, n, n_words, "a word is out of range");
    require_below(counts.data() + first, n, std::int64_t(1) << 31, "a count is negative");
    return {start.data(), words.data(), counts.data()};
}

// Calls work(model, l, team) for every model: several models at a time if there are as many as threads, otherwise one
// model at a time with all threads.
template <class Work>
void for_each_model(const TopicSettings& s, const Arrays& arrays, std::int64_t n_words, int threads, Work&& work) {
    const std::int64_t models = arrays.models();
    const bool models_in_parallel = models >= threads;
    Team outer(models_in_parallel ? threads : 1), inner(models_in_parallel ? 1 : threads);
    outer.run(models, [&](std::int64_t l, int) {
        TopicModel model(s, arrays.model(s, n_words, l), static_cast<int>(l));
        if (models_in_parallel) {
            Team alone(1);
            work(model, l, alone);
        } else {
            work(model, l, inner);
        }
    });
}

void learn(const TopicSettings& s, const Dict& state, std::int64_t n_words, const Input<std::int64_t, 1>& start,
           const Input<std::int32_t, 1>& words, const Input<std::int32_t, 1>& counts,
           const Input<std::int8_t, 3>& signs, const Input<double, 1>& weights, std::int64_t seen, int threads) {
    require_writable(state);
    const Arrays arrays(state);
    arrays.require_shapes(s);
    const Bags rows = bags(start, words, counts, n_words, arrays);
    const auto n = std::int64_t(start.shape(0)) - 1;
    require(std::int64_t(signs.shape(0)) == n && std::int64_t(signs.shape(1)) == arrays.models() &&
                signs.shape(2) == std::size_t(s.tasks) && std::int64_t(weights.shape(0)) == n,
            "signs or weights do not fit the rows");
    nb::gil_scoped_release release;
    for_each_model(s, arrays, n_words, threads, [&](TopicModel& model, std::int64_t l, Team& team) {
        model.learn(rows, {signs.data() + l * s.tasks, arrays.models() * s.tasks, weights.data()}, 0, n, seen, team);
    });
}

void infer(const TopicSettings& s, const Dict& state, std::int64_t n_words, const Input<std::int64_t, 1>& start,
           const Input<std::int32_t, 1>& words, const Input<std::int32_t, 1>& counts, int burn_in, int samples,
           const Array<double, 3>& proportions, int threads) {
    const Arrays arrays(state);
    arrays.require_shapes(s);
    const Bags rows = bags(start, words, counts, n_words, arrays);
    const auto n = std::int64_t(start.shape(0)) - 1;
    require(std::int64_t(proportions.shape(0)) == n && std::int64_t(proportions.shape(1)) == arrays.models() &&
                proportions.shape(2) == std::size_t(s.topics) && samples > 0 && burn_in >= 0,
            "proportions do not fit the rows");
    nb::gil_scoped_release release;
    for_each_model(s, arrays, n_words, threads, [&](TopicModel& model, std::int64_t l, Team& team) {
        model.infer(rows, 0, n, burn_in, samples, proportions.data() + l * s.topics, arrays.models() * s.topics, team);
    });
}

}  // namespace

void bind_topics(nb::module_& m) {
    nb::class_<TopicSettings>(m, "Topics")
        .def("__init__",
             [](TopicSettings* self, int topics, int tasks, bool nonparametric, bool digamma, bool gibbs,
                double document_prior, double word_prior, double stick_prior, double c, double epsilon,
                double prior_variance, double step_size, int inner, int samples, int burn_in, std::int64_t batch,
                std::uint64_t seed) {
        require(topics > 0 && tasks > 0 && inner > 0 && samples > 0 && burn_in >= 0 && batch > 0,
                "counts must be positive");
        new (self) TopicSettings{topics,
                                 tasks,
                                 nonparametric,
                                 digamma,
                                 document_prior,
                                 word_prior,
                                 stick_prior,
                                 {gibbs, c, epsilon, prior_variance, step_size},
                                 inner,
                                 samples,
                                 burn_in,
                                 batch,
                                 seed};
    },
             nb::kw_only(), "topics"_a, "tasks"_a, "nonparametric"_a, "digamma"_a, "gibbs"_a, "document_prior"_a,
             "word_prior"_a, "stick_prior"_a, "c"_a, "epsilon"_a, "prior_variance"_a, "step_size"_a, "inner"_a,
             "samples"_a, "burn_in"_a, "batch"_a, "seed"_a)
        .def("learn", &learn, "state"_a, "n_words"_a, "start"_a.noconvert(), "words"_a.noconvert(),
             "counts"_a.noconvert(), "signs"_a.noconvert(), "weights"_a.noconvert(), "seen"_a, "threads"_a)
        .def("infer", &infer, "state"_a, "n_words"_a, "start"_a.noconvert(), "words"_a.noconvert(),
             "counts"_a.noconvert(), "burn_in"_a, "samples"_a, "proportions"_a.noconvert(), "threads"_a);
    m.def("digamma", [](double x) {
        require(x > 0.0, "digamma is for positive numbers");
        return digamma(x);
    }, "x"_a);
    m.def("exp_of_negative", [](double x) { return exp_of_negative(x); }, "x"_a);
    m.def("inverse_gaussian", [](double mean, std::uint64_t seed, std::int64_t n) {
        std::vector<double> drawn(n);
        Stream random(seed);
        for (double& x : drawn) x = random.inverse_gaussian(mean);
        return array_of(std::move(drawn));
    }, "mean"_a, "seed"_a, "n"_a);
}

}  // namespace confidently::python
