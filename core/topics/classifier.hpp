// The classifiers of a topic model: Gaussians over weights of topics, updated by batches of documents (docs/topics.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cholesky.hpp"
#include "topics/random.hpp"
#include "topics/sampler.hpp"

namespace confidently {

struct ClassifierSettings {
    bool gibbs;
    double c, epsilon, prior_variance, step_size;
};

// The samples of a batch that the classifiers learn from: per kept sample of a document the proportions of the topics
// among its words, and 1/lambda per task.
struct Samples {
    int kept, topics, tasks;
    std::vector<double> proportions, inverse_lambda;
    std::vector<std::int8_t> signs;  // -1 or 1, per document and task
    std::vector<double> weights;     // how often each document counts

    void resize(std::int64_t documents) {
        weights.resize(documents);
        proportions.resize(documents * kept * topics);
        inverse_lambda.resize(documents * kept * tasks);
        signs.resize(documents * tasks);
    }
    std::int64_t documents() const { return static_cast<std::int64_t>(signs.size()) / tasks; }
    double* at(std::int64_t document, int sample) { return &proportions[(document * kept + sample) * topics]; }
    const double* at(std::int64_t document, int sample) const {
        return &proportions[(document * kept + sample) * topics];
    }
};

inline constexpr double kMinRate = 1e-6;  // of lambda: below it the noise of 1/lambda would be unbounded

// Draws lambda given the topics of a sample; mean and variance are those of the score.
inline double draw_lambda(const ClassifierSettings& s, double sign, double mean, double variance, Stream& random) {
    const double gap = s.epsilon - sign * mean;
    return 1.0 / random.inverse_gaussian(1.0 / std::max(s.c * std::sqrt(gap * gap + variance), kMinRate));
}

// The Gaussian of one task for the sampler: mean (padded), covariance, and mean mean' + covariance (padded).
struct Moments {
    std::vector<double> mean, covariance, second;

    explicit Moments(int topics)
        : mean(padded(topics)), covariance(topics * topics), second(padded(topics) * padded(topics)) {}

    // From the precision P and the shift h = P mean.
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

    // Mean of the score of a document of this size with these topic counts.
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

// Gibbs: adds the likelihood terms of a batch to the precision and shift of a task.
inline void add_gibbs(const ClassifierSettings& s, const Samples& samples, int task, double* precision, double* shift) {
    const int K = samples.topics;
    for (std::int64_t d = 0; d < samples.documents(); ++d) {
        const double part = s.step_size * samples.weights[d] / samples.kept;
        for (int i = 0; i < samples.kept; ++i) {
            const double inverse = samples.inverse_lambda[(d * samples.kept + i) * samples.tasks + task];
            const double sign = samples.signs[d * samples.tasks + task];
            const double gain = part * s.c * sign * (1.0 + s.c * s.epsilon * inverse);
            const double* z = samples.at(d, i);
            for (int j = 0; j < K; ++j) {
                if (z[j] == 0.0) continue;
                shift[j] += gain * z[j];
                const double curvature = part * s.c * s.c * inverse * z[j];
                for (int k = 0; k <= j; ++k) precision[j * K + k] += curvature * z[k];
            }
        }
    }
    for (int j = 0; j < K; ++j)
        for (int k = 0; k < j; ++k) precision[k * K + j] = precision[j * K + k];
}

// Averaging: coordinate ascent on the dual of a batch's margin constraints, with multipliers in [0, 2 c step_size
// weight].
class DualAscent {
  public:
    // Updates the mean of a task. tau: the multipliers, from which the ascent starts and which it replaces; a row per
    // document and a column per task.
    static void run(const ClassifierSettings& s, const Samples& samples, const std::vector<double>& proportions,
                    int task, double* mean, double* tau) {
        const int K = samples.topics;
        for (std::int64_t d = 0; d < samples.documents(); ++d)
            add(mean, &proportions[d * K], K,
                s.prior_variance * tau[d * samples.tasks] * samples.signs[d * samples.tasks + task]);
        for (int pass = 0; pass < kMaxPasses; ++pass) {
            double largest = 0.0;
            for (std::int64_t d = 0; d < samples.documents(); ++d) {
                const double* z = &proportions[d * K];
                const double sign = samples.signs[d * samples.tasks + task];
                double score = 0.0, square = 0.0;
                for (int k = 0; k < K; ++k) score += mean[k] * z[k], square += z[k] * z[k];
                double& own = tau[d * samples.tasks];
                const double wanted = own + (s.epsilon - sign * score) / (s.prior_variance * square);
                const double change = std::clamp(wanted, 0.0, 2.0 * s.c * s.step_size * samples.weights[d]) - own;
                own += change;
                add(mean, z, K, s.prior_variance * change * sign);
                largest = std::max(largest, std::abs(change) * s.prior_variance * square);
            }
            if (largest <= kTolerance * s.epsilon) return;
        }
    }

  private:
    static constexpr int kMaxPasses = 1000;
    static constexpr double kTolerance = 1e-10;  // of the required margin

    static void add(double* mean, const double* z, int topics, double factor) {
        for (int k = 0; k < topics; ++k) mean[k] += factor * z[k];
    }
};

}  // namespace confidently
