// What trains on rows by products of matrices for Python: the recursion over a chunk of rows.
#pragma once

#include <nanobind/stl/optional.h>

#include "bindings/learner.hpp"
#include "covariances/batch_products.hpp"
#include "covariances/gram.hpp"
#include "covariances/support_gram.hpp"

namespace confidently::python {

// the number of rows trained on, and one dict per learner
using Updates = nb::typed<nb::list, Dict>;
using Learned = nb::typed<nb::tuple, std::int64_t, Updates>;
inline constexpr std::size_t kMaxVectors = std::size_t(1) << 31;

struct ProductLearner {
    AnyRule rule;
    Task task;
    Sharing sharing;
    double prior_variance, min_variance;

    // Trains on rows of a chunk, its rows first, first + 1, ... of at most `room`, as long as one Gram matrix is
    // precise enough. known: the updates by the rows of the chunk before these. Returns the number of rows, and all
    // updates of the chunk.
    template <class Real>
    Learned learn(const Dict& state, Input<Real, 3> gram, Input<double, 2> start, Input<double, 1> norm,
                  const TrainingRows& rows, std::optional<Updates> known, int first, int room) const {
        const Chunk chunk(*this, state, start, norm);
        if (room == 0) room = chunk.rows;
        require(0 <= first && first <= room - chunk.rows, "a chunk has no room for the rows");
        const std::size_t parts = sharing == Sharing::joint ? std::size_t(chunk.columns) : 1;
        const std::size_t vectors = chunk.rows * parts, positions = room * parts;
        require(gram.shape(0) == std::size_t(sharing == Sharing::independent ? chunk.columns : 1) &&
                    gram.shape(1) == vectors && gram.shape(2) == positions && positions < kMaxVectors,
                "the Gram matrix does not fit the rows");
        auto pass = chunk.pass<Real, WholeGram<Real>>([&](std::size_t l) {
            return WholeGram<Real>{gram.data() + l * vectors * positions, chunk.rows, first, room, int(positions)};
        }, room);
        if (known) resume(pass, *known, positions, room);
        const std::int64_t done = run<Real>(pass, chunk, rows, first);
        return nb::make_tuple(done, updates(pass));
    }

    // The same for the joint covariance of a kernel, whose Gram matrix is computed where it is needed
    // (support_gram.hpp). The updates come with A^-1 t(z) of their directions z.
    Learned learn_support(const Dict& state, std::optional<Input<double, 2>> inverse, Input<double, 2> kernel,
                          Input<double, 2> own, Input<std::int32_t, 2> sides, Input<std::int32_t, 1> plus,
                          Input<std::int32_t, 1> minus, Input<double, 2> solved, Input<double, 2> along,
                          Input<double, 2> start, Input<double, 1> norm, const TrainingRows& examples) const {
        const Chunk chunk(*this, state, start, norm);
        const std::size_t rows = std::size_t(chunk.rows), support = sides.shape(0), n = plus.shape(0);
        const std::size_t vectors = rows * std::size_t(chunk.columns);
        require(sharing == Sharing::joint, "the covariance must be joint");
        require(support < kMaxVectors && vectors < kMaxVectors && n < kMaxVectors,
                "there are too many rows or columns");
        require(sides.shape(1) == 2 && kernel.shape(0) == support && kernel.shape(1) == rows && own.shape(0) == rows &&
                    own.shape(1) == rows &&
                    (!inverse || (inverse->shape(0) == support && inverse->shape(1) == support)),
                "the kernel does not fit the rows");
        require(minus.shape(0) == n && solved.shape(0) == n && solved.shape(1) == support && along.shape(0) == n &&
                    along.shape(1) == vectors,
                "the directions do not fit the rows");
        const auto below = [](const std::int32_t* numbers, std::size_t n, std::int64_t end) {
            for (std::size_t i = 0; i < n; ++i)
                require(numbers[i] >= kNone && numbers[i] < end, "vectors out of range");
        };
        below(sides.data(), 2 * support, chunk.columns);
        below(plus.data(), n, std::int64_t(vectors));
        below(minus.data(), n, std::int64_t(vectors));
        const Directions likely{plus.data(), minus.data(), solved.data(), along.data(), int(n)};
        auto pass = chunk.pass<double, SupportGram>([&](std::size_t) {
            return SupportGram(inverse ? inverse->data() : nullptr, kernel.data(), own.data(), sides.data(),
                               int(support), chunk.rows, chunk.columns, likely);
        }, chunk.rows);
        const std::int64_t done = run<double>(pass, chunk, examples);
        nb::list found = updates(pass);
        const GramCovariance<SupportGram>& covariance = pass.covariances[0];
        std::vector<double> chosen;
        chosen.reserve(covariance.direction.size() * support);
        for (const int z : covariance.direction) {
            const double* first = covariance.gram.solved(z);
            chosen.insert(chosen.end(), first, first + support);
        }
        found[0]["solved"] = array_of(std::move(chosen));
        return nb::make_tuple(done, found);
    }

  private:
    // Rows that are known by products only: the row that is trained on is the unit vector of its number in the chunk.
    class PositionRows final : public Rows {
      public:
        static constexpr bool positions = true;
        explicit PositionRows(std::int64_t n) : Rows(n, n) {}
        Row at(std::int64_t, bool, RowBuffer& buffer) const override {
            buffer.hold(1);
            buffer.column[0] = position;
            buffer.value[0] = 1.0;
            return {buffer.column.data(), buffer.value.data(), 1, false};
        }
        Fault fault(std::int64_t, double) const override { return {}; }

        std::int32_t position = 0;
    };

    // Trains on rows from .. from + n - 1 of a batch until one lacks precision; returns their number. The first is row
    // `first` of its chunk.
    int run_rows(ProductPass& pass, ProductCovariance::Limits limits, int n, PositionRows& units, Batch& batch,
                 std::int64_t from, double* statistics, bool calibrate, double* conformal, double* variances,
                 Progressive& progressive, const Counters& count, bool independent, int first) const {
        ProductCovariance covariance{&pass, limits};
        AnyTask kind = any_task(task);
        const Inspector inspector{units, 0.0, HUGE_VAL};
        int done = 0;
        for (; done < n && !pass.folded() && (first + done == 0 || pass.precise(done)); ++done) {
            units.position = done;
            batch.from = from + done;
            batch.to = batch.from + 1;
            try {
                std::visit([&](auto& one) {
                    confidently::learn<double>(covariance, one, rule, units,
                                               {prior_variance, batch, calibrate ? statistics : nullptr, progressive,
                                                count, independent, inspector, statistics, conformal, variances});
                }, kind);
            } catch (const InvalidRow&) {
                throw std::overflow_error("a row takes the learner out of range");
            }
            if (progressive.logits) progressive.logits += progressive.logits_per_row;
            if (progressive.evidence) progressive.evidence += pass.columns + 1;
            if (progressive.scores) progressive.scores += batch.labels.scores(batch.row(batch.from), pass.columns);
        }
        return done;
    }

    template <class Real>
    static constexpr ProductCovariance::Limits limits{kMinVariance<Real>, kLargestWeight<Real>};

    template <class Real>
    double floor() const {
        return dense_floor<Real>(facts_of(task).targets ? 0.0 : min_variance) * prior_variance;
    }

    // The most that a row can make: with lists of labels, two pairs of scores may violate their margins.
    int updates_per_row() const { return facts_of(task).updates_per_row; }

    void require_numbers(const Dict& state, int columns) const {
        const bool independent = sharing == Sharing::independent;
        require_writable(state);
        require_counts(state, facts_of(task), columns, independent);
        const TaskFacts& facts = facts_of(task);
        require(facts.all_columns ? sharing != Sharing::joint : independent == facts.separate,
                "independent covariances are for one-vs-rest and softmax");
    }

    // A chunk of rows known by products, and the learner's numbers.
    struct Chunk {
        const ProductLearner& learner;
        const Dict& state;
        const Input<double, 2>& start;
        const Input<double, 1>& norm;
        int rows, columns;

        Chunk(const ProductLearner& learner, const Dict& state, const Input<double, 2>& start,
              const Input<double, 1>& norm)
            : learner(learner), state(state), start(start), norm(norm) {
            require(start.shape(0) < kMaxVectors && start.shape(1) < kMaxVectors, "there are too many rows or columns");
            rows = static_cast<int>(start.shape(0)), columns = static_cast<int>(start.shape(1));
            learner.require_numbers(state, columns);
            require(norm.shape(0) == start.shape(0), "one norm per row is needed");
        }

        bool independent() const { return learner.sharing == Sharing::independent; }

        // room: rows of the whole chunk
        template <class Real, class Gram, class GramOf>
        GramPass<Real, Gram> pass(GramOf&& gram_of, int room) const {
            const Scales scales{data<double>(state, "scale"), data<double>(state, "folded"), independent()};
            return {learner.sharing,
                    gram_of,
                    start.data(),
                    norm.data(),
                    rows,
                    columns,
                    room * learner.updates_per_row(),
                    scales,
                    learner.template floor<Real>()};
        }
    };

    // Trains on the rows until one lacks precision; returns their number.
    template <class Real>
    std::int64_t run(ProductPass& pass, const Chunk& chunk, const TrainingRows& examples, int first = 0) const {
        examples.check_chunk(facts_of(task), chunk.columns, chunk.rows);
        std::int64_t* counters = data<std::int64_t>(chunk.state, "counters");
        const Counters count{counters[0], counters[1], counters[2], data<std::int64_t>(chunk.state, "updates")};
        PositionRows units(chunk.rows);
        Batch batch = examples.batch(units);
        double *statistics = data<double>(chunk.state, "calibration"), *conformal = examples.conformal(chunk.state),
               *variances = data<double>(chunk.state, "variances");
        Progressive progressive = examples.progressive(facts_of(task), chunk.columns);
        nb::gil_scoped_release release;
        return run_rows(pass, limits<Real>, chunk.rows, units, batch, 0, statistics, examples.calibrate, conformal,
                        variances, progressive, count, chunk.independent(), first);
    }

    // Continues with the updates() of a pass over earlier rows of the same chunk.
    template <class Pass>
    void resume(Pass& pass, const nb::list& known, std::size_t positions, int room) const {
        require(known.size() == pass.covariances.size(), "the updates do not fit the covariances");
        const std::size_t capacity = std::size_t(room) * updates_per_row();
        for (std::size_t l = 0; l < pass.covariances.size(); ++l) {
            const auto learner = nb::cast<nb::dict>(known[l]);
            const auto plus = entry<std::int32_t, 1>(learner, "plus"), minus = entry<std::int32_t, 1>(learner, "minus");
            const auto weight = entry<double, 1>(learner, "weight"), share = entry<double, 1>(learner, "share");
            const auto mean = entry<double, 1>(learner, "mean"), age = entry<double, 1>(learner, "age");
            const std::size_t n = plus.size(), first = sharing == Sharing::independent ? l : 0;
            const std::size_t last = sharing == Sharing::independent ? l + 1 : pass.means.size();
            require(n <= capacity && minus.size() == n && weight.size() == n && share.size() == n * n &&
                        age.size() == n && mean.size() == n * (last - first),
                    "the updates do not fit the rows");
            for (std::size_t u = 0; u < n; ++u)
                require(plus.data()[u] >= 0 && std::size_t(plus.data()[u]) < positions && minus.data()[u] >= kNone &&
                            (minus.data()[u] == kNone || std::size_t(minus.data()[u]) < positions) &&
                            (minus.data()[u] == kNone) == (minus.data()[0] == kNone),
                        "updates out of range");
            pass.covariances[l].resume({plus.data(), minus.data(), weight.data(), share.data(), int(n)});
            pass.ages[l].assign(age.data(), age.data() + n);
            for (std::size_t k = first; k < last; ++k) {
                std::vector<double>& g = pass.means[k];
                g.assign(mean.data() + (k - first) * n, mean.data() + (k - first + 1) * n);
                pass.moved[k] = std::any_of(g.begin(), g.end(), [](double one) { return one != 0.0; });
            }
        }
    }

    // one dict per learner
    template <class Pass>
    nb::list updates(const Pass& pass) const {
        nb::list out;
        for (std::size_t l = 0; l < pass.covariances.size(); ++l) {
            const auto& c = pass.covariances[l];
            const int n = c.size();
            std::vector<double> share(std::size_t(n) * n), mean;
            for (int u = 0; u < n; ++u) std::copy_n(c.shares(u), u, share.data() + std::size_t(u) * n);
            const std::size_t first = sharing == Sharing::independent ? l : 0;
            const std::size_t last = sharing == Sharing::independent ? l + 1 : pass.means.size();
            mean.reserve((last - first) * n);
            for (std::size_t k = first; k < last; ++k)
                mean.insert(mean.end(), pass.means[k].begin(), pass.means[k].end());
            nb::dict learner;
            learner["plus"] = array_of(std::vector<std::int32_t>(c.plus));
            learner["minus"] = array_of(std::vector<std::int32_t>(c.minus));
            learner["share"] = array_of(std::move(share));
            learner["weight"] = array_of(std::vector<double>(c.weight));
            learner["mean"] = array_of(std::move(mean));
            learner["age"] = array_of(std::vector<double>(pass.ages[l]));
            learner["factor"] = c.factor;
            out.append(learner);
        }
        return out;
    }
};

}  // namespace confidently::python
