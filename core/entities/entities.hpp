// Many small Gaussians around one shared model: what entities, such as users, deviate from it by. Every entity stores
// the features of its own rows only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rows.hpp"
#include "rules/bayesian.hpp"
#include "tasks/calibration.hpp"

namespace confidently {

// A score s ~ N(m, v) makes sigmoid(s) about sigmoid(m / sqrt(1 + kLogisticVariance v)) in expectation (MacKay 1992).
inline constexpr double kLogisticVariance = 0.39269908169872415481;  // pi/8
inline constexpr double kMinEntityVariance = 1e-12;                  // as a fraction of the prior's
inline constexpr double kMaxEntityWeight = 1e30;

// Features and weights of one entity. The intercept is feature 0 and column j of a row is feature j + 1; features
// ascend. Of every feature there are a mean and a variance for each cell, which is an output and a prior variance.
struct Entity {
    std::vector<std::int32_t> features;
    std::vector<float> weights;
    std::int64_t last = -1, rows = 0;  // number of the last row, and how many there were

    bool is_known(std::int64_t now, std::int64_t max_age) const { return last >= 0 && now - last <= max_age; }
};

// One row with the intercept, and where an entity has its features.
struct EntityRow {
    std::vector<std::int32_t> feature;
    std::vector<std::int64_t> at;  // -1: not there
    std::vector<double> x;
    double square = 0.0;  // sum of x^2
    std::size_t missing = 0;

    void read(const Row& row) {
        feature.assign(1, 0), x.assign(1, 1.0), square = 1.0;
        for (std::int32_t i = 0; i < row.size; ++i) {
            if (row.value[i] == 0.0) continue;
            feature.push_back(row.column[i] + 1), x.push_back(row.value[i]);
            square += row.value[i] * row.value[i];
        }
    }

    void find(const Entity* entity) {
        at.assign(feature.size(), -1), missing = feature.size();
        if (entity == nullptr) return;
        auto from = entity->features.begin();
        for (std::size_t i = 0; i < feature.size() && from != entity->features.end(); ++i) {
            from = std::lower_bound(from, entity->features.end(), feature[i]);
            if (from != entity->features.end() && *from == feature[i])
                at[i] = from - entity->features.begin(), --missing;
        }
    }
};

struct Entities {
    std::vector<double> priors;  // prior variances of the deviations, which are tried side by side
    std::size_t outputs;         // scores per row: one for two classes and for numbers, otherwise one per class
    bool regression;
    std::int64_t max_age;  // rows after which an entity is as if it had never been seen
    std::vector<Entity> entities{};
    // Of no deviation at all, and then of every prior variance: the log-likelihood of what it predicted, and of numbers
    // the squares of its errors in units of what the noise alone would be, and their weight. The past decays.
    std::vector<double> evidence{}, noise{};
    // Of the rows so far, each predicted before it was learned: how many, and the sums of their losses, which are
    // log-loss and mistakes, or of numbers the squares and absolute values of the errors.
    std::vector<double> losses = std::vector<double>(3);
    EntityRow row{};
    RowBuffer buffer{};
    std::vector<double> mean{}, variance{}, shown{}, shares{}, mixed{};  // of one row

    std::size_t levels() const { return priors.size(); }
    std::size_t cells() const { return outputs * levels(); }

    // The entity of a slot if it is known, for rows with numbers from now on.
    const Entity* known(std::int32_t slot, std::int64_t now) const {
        if (slot < 0) return nullptr;
        const Entity& entity = entities[std::size_t(slot)];
        return entity.is_known(now, max_age) ? &entity : nullptr;
    }

    // Mean and variance of the deviation of each cell for a row that was read.
    void score(const Entity* entity, EntityRow& row, double* m, double* v) const {
        row.find(entity);
        const std::size_t n = cells();
        double unknown = row.square;
        std::fill_n(m, n, 0.0), std::fill_n(v, n, 0.0);
        for (std::size_t i = 0; i < row.x.size(); ++i) {
            if (row.at[i] < 0) continue;
            const float* own = entity->weights.data() + std::size_t(row.at[i]) * 2 * n;
            const double x = row.x[i], square = x * x;
            unknown -= square;
            for (std::size_t c = 0; c < n; ++c) m[c] += x * own[2 * c], v[c] += square * own[2 * c + 1];
        }
        if (row.missing == 0) return;
        for (std::size_t c = 0; c < n; ++c) v[c] += std::max(unknown, 0.0) * priors[c % levels()];
    }

    // The shared model's log-odds are those of an entity that nothing is known about, whose deviation is as uncertain
    // as the prior. Without it they would be this much larger.
    double sharpened(double offset, double prior) const {
        return offset * std::sqrt(1.0 + kLogisticVariance * prior * row.square);
    }
    static double moderated(double score, double v) { return score / std::sqrt(1.0 + kLogisticVariance * v); }

    // Probabilities of the outputs at every level from those of the shared model and the deviations of the row.
    void probabilities(const double* offset, const double* m, const double* v, double* p) const {
        for (std::size_t g = 0; g <= levels(); ++g) {
            double total = 0.0;
            double* own = p + g * outputs;
            for (std::size_t k = 0; k < outputs; ++k) {
                const std::size_t c = k * levels() + g - 1;
                const double t = g == 0 ? offset[k] : moderated(sharpened(offset[k], priors[g - 1]) + m[c], v[c]);
                total += own[k] = answered(t);
            }
            for (std::size_t k = 0; outputs > 1 && k < outputs; ++k) own[k] /= total;
        }
    }

    void count(std::size_t level, double w, double log_likelihood) {
        evidence[level] = decay(w) * evidence[level] + w * log_likelihood;
    }

    // The weights of the levels in predictions.
    void share(std::vector<double>& shares) const {
        const double top = *std::max_element(evidence.begin(), evidence.end());
        double total = 0.0;
        shares.resize(evidence.size());
        for (std::size_t g = 0; g < shares.size(); ++g) total += shares[g] = std::exp(evidence[g] - top);
        for (double& one : shares) one /= total;
    }

    void learn_class(Entity& entity, const double* offset, std::int32_t label, double w) {
        shown.resize((levels() + 1) * outputs);
        probabilities(offset, mean.data(), variance.data(), shown.data());
        share(shares);
        mixed.assign(outputs, 0.0);
        for (std::size_t g = 0; g <= levels(); ++g)
            for (std::size_t k = 0; k < outputs; ++k) mixed[k] += shares[g] * shown[g * outputs + k];
        const double truth = outputs > 1 ? mixed[std::size_t(label)] : label == 1 ? mixed[0] : 1.0 - mixed[0];
        const double top = *std::max_element(mixed.begin(), mixed.end());
        losses[0] += 1.0, losses[1] += log_loss(truth), losses[2] += outputs > 1 ? truth < top : truth < 0.5;
        for (std::size_t g = 0; g <= levels(); ++g) {
            const double* p = shown.data() + g * outputs;
            count(g, w, -log_loss(outputs > 1 ? p[label] : label == 1 ? p[0] : 1.0 - p[0]));
        }
        make_room(entity);
        for (std::size_t k = 0; k < outputs; ++k)
            for (std::size_t g = 0; g < levels(); ++g) {
                const std::size_t c = k * levels() + g;
                const double sign = kSign[outputs > 1 ? label == std::int32_t(k) : label == 1];
                const double score = sharpened(offset[k], priors[g]) + mean[c];
                const Step step = Logistic{}(sign * score, variance[c], w);
                move(entity, c, sign * step.alpha, step.zeta);
            }
    }

    void learn_number(Entity& entity, double offset, double target, double w) {
        share(shares);
        double predicted = offset;
        for (std::size_t g = 0; g < levels(); ++g) predicted += shares[g + 1] * mean[g];
        const double wrong = target - predicted;
        losses[0] += 1.0, losses[1] += wrong * wrong, losses[2] += std::fabs(wrong);
        for (std::size_t g = 0; g <= levels(); ++g) {
            const double error = target - offset - (g == 0 ? 0.0 : mean[g - 1]);
            const double unit = 1.0 + (g == 0 ? 0.0 : variance[g - 1]);  // variances are in units of the noise
            double &squares = noise[2 * g], &weight = noise[2 * g + 1];
            if (squares > 0.0) {
                const double expected = squares / weight * unit;
                count(g, w, -0.5 * (std::log(expected) + error * error / expected));
            }
            squares = decay(w) * squares + w * error * error / unit;
            weight = decay(w) * weight + w;
        }
        make_room(entity);
        for (std::size_t g = 0; g < levels(); ++g)
            move(entity, g, w * (target - offset - mean[g]) / (1.0 + w * variance[g]), w);
    }

    // Trains an entity on a row of weight w > 0 with this number.
    void learn(std::int32_t slot, const Row& of, const double* offset, std::int32_t label, const double* target,
               double w, std::int64_t now) {
        Entity& entity = entities[std::size_t(slot)];
        if (!entity.is_known(now, max_age)) entity = {};
        row.read(of);
        mean.resize(cells()), variance.resize(cells());
        score(&entity, row, mean.data(), variance.data());
        if (regression)
            learn_number(entity, *offset, *target, w);
        else
            learn_class(entity, offset, label, w);
        entity.last = now, ++entity.rows;
    }

  private:
    // Adds the features of the row that the entity does not have, at the prior.
    void make_room(Entity& entity) {
        if (row.missing == 0) return;
        const std::size_t n = 2 * cells(), before = entity.features.size(), after = before + row.missing;
        if (entity.features.capacity() < after) {
            const std::size_t room = before == 0 ? after : after + after / 4;
            entity.features.reserve(room), entity.weights.reserve(room * n);
        }
        entity.features.resize(after), entity.weights.resize(after * n);
        std::size_t from = before, to = after;
        for (std::size_t i = row.x.size(); i-- > 0;) {
            if (row.at[i] >= 0) continue;
            for (; from > 0 && entity.features[from - 1] > row.feature[i]; --from, --to) {
                entity.features[to - 1] = entity.features[from - 1];
                std::copy_n(entity.weights.begin() + std::ptrdiff_t((from - 1) * n), n,
                            entity.weights.begin() + std::ptrdiff_t((to - 1) * n));
            }
            entity.features[--to] = row.feature[i];
            for (std::size_t c = 0; c < cells(); ++c) {
                entity.weights[to * n + 2 * c] = 0.0f;
                entity.weights[to * n + 2 * c + 1] = float(priors[c % levels()]);
            }
        }
        row.find(&entity);
    }

    // Moves a cell by alpha along the row and adds zeta to its precision along it, of which the diagonal is kept.
    void move(Entity& entity, std::size_t cell, double alpha, double zeta) {
        const double least = kMinEntityVariance * priors[cell % levels()];
        for (std::size_t i = 0; i < row.x.size(); ++i) {
            float* own = entity.weights.data() + std::size_t(row.at[i]) * 2 * cells() + 2 * cell;
            const double x = row.x[i], v = own[1];
            own[0] = float(std::clamp(own[0] + alpha * v * x, -kMaxEntityWeight, kMaxEntityWeight));
            own[1] = float(std::max(v / (1.0 + zeta * x * x * v), least));
        }
    }
};

}  // namespace confidently
