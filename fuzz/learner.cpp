// Training on rows with a diagonal covariance: two classes, and regression. A batch is trained on by the loop of this
// processor and by the plain one, whole and in two parts; all must learn the same, to the last bit, and stop at the
// same row if there is an invalid one. Numbers that are learned are finite, and so are the scores.
#include "covariances/diagonal.hpp"
#include "learner/learn_avx2.hpp"
#include "tasks/numbers.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "rows.hpp"

namespace {

using namespace confidently;

constexpr double kLargest = 1e100, kPriorVariance = 1.0, kMinVarianceLeft = 1e-10;
constexpr std::int64_t kFarFeatures = kNearBytes / 16 + 9;  // their weights are asked for early

struct Bytes {
    const std::uint8_t *p, *end;

    std::uint8_t next() { return p == end ? 0 : *p++; }

    double number() {
        constexpr double numbers[] = {0.0,   1.0,  -1.0,     0.5, 1e9,    1e50,   1e100,
                                      2e100, -0.0, HUGE_VAL, NAN, 1e-100, 1e-300, -3.0};
        const std::uint8_t which = next();
        return which < std::size(numbers) ? numbers[which] : (which - 128) / 16.0;
    }
};

// A copy of exactly this size, so that the sanitizer sees a read beyond it.
template <class T>
std::unique_ptr<T[]> exactly(const std::vector<T>& all) {
    auto copy = std::make_unique_for_overwrite<T[]>(all.size());
    std::copy(all.begin(), all.end(), copy.get());
    return copy;
}

struct Problem {
    AnyRule rule;
    bool intercept, moments, regression;
    std::int64_t n_rows, n_features, cut;
    std::unique_ptr<double[]> values, targets, weights;
    std::unique_ptr<std::int32_t[]> columns, labels;
    std::unique_ptr<std::int64_t[]> start, order;

    explicit Problem(Bytes bytes) {
        const std::uint8_t kind = bytes.next();
        intercept = kind & 1, moments = kind & 2, regression = kind & 4;
        n_features = (kind & 0xf8) == 0xf8 ? kFarFeatures : kind >> 4;
        rule = rule_of(bytes.next());
        n_rows = bytes.next() % 24;
        cut = n_rows ? bytes.next() % (n_rows + 1) : 0;
        std::vector<double> x, y, w;
        std::vector<std::int32_t> c, label;
        std::vector<std::int64_t> from{0}, rows;
        const bool weighted = kind & 8;
        for (std::int64_t i = 0; i < n_rows; ++i) {
            const std::uint8_t how = bytes.next();
            std::int64_t column = how >> 5;
            for (int k = how & 15; k > 0 && (column < n_features || how == 0xf7); --k, column += 1 + bytes.next() % 3) {
                c.push_back(how == 0xff ? bytes.next() - 3
                                        : static_cast<std::int32_t>(column));  // perhaps out of order or range
                x.push_back(bytes.number());
            }
            from.push_back(static_cast<std::int64_t>(x.size()));
            label.push_back(regression ? 0 : how >> 4 & 1);
            const double target = bytes.number(), weight = bytes.number();
            y.push_back(!(std::fabs(target) <= 1e50) ? 1.0 : is_of_counts() ? std::fabs(target) : target);
            w.push_back(weight >= 0.0 && weight <= 1e9 ? weight : 1.0);
            rows.push_back(i);
        }
        if (weighted) std::reverse(rows.begin(), rows.end());
        values = exactly(x), targets = exactly(y), weights = exactly(w), columns = exactly(c), labels = exactly(label),
        start = exactly(from);
        order = weighted ? exactly(rows) : nullptr;
        if (!weighted) weights = nullptr;
        if (!regression) targets = nullptr;
    }

  private:
    bool is_of_counts() const {
        return std::visit([](const auto& one) { return kHasLogLink<std::decay_t<decltype(one)>>; }, rule);
    }

    AnyRule rule_of(std::uint8_t which) const {
        static const std::vector<std::string> names = rule_names();
        for (std::size_t k = 0;; ++k) {
            const std::string& name = names[(which + k) % names.size()];
            for (std::size_t n = 0; n < 6; ++n) {
                std::optional<AnyRule> found;
                try {
                    found = make_rule(name, std::vector<double>(n, 0.5));
                } catch (const std::invalid_argument&) {  // of another number of parameters
                    continue;
                }
                if (has_target(*found) == regression && !rescales(*found)) return *found;
            }
        }
    }
};

struct Learned {
    std::vector<double> weights, calibration;
    std::int64_t counters[4] = {};
    double log_loss = 0.0;
    std::string reason;
    std::int64_t row = -1;

    // After an error, the calibration by the row before may be missing.
    bool operator==(const Learned& other) const {
        const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
            return a.size() == b.size() &&
                   (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
        };
        return reason == other.reason && row == other.row && same(weights, other.weights) &&
               std::equal(counters, counters + 4, other.counters) &&
               (!reason.empty() || (same(calibration, other.calibration) && log_loss == other.log_loss));
    }
};

template <class Task, class Covariance>
void train(const Problem& problem, Task task, Learned& learned, Covariance& covariance, std::int64_t from,
           std::int64_t to) {
    const CsrRows<double> rows(problem.values.get(), problem.columns.get(), problem.start.get(), problem.n_rows,
                               problem.n_features);
    const Batch batch{rows,
                      {problem.labels.get(), nullptr, problem.targets.get()},
                      problem.weights.get(),
                      nullptr,
                      problem.order.get(),
                      from,
                      to,
                      {}};
    const Inspector inspector{rows, kLargest, kMinVarianceLeft * kLargest * kLargest};
    const Counters counters{learned.counters[0], learned.counters[1], learned.counters[2], &learned.counters[3]};
    double* state = learned.calibration.data();
    learn_rows<double>(covariance, task, problem.rule,
                       {kPriorVariance, batch, state, {&learned.log_loss}, counters, false, inspector, state});
}

template <bool avx2, class Task>
Learned trained(const Problem& problem, const Task& task, std::int64_t cut) {
    Learned learned;
    learned.weights.resize(static_cast<std::size_t>(2 * (problem.n_features + problem.intercept)));
    for (std::size_t k = 1; k < learned.weights.size(); k += 2) learned.weights[k] = kPriorVariance;
    learned.calibration = problem.regression ? std::vector<double>(TargetStatistics::size)
                                             : std::vector<double>(SigmoidCalibration::size);
    learned.calibration[problem.regression ? 5 : 0] = 1.0;
    const Weights<double> weights{
        learned.weights.data(), problem.n_features + problem.intercept, 2, 1, 1, 1, problem.intercept, false};
    const auto with = [&](auto covariance) {
        try {
            train(problem, task, learned, covariance, 0, cut);
            train(problem, task, learned, covariance, cut, problem.n_rows);
        } catch (const InvalidRow& invalid) {
            learned.reason = invalid.fault.reason, learned.row = invalid.fault.row;
        }
    };
    const double floor = problem.regression ? 0.0 : kMinVarianceLeft;
#if CONFIDENTLY_X86
    if constexpr (avx2) {
        problem.moments ? with(PackedDiagonalAvx2<true>{weights, floor})
                        : with(PackedDiagonalAvx2<false>{weights, floor});
        return learned;
    }
#endif
    problem.moments ? with(PackedDiagonal<double, true>{weights, floor})
                    : with(PackedDiagonal<double, false>{weights, floor});
    return learned;
}

template <class Task>
void check(const Problem& problem, const Task& task) {
    const Learned plain = trained<false>(problem, task, problem.n_rows);
    CHECK((trained<false>(problem, task, problem.cut) == plain));
    if (has(Simd::avx2)) CHECK((trained<true>(problem, task, problem.n_rows) == plain));
    if (has(Simd::avx2)) CHECK((trained<true>(problem, task, problem.cut) == plain));
    if (!plain.reason.empty()) return;
    for (const double number : plain.weights) CHECK(std::isfinite(number));
    for (std::size_t k = 1; k < plain.weights.size(); k += 2) CHECK(plain.weights[k] >= 0.0);
    if (problem.regression) return;  // the squares of errors above 1e154 are not finite
    for (const double number : plain.calibration) CHECK(std::isfinite(number));
    CHECK(std::isfinite(plain.log_loss));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Problem problem(Bytes{data, data + size});
    if (!problem.regression)
        check(problem, Binary());
    else
        check(problem, Regression(std::array{Offset::none, Offset::mean, Offset::centered}[size % 3]));
    return 0;
}
