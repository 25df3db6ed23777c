// The classifiers of a topic model: Gaussians over weights of topics, moved by a batch of documents (docs/topics.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "topics/cholesky.hpp"
#include "topics/random.hpp"
#include "topics/sampler.hpp"

namespace confidently {

struct ClassifierSettings {
    bool gibbs;
    double c, epsilon, prior_variance, step_size;
};

// What a batch's documents say to the classifiers: for every kept sample of every document the shares of the topics
// among its words, and 1/lambda for every task.
struct Samples {
    int kept, topics, tasks;
    std::vector<double> shares, inverse_lambda;
    std::vector<std::int8_t> signs;  // -1 or 1 a task
    std::vector<double> weights;     // how often each document counts

    void resize(std::int64_t documents) {
        weights.resize(documents);
        shares.resize(documents * kept * topics);
        inverse_lambda.resize(documents * kept * tasks);
        signs.resize(documents * tasks);
    }
    std::int64_t documents() const { return static_cast<std::int64_t>(signs.size()) / tasks; }
    double* share(std::int64_t document, int sample) { return &shares[(document * kept + sample) * topics]; }
    const double* share(std::int64_t document, int sample) const { return &shares[(document * kept + sample) * topics]; }
};

inline constexpr double kLeastRate = 1e-6;  // of lambda: below it 1/lambda would be noise of unbounded size

// lambda given a sample's topics; mean and variance are those of the score
inline double draw_lambda(const ClassifierSettings& s, double sign, double mean, double variance, Stream& random) {
    const double gap = s.epsilon - sign * mean;
    return 1.0 / random.inverse_gaussian(1.0 / std::max(s.c * std::sqrt(gap * gap + variance), kLeastRate));
}

// One task's Gaussian as the sampler needs it: mean (padded), covariance, and mean mean' + covariance (padded).
struct Moments {
    std::vector<double> mean, covariance, second;

    explicit Moments(int topics)
        : mean(padded(topics)), covariance(topics * topics), second(padded(topics) * padded(topics)) {}

    // from precision P and shift h = P mean
    void from_natural(const double* precision, const double* shift, int topics) {
        Inverse inverse(topics);
        inverse(precision, covariance.data());
        for (int i = 0; i < topics; ++i) {
            mean[i] = 0.0;
            for (int j = 0; j < topics; ++j) mean[i] += covariance[i * topics + j] * shift[j];
        }
        const int size = padded(topics);
        for (int i = 0; i < topics; ++i)
            for (int j = 0; j < topics; ++j) second[i * size + j] = mean[i] * mean[j] + covariance[i * topics + j];
    }

    // of the score of a document with these topic counts
    double score(const double* counts, int size) const {
        double sum = 0.0;
        for (std::size_t k = 0; k < mean.size(); ++k) sum += mean[k] * counts[k];
        return sum / size;
    }
    double score_variance(const double* counts, int size, int topics) const {
        double sum = 0.0;
        for (int i = 0; i < topics; ++i) {
            if (counts[i] == 0.0) continue;
            double row = 0.0;
            for (int j = 0; j < topics; ++j) row += covariance[i * topics + j] * counts[j];
            sum += counts[i] * row;
        }
        return sum / (static_cast<double>(size) * size);
    }
};

// Gibbs: adds a batch's likelihood terms to precision and shift of a task.
inline void add_gibbs(const ClassifierSettings& s, const Samples& samples, int task, double* precision, double* shift) {
    const int K = samples.topics;
    for (std::int64_t d = 0; d < samples.documents(); ++d) {
        const double part = s.step_size * samples.weights[d] / samples.kept;
        for (int i = 0; i < samples.kept; ++i) {
            const double inverse = samples.inverse_lambda[(d * samples.kept + i) * samples.tasks + task];
            const double sign = samples.signs[d * samples.tasks + task];
            const double pull = part * s.c * sign * (1.0 + s.c * s.epsilon * inverse);
            const double* share = samples.share(d, i);
            for (int j = 0; j < K; ++j) {
                if (share[j] == 0.0) continue;
                shift[j] += pull * share[j];
                const double curvature = part * s.c * s.c * inverse * share[j];
                for (int k = 0; k <= j; ++k) precision[j * K + k] += curvature * share[k];
            }
        }
    }
    for (int j = 0; j < K; ++j)
        for (int k = 0; k < j; ++k) precision[k * K + j] = precision[j * K + k];
}

// Averaging: the dual of the batch's margin constraints, by coordinate ascent over multipliers in [0, 2 c step_size weight].
class DualAscent {
public:
    // moves the mean of a task; tau: the multipliers, where the ascent starts and ends, a column of a row a document
    static void run(const ClassifierSettings& s, const Samples& samples, const std::vector<double>& shares, int task,
                    double* mean, double* tau) {
        const int K = samples.topics;
        for (std::int64_t d = 0; d < samples.documents(); ++d)
            add(mean, &shares[d * K], K, s.prior_variance * tau[d * samples.tasks] * samples.signs[d * samples.tasks + task]);
        for (int pass = 0; pass < kMostPasses; ++pass) {
            double largest = 0.0;
            for (std::int64_t d = 0; d < samples.documents(); ++d) {
                const double* share = &shares[d * K];
                const double sign = samples.signs[d * samples.tasks + task];
                double score = 0.0, square = 0.0;
                for (int k = 0; k < K; ++k) score += mean[k] * share[k], square += share[k] * share[k];
                double& own = tau[d * samples.tasks];
                const double wanted = own + (s.epsilon - sign * score) / (s.prior_variance * square);
                const double change = std::clamp(wanted, 0.0, 2.0 * s.c * s.step_size * samples.weights[d]) - own;
                own += change;
                add(mean, share, K, s.prior_variance * change * sign);
                largest = std::max(largest, std::abs(change) * s.prior_variance * square);
            }
            if (largest <= kTolerance * s.epsilon) return;
        }
    }

private:
    static constexpr int kMostPasses = 1000;
    static constexpr double kTolerance = 1e-10;  // of the margin asked for

    static void add(double* mean, const double* share, int topics, double factor) {
        for (int k = 0; k < topics; ++k) mean[k] += factor * share[k];
    }
};

}  // namespace confidently
