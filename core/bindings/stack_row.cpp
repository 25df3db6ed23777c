// Members of a stack on a single row: the scores, calibrated, or numbers; and training. There, calls take longer than
// what they compute.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "bindings/batches.hpp"
#include "bindings/bound_view.hpp"
#include "bindings/learner_settings.hpp"
#include "covariances/gram.hpp"
#include "covariances/table.hpp"

namespace confidently::python {

namespace {

// Settings, state, and whether it may learn: until the weight of rows with which it forgets, and before this many rows
// were seen.
using Member = std::tuple<const LearnerSettings*, Dict, bool, double, std::int64_t>;

// x' Sigma x of one matrix over the features, some of whose updates are pending.
template <class Real>
double variance_of(const Dict& state, const Row& row, std::size_t d) {
    const auto sigma = entry<Real, 3>(state, "covariance"), pending = entry<Real, 3>(state, "pending");
    const auto pending_rows = entry<std::int64_t, 1>(state, "pending_rows");
    require(pending_rows.size() == 1, "there must be one number of pending rows");
    const std::int64_t waiting = pending_rows.data()[0];
    require(sigma.shape(0) == 1 && sigma.shape(1) == d && sigma.shape(2) == d && pending.shape(0) == 1 &&
                pending.shape(2) == d && waiting >= 0 && waiting <= std::int64_t(pending.shape(1)),
            "the matrices do not fit the weights");
    std::vector<Real> x(d);
    row.each([&](std::int32_t j, double value) { x[std::size_t(j + row.intercept)] = static_cast<Real>(value); });
    const auto along = [&](const Real* other) { return dot(other, x.data(), int(d)); };
    double variance = 0.0;
    for (std::size_t i = 0; i < d; ++i)
        if (x[i] != Real(0)) variance += double(x[i]) * along(sigma.data() + i * d);
    for (std::int64_t u = 0; u < waiting; ++u) {
        const double lost = along(pending.data() + std::size_t(u) * d);
        variance -= lost * lost;
    }
    return std::max(variance * data<double>(state, "scale")[0], 0.0);
}

// Scores on the scale of log-odds, before the correction.
void calibrate(const TaskFacts& task, const double* calibration, int columns, double* scores) {
    if (task.one_column || task.lists) {
        for (int k = 0; k < columns; ++k) scores[k] = Line::at(calibration + k * LabelCalibration::size, scores[k]);
        return;
    }
    for (int k = 0; k < columns; ++k) scores[k] = std::clamp(scores[k], -kLargest, kLargest);
    const double largest = *std::max_element(scores, scores + columns);
    for (int k = 0; k < columns; ++k) scores[k] = (scores[k] - largest) * calibration[0];
}

// Members that see rows alike, bound to the arrays of their states. A member with a matrix that the core does not train
// is given as one without variances, which are then those of the matrix.
class BoundGroup {
  public:
    // numbers: of the members in the stack
    BoundGroup(const std::vector<Step>& views, const std::vector<std::size_t>& numbers, const nb::list& members)
        : owner_(members), numbers_(numbers) {
        require(members.size() > 0 && members.size() == numbers.size(),
                "there must be a member, and each has a number");
        const auto given = nb::cast<std::vector<Member>>(members);
        views_.emplace(views, StateArrays{std::get<1>(given[0])}, log_);
        for (const auto& [settings, state, may_learn, most_aged, most_seen] : given) {
            members_.push_back(bound(*settings, state));
            members_.back().may_learn = may_learn && members_.back().may_learn;
            members_.back().most_aged = most_aged, members_.back().most_seen = most_seen;
        }
    }

    // Whether the states of all members of the stack have the arrays that these are bound to; they become the members'.
    bool take(const std::vector<Dict>& states) {
        if (stale_) return false;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            require(numbers_[m] < states.size(), "a member is missing");
            for (const auto& [name, array] : members_[m].arrays)
                if (PyDict_GetItemWithError(states[numbers_[m]].ptr(), name.ptr()) != array.ptr()) return false;
        }
        for (std::size_t m = 0; m < members_.size(); ++m) members_[m].state = states[numbers_[m]];
        return true;
    }

    // Writes the scores of a row. Returns false if the row has columns beyond the weights.
    bool score(const Matrix& matrix, Array<double, 3>& out) {
        const Rows* const seen = views_->see(*matrix.rows, nullptr);
        if (!seen) return false;
        const Rows& row = *seen;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Own& own = members_[m];
            const AnyLearner& learner = *own.learner;
            const TaskFacts& task = own.settings->facts();
            require(!task.threshold, "scores relative to a threshold are not moderated");
            if (row.n_columns + learner.intercept > learner.n_features) return false;
            const int columns = learner.columns;
            double* scores = into(out, numbers_[m], columns);
            const std::int64_t n_seen = own.counters[0];
            std::vector<double> plain(static_cast<std::size_t>(columns));
            RowBuffer buffer;
            const Row one = row.at(0, learner.intercept, buffer);
            if (task.targets) {
                learner.prediction(one, n_seen, scores, plain.data());
                for (int k = 0; k < columns; ++k)
                    scores[k] += TargetStatistics{own.calibration + k * TargetStatistics::size}.mean();
                continue;
            }
            if (own.has_matrix) {
                learner.prediction(one, n_seen, scores, plain.data());
                const auto d = std::size_t(learner.n_features);
                const double v =
                    own.is_single ? variance_of<float>(own.state, one, d) : variance_of<double>(own.state, one, d);
                const double shrink = moderation(columns > 1 ? 2.0 * v : v, own.settings->prior_variance);
                for (int k = 0; k < columns; ++k) scores[k] *= shrink;
            } else {
                learner.moderated({row, 0.0, HUGE_VAL}, n_seen, own.settings->prior_variance, task.several,
                                  own.settings->independent, plain.data(), scores);
            }
            calibrate(task, own.calibration, columns, scores);
        }
        return true;
    }

    // Trains on a row of one class, and writes its scores before that. Returns false, with everything as it was, if an
    // array has to grow or to be replaced, or cannot be written to.
    bool learn(const Matrix& matrix, std::int32_t label, double weight, std::int64_t n_classes,
               const std::optional<Input<double, 2>>& targets, Array<double, 3>& out) {
        has_changed_ = false;
        for (const Own& own : members_)
            if (!own.may_train(weight)) return false;
        log_.clear();
        for (Own& own : members_)
            for (Kept& kept : own.kept) kept.save();
        has_changed_ = true;
        const auto target_of = [&](std::size_t row) {
            return targets ? targets->data() + row * targets->shape(1) : nullptr;
        };
        const Labels labels{&label, nullptr};
        const Counted counted{labels, &weight, nullptr, target_of(0), targets ? std::int64_t(targets->shape(1)) : 0};
        const Rows* const seen = views_->see(*matrix.rows, &counted);
        if (!seen) return roll_back(), false;
        const Rows& row = *seen;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            Own& own = members_[m];
            AnyLearner& learner = *own.learner;
            const TaskFacts& task = own.settings->facts();
            require(!task.lists && !own.has_matrix, "a row has one class, and weights have variances");
            require(task.targets == targets.has_value(), "a regression learns numbers, and nothing else does");
            require(std::max(learner.columns, targets ? 1 : 2) == n_classes, "the weights do not fit the classes");
            if (row.n_columns + learner.intercept > learner.n_features || own.is_wider(row)) return roll_back(), false;
            Progressive progressive;
            progressive.logits_per_row = task.targets ? 2 * learner.columns : learner.columns - task.extra_columns();
            progressive.logits = into(out, numbers_[m], progressive.logits_per_row);
            std::vector<double> evidence(std::size_t(own.held.rows ? 1 + learner.columns : 0));
            if (own.held.rows) progressive.evidence = evidence.data();
            const Labels own_labels{&label, nullptr, target_of(1 + numbers_[m])};
            const Batch batch{row, own_labels, &weight, nullptr, nullptr, 0, 1};
            AnyTask kind = any_task(own.settings->task);
            const Inspector inspector{row, 0.0, HUGE_VAL};
            try {
                learner.learn(kind, own.settings->rule,
                              {own.settings->prior_variance,
                               batch,
                               own.calibration,
                               progressive,
                               {own.counters[0], own.counters[1], own.counters[2], own.updates},
                               own.settings->independent,
                               inspector,
                               own.calibration,
                               nullptr,
                               own.variances});
            } catch (const InvalidRow&) {
                throw std::overflow_error("a row takes the learner out of range");
            }
            if (own.held.rows) own.hold(row, evidence, log_.wide);
        }
        return true;
    }

    // Undoes the last call of learn(), unless it has changed nothing.
    void roll_back() {
        if (!std::exchange(has_changed_, false)) return;
        log_.roll_back();
        for (Own& own : members_)
            for (Kept& kept : own.kept) kept.restore();
        stale_ = true;  // views may know more than their arrays
    }

  private:
    static constexpr std::size_t kFewChanges = 64;  // which a log has room for at first: there may be many models

    // An array that training writes to without a log.
    struct Kept {
        void* at;
        std::vector<char> before;

        void save() { std::memcpy(before.data(), at, before.size()); }
        void restore() const { std::memcpy(at, before.data(), before.size()); }
    };

    // Of least squares, rows that are still to be added (src/confidently/covariances/normal_equations.py).
    struct Held {
        double *rows = nullptr, *evidence = nullptr;
        std::int64_t *count = nullptr, room = 0;
    };

    struct Own {
        const LearnerSettings* settings = nullptr;
        Dict state;
        std::vector<std::pair<nb::object, nb::object>> arrays;  // by name, those that it is bound to
        std::vector<Kept> kept;
        std::unique_ptr<AnyLearner> learner;
        std::int64_t *counters = nullptr, *updates = nullptr;
        double *calibration = nullptr, *variances = nullptr, *aged = nullptr, most_aged = HUGE_VAL;
        std::int64_t most_seen = 0, *used = nullptr;  // used: features with a row in the matrix
        Held held;
        bool has_matrix = false, is_single = false, may_learn = false;

        bool may_train(double weight) const {
            const bool is_due = (aged && *aged + weight >= most_aged) || counters[0] + 1 >= most_seen;
            return may_learn && !is_due && (!held.rows || *held.count + 1 < held.room);
        }

        // Whether a row has a feature that no row had, with which a matrix begins to use it.
        bool is_wider(const Rows& rows_seen) const {
            if (!used || *used >= learner->n_features) return false;
            bool wider = false;
            RowBuffer buffer;
            rows_seen.at(0, false, buffer).each([&](std::int32_t j, double x) {
                wider |= x != 0.0 && j + learner->intercept >= *used;
            });
            return wider;
        }

        // Appends a row to those that are still to be added to the normal equations.
        void hold(const Rows& rows_seen, const std::vector<double>& evidence, Undo<double>& undo) {
            const std::int64_t d = learner->n_features, at = (*held.count)++;
            double *row = held.rows + at * d, *own = held.evidence + at * std::int64_t(evidence.size());
            undo.note_all(row, std::size_t(d)), undo.note_all(own, evidence.size());
            std::copy(evidence.begin(), evidence.end(), own);
            RowBuffer buffer;
            rows_seen.at(0, learner->intercept, buffer).each([&](std::int32_t j, double x) {
                row[j + learner->intercept] = x;
            });
        }
    };

    nb::list owner_;  // of the settings
    std::vector<std::size_t> numbers_;
    std::vector<Own> members_;
    std::optional<BoundViews> views_;
    UndoLog log_{kFewChanges};
    bool stale_ = false, has_changed_ = false;

    Own bound(const LearnerSettings& settings, const Dict& state) {
        Own own;
        own.settings = &settings, own.state = state, own.learner = settings.open(state, 0, &log_);
        own.counters = data<std::int64_t>(state, "counters");
        own.updates = data<std::int64_t>(state, "updates");
        own.calibration = data<double>(state, "calibration");
        own.variances = data<double>(state, "variances");
        if (state.contains("held.count") && settings.pending) {
            const StateArrays arrays{state};
            const auto room = std::int64_t(arrays.size("held.rows"));
            own.held = {arrays.array<double>("held.rows", room, own.learner->n_features),
                        arrays.array<double>("held.evidence", room, 1 + own.learner->columns),
                        arrays.array<std::int64_t>("held.count", 1), room};
            require(*own.held.count >= 0 && *own.held.count <= room, "more rows are held than there is room for");
        }
        if (state.contains("block.counts")) own.used = StateArrays{state}.array<std::int64_t>("block.counts", 2);
        if (state.contains("aged")) own.aged = StateArrays{state}.array<double>("aged", 1);
        own.has_matrix = state.contains("pending") && settings.covariance == covariance_number("identity");
        own.is_single = nb::cast<nb::ndarray<nb::ro>>(state["weights"]).dtype() == nb::dtype<float>();
        own.may_learn = !own.has_matrix;
        for (auto [key, array] : state) {
            const auto name = nb::cast<std::string>(key);
            const std::string view = views_->view_of(name);
            if (own.has_matrix && view.empty() && !is_common(name)) continue;  // which training replaces
            own.arrays.emplace_back(nb::borrow(key), nb::borrow(array));
            own.may_learn = own.may_learn && is_writable(array);
            if (!view.empty() && !members_.empty() && !array.is(members_[0].state[key])) own.may_learn = false;
            const bool is_logged =
                settings.pending ? is_large(name) : name == "weights" && !state.contains("covariance");
            if (view.empty() ? !is_logged : BoundViews::changes_unnoted(name)) {  // changes of others are logged
                const auto numbers = nb::cast<nb::ndarray<nb::ro, nb::c_contig>>(array);
                if (numbers.nbytes())
                    own.kept.push_back({const_cast<void*>(numbers.data()), std::vector<char>(numbers.nbytes())});
            }
        }
        return own;
    }

    // Whether an array of a matrix changes in few places, or with few rows, which is noted.
    static bool is_large(const std::string& name) {
        for (const char* one : {"covariance", "pending", "precision", "shift", "held.rows", "held.evidence"})
            if (name == one) return true;
        return false;
    }

    // Whether a member without variances reads an array when it is bound.
    static bool is_common(const std::string& name) {
        for (const char* one :
             {"weights", "counters", "updates", "calibration", "conformal", "variances", "scale", "folded"})
            if (name == one) return true;
        return false;
    }

    static double* into(const Array<double, 3>& out, std::size_t number, int columns) {
        require(number < out.shape(0) && out.shape(2) == std::size_t(columns), "the scores do not fit the columns");
        return out.data() + number * std::size_t(columns);
    }
};

// The members of a stack in groups that see rows alike.
class BoundMembers {
  public:
    explicit BoundMembers(std::size_t groups) : groups_(groups) {}
    BoundMembers(const BoundMembers&) = delete;
    BoundMembers& operator=(const BoundMembers&) = delete;

    void bind(std::size_t group, const std::vector<Step>& views, const std::vector<std::size_t>& numbers,
              const nb::typed<nb::list, Member>& members) {
        require(group < groups_.size(), "there are fewer groups");
        groups_[group] = std::make_unique<BoundGroup>(views, numbers, members);
    }

    // Returns the groups that have to be bound, given the states of all members.
    std::vector<std::size_t> take(const std::vector<Dict>& states) const {
        return others([&](std::size_t g) { return groups_[g] && groups_[g]->take(states); });
    }

    // Writes the scores of a row; returns the groups whose members have to be asked otherwise.
    std::vector<std::size_t> score(const Matrix& matrix, Array<double, 3> out) {
        require_row(matrix, out);
        return others([&](std::size_t g) { return groups_[g] && groups_[g]->score(matrix, out); });
    }

    // Trains some groups on a row of one class, or of numbers, and writes its scores before that; returns those of them
    // that have to be trained otherwise. targets: of the stack, and of each of its members.
    std::vector<std::size_t> learn(const Matrix& matrix, std::int32_t label, double weight, std::int64_t n_classes,
                                   const std::vector<std::size_t>& groups,
                                   const std::optional<Input<double, 2>>& targets, Array<double, 3> out) {
        require_row(matrix, out);
        require(label >= 0 && label < n_classes, "labels out of range");
        require(!targets || (targets->shape(0) == 1 + out.shape(0) && std::int64_t(targets->shape(1)) == n_classes),
                "the targets do not fit the members");
        std::vector<std::size_t> left;
        for (const std::size_t g : groups) {
            require(g < groups_.size(), "there are fewer groups");
            if (groups_[g]) learned_.push_back(g);
            if (!groups_[g] || !groups_[g]->learn(matrix, label, weight, n_classes, targets, out)) left.push_back(g);
        }
        return left;
    }

    // Undoes the calls of learn() since begin_row().
    void roll_back() {
        for (const std::size_t g : std::exchange(learned_, {}))
            if (groups_[g]) groups_[g]->roll_back();
    }
    void begin_row() { learned_.clear(); }

  private:
    std::vector<std::unique_ptr<BoundGroup>> groups_;
    std::vector<std::size_t> learned_;  // on the row that has begun

    template <class F>
    std::vector<std::size_t> others(F&& done) const {
        std::vector<std::size_t> found;
        for (std::size_t g = 0; g < groups_.size(); ++g)
            if (!done(g)) found.push_back(g);
        return found;
    }

    static void require_row(const Matrix& matrix, const Array<double, 3>& out) {
        require(matrix.rows->n_rows == 1 && out.shape(1) == 1, "there must be one row");
        require_columns(matrix);
    }
};

}  // namespace

void bind_stack_row(nb::module_& m) {
    nb::class_<BoundMembers>(m, "BoundMembers")
        .def(nb::init<std::size_t>(), "groups"_a)
        .def("bind", &BoundMembers::bind, "group"_a, "views"_a, "numbers"_a, "members"_a)
        .def("take", &BoundMembers::take, "states"_a)
        .def("score", &BoundMembers::score, "matrix"_a, "out"_a.noconvert())
        .def("begin_row", &BoundMembers::begin_row)
        .def("learn", &BoundMembers::learn, "matrix"_a, "label"_a, "weight"_a, "n_classes"_a, "groups"_a,
             "targets"_a.noconvert().none(), "out"_a.noconvert())
        .def("roll_back", &BoundMembers::roll_back);
}

}  // namespace confidently::python
