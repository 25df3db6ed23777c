// The stack for Python: naive Bayes, the means of classes, and the mixture of the members' scores.
#include <nanobind/stl/optional.h>

#include <algorithm>

#include "bindings/learner.hpp"
#include "bindings/state_arrays.hpp"
#include "stack/class_means.hpp"
#include "stack/mixture.hpp"
#include "stack/naive_bayes.hpp"
#include "stack/number_mixture.hpp"
#include "stack/said.hpp"

namespace confidently::python {

namespace {

// Naive Bayes over the arrays of a state.
NaiveBayes open_naive_bayes(const StateArrays& arrays, const Matrix& matrix, UndoLog* undo) {
    const std::size_t features = arrays.size("frequency", 0), classes = arrays.size("frequency", 1);
    require(classes >= 2 && classes < (std::size_t(1) << 31), "there must be two classes or more");
    require_columns(matrix);
    require(matrix.rows->n_columns <= std::int64_t(features),
            "the matrix has more columns than the state has features");
    Undo<double>* log = undo ? &undo->wide : nullptr;
    return {{arrays.array<double>("frequency", features, classes), log},
            {arrays.array<double>("entries", classes), log},
            {arrays.array<double>("rows", classes), log},
            {arrays.array<double>("known", 1), log},
            int(classes)};
}

// Naive Bayes as what scores rows and learns them.
struct NaiveBayesMember {
    NaiveBayes learner;
    int classes = learner.classes;

    void begin() {}
    void score(const Row& row, double* f) const { learner.score(row, f); }
    void look(const Row&, int) const {}
    void learn(const Row& row, int label, double w) const { learner.learn(row, label, w); }
    void count(double) const {}
};

// The means of classes, the products that their scores need, and how unlike all classes rows were.
struct ClassMeansMember {
    ClassMeans learner;
    MarginVariances rarities;
    int classes = learner.classes();
    std::vector<double> at_center = std::vector<double>(std::size_t(learner.groups)), products{}, scratch{};
    ClassMeans::Difference row{};

    void begin() { learner.center_products(at_center.data()); }
    void score(const Row& row, double* f) {
        products.resize(std::size_t(learner.groups));
        learner.score(row, at_center.data(), products.data(), f);
    }
    void look(const Row& seen, int label) { learner.difference(seen, label + 1, row); }
    void learn(const Row&, int, double w) {
        learner.learn(row, w, scratch);
        begin();
    }
    // Of the row that was looked at and scored
    double rarity(double slope) const {
        return unlikeness(learner.novelty(row, at_center.data(), products.data(), slope));
    }
    void count(double slope) const { rarities.learn(rarity(slope)); }
};

// Class means over the arrays of a state.
ClassMeansMember open_class_means(const StateArrays& arrays, const Matrix& matrix) {
    const std::size_t features = arrays.size("means", 0), groups = arrays.size("means", 1);
    require(groups >= 3 && groups < (std::size_t(1) << 31), "there must be two classes or more");
    require_columns(matrix);
    require(matrix.rows->n_columns <= std::int64_t(features),
            "the matrix has more columns than the state has features");
    const ClassMeans learner{arrays.array<double>("means", features, groups),
                             arrays.array<double>("directions", features, groups),
                             arrays.array<double>("squares", groups),
                             arrays.array<double>("rows", groups),
                             arrays.array<double>("precision", features, features),
                             int(features),
                             int(groups)};
    return {learner, {arrays.array<double>("rarities", MarginVariances::size)}};
}

template <class Member>
int columns_of(const Member& member) {
    return member.classes == 2 ? 1 : member.classes;
}

template <class Member>
void member_scores(Member& member, const Matrix& matrix, Array<double, 2> out) {
    const int columns = columns_of(member);
    require(std::int64_t(out.shape(0)) == matrix.rows->n_rows && int(out.shape(1)) == columns,
            "scores do not match the rows and columns");
    nb::gil_scoped_release release;
    RowBuffer buffer;
    std::vector<double> f(static_cast<std::size_t>(member.classes));
    member.begin();
    for (std::int64_t i = 0; i < matrix.rows->n_rows; ++i) {
        member.score(matrix.rows->at(i, false, buffer), f.data());
        relative(f.data(), member.classes);
        std::copy_n(f.data(), columns, out.data() + i * columns);
    }
}

template <class Member>
void member_learn(Member& member, const Dict& state, const Matrix& matrix, const TrainingRows& examples) {
    require_writable(state);
    const int columns = columns_of(member);
    const TaskFacts& task = columns == 1 ? Binary::facts : Joint::facts;
    examples.check(task, columns, matrix.rows->n_rows);
    const Progressive progressive = examples.progressive(task, columns);
    double* calibration = data<double>(state, "calibration");
    require(int(entry<double, 1>(state, "calibration").size()) == (columns == 1 ? Line::size : Slope::size),
            "the calibration does not match the classes");
    const Batch batch = examples.batch(*matrix.rows);
    nb::gil_scoped_release release;
    RowBuffer buffer;
    std::vector<double> f(static_cast<std::size_t>(member.classes)), t(f.size()), p(f.size());
    member.begin();
    for (std::int64_t at = batch.from; at < batch.to; ++at) {
        const std::int64_t i = batch.row(at);
        const double w = batch.weight_of(i);
        if (!(w > 0.0)) continue;
        const Row row = matrix.rows->at(i, false, buffer);
        const int label = *batch.labels.begin(i);
        member.look(row, label);
        if (examples.calibrate) {
            member.score(row, f.data());
            member.count(calibration[0]);
            relative(f.data(), member.classes);
            double* out = progressive.logits ? progressive.logits + (at - batch.from) * columns : nullptr;
            if (columns == 1) {
                const Line found{calibration};
                const double t = found.at(f[0]);
                if (out) *out = t;
                found.learn(f[0], label == 1, w, sigmoid(t));
            } else {
                const Slope found{calibration};
                found.at(f.data(), columns, t.data());
                if (out) std::copy(t.begin(), t.end(), out);
                std::copy(t.begin(), t.end(), p.begin());
                normalize_exponentials(p.data(), columns);
                found.learn(t.data(), OneEach{columns}, label, w, p.data());
            }
        }
        member.learn(row, label, w);
    }
}

void naive_bayes_scores(const Dict& state, const Matrix& matrix, Array<double, 2> out) {
    NaiveBayesMember member{open_naive_bayes(StateArrays{state}, matrix, nullptr)};
    member_scores(member, matrix, out);
}

void naive_bayes_learn(const Dict& state, const Matrix& matrix, const TrainingRows& examples, UndoLog* undo) {
    NaiveBayesMember member{open_naive_bayes(StateArrays{state}, matrix, undo)};
    member_learn(member, state, matrix, examples);
}

void class_means_scores(const Dict& state, const Matrix& matrix, Array<double, 2> out) {
    ClassMeansMember member = open_class_means(StateArrays{state}, matrix);
    member_scores(member, matrix, out);
}

void class_means_learn(const Dict& state, const Matrix& matrix, const TrainingRows& examples) {
    ClassMeansMember member = open_class_means(StateArrays{state}, matrix);
    member_learn(member, state, matrix, examples);
}

// The part of the rows before that were as unlike all classes, of each row.
void class_means_p_values(const Dict& state, const Matrix& matrix, Array<double, 1> out) {
    ClassMeansMember member = open_class_means(StateArrays{state}, matrix);
    require(std::int64_t(out.shape(0)) == matrix.rows->n_rows, "p-values do not match the rows");
    const int size = columns_of(member) == 1 ? Line::size : Slope::size;
    require(int(entry<double, 1>(state, "calibration").size()) == size, "the calibration does not match the classes");
    const double slope = data<double>(state, "calibration")[0];
    nb::gil_scoped_release release;
    RowBuffer buffer;
    std::vector<double> f(static_cast<std::size_t>(member.classes));
    member.begin();
    for (std::int64_t i = 0; i < matrix.rows->n_rows; ++i) {
        const Row row = matrix.rows->at(i, false, buffer);
        member.score(row, f.data());
        member.look(row, -1);  // the group of all rows
        out.data()[i] = member.rarities.p_value(member.rarity(slope));
    }
}

// Learns from the logits of all members, (members, rows, columns), in the order of training. counters: rows and
// mistakes. lasting: the members whose mean tells whether rows have changed: those that do not forget, since others
// follow a change within some rows. shares: those of the windows after each row that was learned, (rows, windows).
// scores: becomes the log-odds of each row's class before it is learned.
void mixture_learn(Array<double, 1> weights, Array<double, 1> share, Array<double, 2> own, Array<double, 3> hessian,
                   Array<double, 1> rows, Array<std::int64_t, 1> counters, Input<double, 3> logits,
                   Input<std::int32_t, 1> labels, Optional<double> weight, std::optional<Array<double, 1>> log_loss,
                   std::optional<Array<double, 2>> shares, std::optional<Array<double, 1>> conformal,
                   Optional<std::int64_t> lasting, std::optional<Array<double, 1>> scores) {
    const std::size_t members = weights.shape(0), n = logits.shape(1), columns = logits.shape(2);
    const std::size_t windows = Mixture::windows;
    require(members >= 1 && members < (1 << 10) && own.shape(1) == members && hessian.shape(1) == members &&
                hessian.shape(2) == members && logits.shape(0) == members,
            "the arrays do not match the members");
    require(share.shape(0) == windows && own.shape(0) == windows && hessian.shape(0) == windows,
            "the arrays do not match the windows");
    require(rows.shape(0) == 1 && rows.data()[0] >= 0.0, "rows must be one number, not negative");
    require(counters.shape(0) == 2, "there must be two counters");
    require(columns >= 1 && columns < (std::size_t(1) << 31), "there must be a column");
    require(labels.shape(0) == n && (!weight || weight->shape(0) == n), "labels or weights do not match the rows");
    require(!log_loss || log_loss->shape(0) == 1, "log_loss must be one number");
    require(!shares || (shares->shape(0) == n && shares->shape(1) == windows),
            "shares do not match the rows and windows");
    require(!scores || (conformal && scores->shape(0) == n), "scores do not match the rows");
    const std::size_t classes = std::max<std::size_t>(columns, 2);
    require(!conformal || int(conformal->shape(0)) == ConformalSets::size(int(classes)),
            "the conformal scores do not match the classes");
    require_below(labels.data(), std::int64_t(n), std::int64_t(classes), "labels out of range");
    require(bool(conformal) == bool(lasting), "alarms need the members that last");
    if (lasting)
        require_below(lasting->data(), std::int64_t(lasting->shape(0)), std::int64_t(members), "members out of range");
    nb::gil_scoped_release release;
    Mixture mixture(int(members), weights.data(), share.data(), own.data(), hessian.data(), rows.data());
    std::vector<double> mixed(columns), mean(columns);
    for (std::size_t i = 0; i < n; ++i) {
        const double w = weight ? weight->data()[i] : 1.0;
        if (!(w > 0.0)) continue;
        const int label = labels.data()[i];
        const MemberLogits l{logits.data() + i * columns, std::int64_t(n * columns), int(columns)};
        mixture.mix(l, mixed.data());
        ++counters.data()[0];
        const TopTwo top(mixed.data(), int(columns));
        counters.data()[1] += columns == 1 ? (label == 1 ? mixed[0] : -mixed[0]) <= 0.0
                                           : mixed[label] <= mixed[top.first == label ? top.second : top.first];
        if (conformal) {
            const int best = columns == 1 ? mixed[0] > 0.0 : top.first;
            const Said said = said_of(mixed.data(), best, l, {lasting->data(), lasting->shape(0)}, label, mean);
            if (scores) scores->data()[i] = said.score;
            ConformalSets{conformal->data()}.learn(said);
        }
        const double p = mixture.learn(l, mixed.data(), label, w);
        if (log_loss) log_loss->data()[0] += confidently::log_loss(p);
        if (shares) std::copy_n(share.data(), windows, shares->data() + i * windows);
    }
}

// Learns from the logits of all members for every label, (members, rows, labels), in the order of training; row i has
// the labels from start[i] to start[i + 1]. Every label has a mixture of its own, which is careful, since a rare label
// that no member foresaw moves all their weights alike. counts: per label, how often it was right to be predicted
// (LabelCalibration). counters: rows, and those of which a relevant label scored no higher than another one.
void label_mixtures_learn(Array<double, 2> weights, Array<double, 2> share, Array<double, 3> own,
                          Array<double, 4> hessian, Array<double, 1> rows, Array<double, 2> counts,
                          Array<std::int64_t, 1> counters, Input<double, 3> logits, Input<std::int32_t, 1> labels,
                          Input<std::int64_t, 1> start, Optional<double> weight,
                          std::optional<Array<double, 1>> log_loss, std::optional<Array<double, 1>> conformal,
                          std::optional<Array<double, 1>> scores) {
    const std::size_t members = logits.shape(0), n = logits.shape(1), k = logits.shape(2);
    const std::size_t windows = Mixture::windows;
    require(members >= 1 && members < (1 << 10) && weights.shape(1) == members && own.shape(2) == members &&
                hessian.shape(2) == members && hessian.shape(3) == members,
            "the arrays do not match the members");
    require(share.shape(1) == windows && own.shape(1) == windows && hessian.shape(1) == windows,
            "the arrays do not match the windows");
    require(k < (std::size_t(1) << 31) && weights.shape(0) == k && share.shape(0) == k && own.shape(0) == k &&
                hessian.shape(0) == k && rows.shape(0) == k && counts.shape(0) == k && counts.shape(1) == 2,
            "the arrays do not match the labels");
    require(counters.shape(0) == 2, "there must be two counters");
    require(!conformal || int(conformal->shape(0)) == ConformalSets::size(int(k)),
            "the conformal scores do not match the labels");
    require(start.shape(0) == n + 1 && (!weight || weight->shape(0) == n), "labels or weights do not match the rows");
    require(!log_loss || log_loss->shape(0) == 1, "log_loss must be one number");
    require(!scores || (conformal && scores->shape(0) == labels.shape(0)), "scores do not match the labels");
    for (std::size_t i = 0; i < n; ++i)
        require(0 <= start.data()[i] && start.data()[i] <= start.data()[i + 1], "start must not decrease");
    require(start.data()[n] == std::int64_t(labels.shape(0)), "start does not match the labels");
    require_below(labels.data(), std::int64_t(labels.shape(0)), std::int64_t(k), "labels out of range");
    nb::gil_scoped_release release;
    const std::size_t of_windows = windows * members;
    std::vector<Mixture> mixtures;
    for (std::size_t j = 0; j < k; ++j)
        mixtures.emplace_back(int(members), weights.data() + j * members, share.data() + j * windows,
                              own.data() + j * of_windows, hessian.data() + j * of_windows * members, rows.data() + j,
                              true);
    std::vector<double> mixed(k);
    std::vector<char> relevant(k);
    for (std::size_t i = 0; i < n; ++i) {
        const double w = weight ? weight->data()[i] : 1.0;
        if (!(w > 0.0)) continue;
        std::fill(relevant.begin(), relevant.end(), char(0));
        for (std::int64_t at = start.data()[i]; at < start.data()[i + 1]; ++at) relevant[labels.data()[at]] = 1;
        const auto of_label = [&](std::size_t j) {
            return MemberLogits{logits.data() + i * k + j, std::int64_t(n * k), 1};
        };
        double worst = HUGE_VAL, best = -HUGE_VAL;  // scores of the worst relevant and the best irrelevant label
        for (std::size_t j = 0; j < k; ++j) {
            mixtures[j].mix(of_label(j), &mixed[j]);
            (relevant[j] ? worst : best) = relevant[j] ? std::min(worst, mixed[j]) : std::max(best, mixed[j]);
        }
        ++counters.data()[0];
        counters.data()[1] += worst <= best;
        const double threshold = LabelCalibration::half_of_f1(counts.data(), int(k), 2);
        std::optional<DrawnLabel> one;
        if (conformal) one.emplace(ConformalSets{conformal->data()});
        for (std::size_t j = 0; j < k; ++j) {
            LabelCalibration::count(counts.data() + 2 * j, sigmoid(mixed[j]) > threshold, relevant[j], w);
            const double p = mixtures[j].learn(of_label(j), &mixed[j], relevant[j], w);
            if (log_loss) log_loss->data()[0] += confidently::log_loss(p);
            if (!conformal) continue;
            one->see(p);
            if (!relevant[j]) continue;
            ConformalSets{conformal->data()}.learn(log_odds(p), int(j));
            if (!scores) continue;
            const auto *first = labels.data() + start.data()[i], *last = labels.data() + start.data()[i + 1];
            scores->data()[std::find(first, last, std::int32_t(j)) - labels.data()] = log_odds(p);
        }
        if (one) one->learn();
    }
}

// Learns from the predictions of all members, (members, rows, 2), of which the last are rests, in the order of
// training; calibration: the statistics of the targets and of the mixture's errors, which without `calibrate` stay as
// they are; mixed: becomes what is predicted of each row before it is learned; shares: those of the windows after each
// row that was learned, (rows, windows); matrix, order: the rows, and which of them, in the order of training; scores:
// become the errors that are counted.
void number_mixture_learn(Array<double, 1> weights, Array<double, 1> share, Array<double, 3> products,
                          Array<double, 1> rows, Array<double, 1> calibration, Array<std::int64_t, 1> counters,
                          int rests, Input<double, 3> predictions, Input<double, 1> targets, Optional<double> weight,
                          bool calibrate, std::optional<Array<double, 1>> mixed, std::optional<Array<double, 2>> shares,
                          std::optional<Array<double, 1>> conformal, const Matrix* matrix, Optional<std::int64_t> order,
                          std::optional<Array<double, 1>> scores) {
    const std::size_t members = weights.shape(0), n = predictions.shape(1), windows = NumberMixture::windows;
    require(members >= 1 && members < (1 << 10) && products.shape(1) == members && products.shape(2) == members &&
                predictions.shape(0) == members && predictions.shape(2) == 2,
            "the arrays do not match the members");
    require(rests >= 0 && std::size_t(rests) < members, "some members must not be rests");
    require(share.shape(0) == windows && products.shape(0) == windows && rows.shape(0) == 1 + windows,
            "the arrays do not match the windows");
    require(std::all_of(rows.data(), rows.data() + 1 + windows, [](double row) { return row >= 0.0; }),
            "rows must not be negative");
    require(calibration.shape(0) == std::size_t(TargetStatistics::size), "the calibration has the wrong size");
    require(!conformal || conformal->shape(0) == std::size_t(ConformalIntervals::size),
            "the conformal errors have the wrong size");
    require(counters.shape(0) == 1, "there must be one counter");
    require(!matrix || (order ? order->shape(0) : std::size_t(matrix->rows->n_rows)) == n, "rows do not match");
    if (matrix && order)
        for (std::size_t i = 0; i < n; ++i)
            require(0 <= order->data()[i] && order->data()[i] < matrix->rows->n_rows, "there is no such row");
    require(targets.shape(0) == n && (!weight || weight->shape(0) == n) && (!mixed || mixed->shape(0) == n) &&
                (!scores || scores->shape(0) == n),
            "targets, weights, predictions or scores do not match the rows");
    require(!shares || (shares->shape(0) == n && shares->shape(1) == windows),
            "shares do not match the rows and windows");
    nb::gil_scoped_release release;
    NumberMixture mixture(int(members), rests, weights.data(), share.data(), products.data(), rows.data());
    const TargetStatistics statistics{calibration.data()};
    RowBuffer buffer;
    for (std::size_t i = 0; i < n; ++i) {
        const double w = weight ? weight->data()[i] : 1.0, y = targets.data()[i];
        const MemberPredictions found{predictions.data() + 2 * i, std::int64_t(n)};
        const Predicted predicted = mixture.mix(found);
        if (mixed) mixed->data()[i] = predicted.mean;
        if (!(w > 0.0)) continue;
        ++counters.data()[0];
        if (!calibrate) continue;
        if (statistics.weight() > 0.0) {  // otherwise the members have predicted the row by its own target
            const Row row = matrix ? matrix->rows->at(order ? order->data()[i] : i, false, buffer) : Row{};
            const double counted = statistics.learn(y, mixture.counted(predicted, y), row,
                                                    conformal ? conformal->data() : nullptr, mixture.knows_spreads());
            if (scores) scores->data()[i] = counted;
            mixture.learn(found, y, w);
        }
        statistics.add(y, w, Offset::centered);
        if (shares) std::copy_n(share.data(), windows, shares->data() + i * windows);
    }
}

}  // namespace

void bind_stack(nb::module_& m) {
    m.attr("max_logit") = kMaxLogit;
    m.attr("weight_precision") = kWeightPrecision;
    m.attr("longest_memory") = kLongestMemory;
    m.attr("windows") = Mixture::windows;
    m.def("window_rows", [](int window) { return kWindows.at(window); }, "window"_a);
    m.def("naive_bayes_scores", &naive_bayes_scores, "state"_a, "matrix"_a, "out"_a.noconvert());
    m.def("class_means_scores", &class_means_scores, "state"_a, "matrix"_a, "out"_a.noconvert());
    m.def("class_means_learn", &class_means_learn, "state"_a, "matrix"_a, "rows"_a);
    m.def("class_means_p_values", &class_means_p_values, "state"_a, "matrix"_a, "out"_a.noconvert());
    m.attr("frequency_factor") = kFrequency;
    m.attr("first_distance") = kFirstDistance;
    m.attr("rows_of_distance") = kRowsOfDistance;
    m.attr("most_at_center") = kMostAtCenter;
    m.attr("prior_rows") = kPriorRows;
    m.def("naive_bayes_learn", &naive_bayes_learn, "state"_a, "matrix"_a, "rows"_a, "undo"_a.none() = nb::none());
    m.def("mixture_learn", &mixture_learn, "weights"_a.noconvert(), "share"_a.noconvert(), "own"_a.noconvert(),
          "hessian"_a.noconvert(), "rows"_a.noconvert(), "counters"_a.noconvert(), "logits"_a.noconvert(),
          "labels"_a.noconvert(), "weight"_a.noconvert().none() = nb::none(),
          "log_loss"_a.noconvert().none() = nb::none(), "shares"_a.noconvert().none() = nb::none(),
          "conformal"_a.noconvert().none() = nb::none(), "lasting"_a.noconvert().none() = nb::none(),
          "scores"_a.noconvert().none() = nb::none());
    m.def("label_mixtures_learn", &label_mixtures_learn, "weights"_a.noconvert(), "share"_a.noconvert(),
          "own"_a.noconvert(), "hessian"_a.noconvert(), "rows"_a.noconvert(), "counts"_a.noconvert(),
          "counters"_a.noconvert(), "logits"_a.noconvert(), "labels"_a.noconvert(), "start"_a.noconvert(),
          "weight"_a.noconvert().none(), "log_loss"_a.noconvert().none(), "conformal"_a.noconvert().none() = nb::none(),
          "scores"_a.noconvert().none() = nb::none());
    m.def("number_mixture_learn", &number_mixture_learn, "weights"_a.noconvert(), "share"_a.noconvert(),
          "products"_a.noconvert(), "rows"_a.noconvert(), "calibration"_a.noconvert(), "counters"_a.noconvert(),
          "rests"_a, "predictions"_a.noconvert(), "targets"_a.noconvert(), "weight"_a.noconvert().none(), "calibrate"_a,
          "mixed"_a.noconvert().none() = nb::none(), "shares"_a.noconvert().none() = nb::none(),
          "conformal"_a.noconvert().none() = nb::none(), "matrix"_a.none() = nb::none(),
          "order"_a.noconvert().none() = nb::none(), "scores"_a.noconvert().none() = nb::none());
}

}  // namespace confidently::python
