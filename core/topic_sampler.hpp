// Collapsed Gibbs sampling of the topics of one document's words, given topics and classifiers (docs/topics.md).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "random.hpp"

namespace confidently {

inline constexpr int kLanes = 4;  // vectors of topics are padded to a multiple of so many, and summed in so many parts
inline int padded(int n) { return (n + kLanes - 1) / kLanes * kLanes; }

inline constexpr double kLeastExponent = -708.0;  // exp of less is no normal number
inline constexpr double kLeastTotal = 1e-200;     // smaller sums of weights are taken again in logarithms
inline constexpr double kLeastLikelihood = 1e-300;
inline constexpr double kNoTopic = -1e300;  // exponent of the padding

// exp(x) for x <= 0 within 1e-14 of the value: without branches or tables, so that compilers make vectors of it, and the
// same on every machine.
inline double exp_of_negative(double x) {
    constexpr double kRound = 6755399441055744.0;  // 1.5 2^52: adding it leaves the nearest integer in the low bits
    constexpr double kLog2High = 0x1.62e42feep-1, kLog2Low = 0x1.a39ef35793c76p-33;
    x = x < kLeastExponent ? kLeastExponent : x;
    const double shifted = x * 1.4426950408889634074 + kRound, n = shifted - kRound;
    const double r = (x - n * kLog2High) - n * kLog2Low;
    double p = 1.0 / 39916800;
    for (const double inverse_factorial : {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                           1.0 / 24, 1.0 / 6, 1.0 / 2, 1.0, 1.0})
        p = p * r + inverse_factorial;
    return p * std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
}

// One document: words numbered within its batch, a topic for each.
struct Words {
    const std::int32_t* words;
    std::int32_t* topics;
    int size;
};

// What draws a word to topic k beside the topic's own words: (prior_k + C_k) exp(linear_k - scale (G C)_k), with C the
// topic counts of the other words. matrix is G, nullptr where there is no quadratic part. All padded.
struct Pull {
    const double* prior;
    const double* linear;
    const double* matrix;
    double scale;
};

class Sampler {
public:
    explicit Sampler(int topics)
        : topics_(topics), size_(padded(topics)), counts_(size_), product_(size_), exponent_(size_), weight_(size_) {}

    const double* counts() const { return counts_.data(); }

    void count(const Words& document) {
        std::fill(counts_.begin(), counts_.end(), 0.0);
        for (int i = 0; i < document.size; ++i) counts_[document.topics[i]] += 1.0;
    }

    // Draws the topic of every word in turn. likelihood: a padded row of topics a word, the largest of each about 1.
    void sweep(const Words& document, const double* likelihood, const Pull& pull, Stream& random) {
        if (pull.matrix)
            prepare_product(pull);
        else
            prepare_factor(pull);
        for (int i = 0; i < document.size; ++i) {
            const double* row = likelihood + static_cast<std::int64_t>(document.words[i]) * size_;
            const int old = document.topics[i];
            counts_[old] -= 1.0;
            if (pull.matrix)
                weigh(row, pull, old);
            else
                weigh(row, pull);
            if (!(total_ > kLeastTotal)) weigh_in_logarithms(row, pull);
            const int drawn = draw(random.uniform());
            counts_[drawn] += 1.0;
            if (pull.matrix && drawn != old) move(pull.matrix, old, drawn);
            document.topics[i] = drawn;
        }
    }

private:
    int topics_, size_;
    std::vector<double> counts_, product_, exponent_, weight_;
    double total_ = 0.0;

    void prepare_product(const Pull& pull) {
        std::fill(product_.begin(), product_.end(), 0.0);
        for (int j = 0; j < topics_; ++j)
            if (counts_[j] != 0.0)
                for (int k = 0; k < size_; ++k) product_[k] += counts_[j] * pull.matrix[j * size_ + k];
    }

    // Without a quadratic part the exponents are the same for all words: their exponentials are kept in product_.
    void prepare_factor(const Pull& pull) {
        const double top = *std::max_element(pull.linear, pull.linear + topics_);
        for (int k = 0; k < size_; ++k) {
            exponent_[k] = pull.linear[k];
            product_[k] = exp_of_negative(pull.linear[k] - top);
        }
    }

    void weigh(const double* row, const Pull& pull, int old) {
        const double* own = pull.matrix + old * size_;
        double top[kLanes] = {kNoTopic, kNoTopic, kNoTopic, kNoTopic};
        for (int k = 0; k < size_; k += kLanes)
            for (int j = 0; j < kLanes; ++j) {
                const double e = pull.linear[k + j] - pull.scale * (product_[k + j] - own[k + j]);
                exponent_[k + j] = e;
                top[j] = e > top[j] ? e : top[j];
            }
        const double most = std::max(std::max(top[0], top[1]), std::max(top[2], top[3]));
        for (int k = 0; k < size_; ++k)
            weight_[k] = (pull.prior[k] + counts_[k]) * row[k] * exp_of_negative(exponent_[k] - most);
        add_up();
    }

    void weigh(const double* row, const Pull& pull) {
        for (int k = 0; k < size_; ++k) weight_[k] = (pull.prior[k] + counts_[k]) * row[k] * product_[k];
        add_up();
    }

    void add_up() {
        total_ = 0.0;
        for (int k = 0; k < size_; k += kLanes)
            total_ += (weight_[k] + weight_[k + 1]) + (weight_[k + 2] + weight_[k + 3]);
    }

    int draw(double u) const {
        double left = u * total_;
        int k = 0;
        for (; k + kLanes < size_; k += kLanes) {
            const double part = (weight_[k] + weight_[k + 1]) + (weight_[k + 2] + weight_[k + 3]);
            if (left < part) break;
            left -= part;
        }
        const int last = std::min(k + kLanes, topics_) - 1;
        while (k < last && left >= weight_[k]) left -= weight_[k++];
        while (k > 0 && !(weight_[k] > 0.0)) --k;  // rounding at the very end
        return k;
    }

    // The exponents pull one way and the words the other, too far apart for products of doubles.
    void weigh_in_logarithms(const double* row, const Pull& pull) {
        double top = -INFINITY;
        for (int k = 0; k < topics_; ++k) {
            weight_[k] = std::log(pull.prior[k] + counts_[k]) + std::log(std::max(row[k], kLeastLikelihood)) + exponent_[k];
            top = std::max(top, weight_[k]);
        }
        for (int k = 0; k < topics_; ++k) weight_[k] = exp_of_negative(weight_[k] - top);
        add_up();
    }

    void move(const double* matrix, int from, int to) {
        const double *leave = matrix + from * size_, *enter = matrix + to * size_;
        for (int k = 0; k < size_; ++k) product_[k] += enter[k] - leave[k];
    }
};

}  // namespace confidently
