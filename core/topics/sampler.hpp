// Collapsed Gibbs sampling of the topics of the words of one document, given topics and classifiers (docs/topics.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "topics/random.hpp"

namespace confidently {

inline constexpr int kLanes = 4;  // vectors of topics are padded to a multiple of kLanes, and summed in kLanes parts
inline int padded(int n) { return (n + kLanes - 1) / kLanes * kLanes; }

inline constexpr double kMinExponent = -708.0;  // exp of smaller numbers is subnormal
inline constexpr double kMinTotal = 1e-200;     // smaller sums of weights are computed again in logarithms
inline constexpr double kMinLikelihood = 1e-300;
inline constexpr double kNoTopic = -1e300;  // exponent of the padding

// Two topics at a time: every supported processor has vectors of two doubles, and explicit vectors do not depend on the
// compiler's vectorizer. Results are those of single doubles.
using Vector [[gnu::vector_size(16), gnu::may_alias]] = double;
using Integers [[gnu::vector_size(16)]] = std::int64_t;

inline Vector at(const double* x, int k) {
    Vector v;
    __builtin_memcpy(&v, x + k, sizeof v);
    return v;
}
inline void put(double* x, int k, Vector v) { __builtin_memcpy(x + k, &v, sizeof v); }
inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

// exp(x) for x <= 0 with a relative error below 1e-9, the same on every machine (|r| <= log(2)/2, so r^9/9! < 2e-10).
inline Vector exp_of_negative(Vector x) {
    constexpr double kRound = 6755399441055744.0;  // 1.5 2^52: adding it leaves the nearest integer in the low bits
    constexpr double kLog2High = 0x1.62e42feep-1, kLog2Low = 0x1.a39ef35793c76p-33;
    x = larger(x, Vector{kMinExponent, kMinExponent});
    const Vector shifted = x * 1.4426950408889634074 + kRound, n = shifted - kRound;
    const Vector r = (x - n * kLog2High) - n * kLog2Low, r2 = r * r;
    const Vector low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6));
    const Vector high = (1.0 / 24 + r * (1.0 / 120)) + r2 * ((1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320));
    const Integers power = (reinterpret_cast<Integers>(shifted) + 1023) << 52;
    return (low + r2 * r2 * high) * reinterpret_cast<Vector>(power);
}

inline double exp_of_negative(double x) { return exp_of_negative(Vector{x, x})[0]; }

// One document: the words by their index in the batch, and a topic per word.
struct Words {
    const std::int32_t* words;
    std::int32_t* topics;
    int size;
};

// The conditional weight of topic k for a word besides its likelihood: (prior_k + C_k) exp(linear_k - scale (G C)_k),
// with C the topic counts of the other words. matrix is G, or nullptr where there is no quadratic part. All are padded.
struct Conditional {
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

    // Draws the topic of every word in turn. likelihood: a padded row of topics per word, with a maximum of about 1.
    void sweep(const Words& document, const double* likelihood, const Conditional& given, Stream& random) {
        if (given.matrix)
            prepare_product(given);
        else
            prepare_factor(given);
        for (int i = 0; i < document.size; ++i) {
            const double* row = likelihood + static_cast<std::int64_t>(document.words[i]) * size_;
            const int old = document.topics[i];
            counts_[old] -= 1.0;
            if (given.matrix)
                weigh(row, given, old);
            else
                weigh(row, given);
            if (!(total_ > kMinTotal)) weigh_in_logarithms(row, given);
            const int drawn = draw(random.uniform());
            counts_[drawn] += 1.0;
            if (given.matrix && drawn != old) move(given.matrix, old, drawn);
            document.topics[i] = drawn;
        }
    }

  private:
    int topics_, size_;
    std::vector<double> counts_, product_, exponent_, weight_;
    double total_ = 0.0;

    void prepare_product(const Conditional& given) {
        std::fill(product_.begin(), product_.end(), 0.0);
        for (int j = 0; j < topics_; ++j)
            if (counts_[j] != 0.0)
                for (int k = 0; k < size_; ++k) product_[k] += counts_[j] * given.matrix[j * size_ + k];
    }

    // Without a quadratic part the exponents are the same for all words, so product_ holds their exponentials.
    void prepare_factor(const Conditional& given) {
        const double top = *std::max_element(given.linear, given.linear + topics_);
        for (int k = 0; k < size_; ++k) {
            exponent_[k] = given.linear[k];
            product_[k] = exp_of_negative(given.linear[k] - top);
        }
    }

    void weigh(const double* row, const Conditional& given, int old) {
        const double* own = given.matrix + old * size_;
        Vector top{kNoTopic, kNoTopic}, top2 = top;
        for (int k = 0; k < size_; k += kLanes) {
            const Vector e = at(given.linear, k) - given.scale * (at(product_.data(), k) - at(own, k));
            const Vector e2 = at(given.linear, k + 2) - given.scale * (at(product_.data(), k + 2) - at(own, k + 2));
            put(exponent_.data(), k, e), put(exponent_.data(), k + 2, e2);
            top = larger(top, e), top2 = larger(top2, e2);
        }
        top = larger(top, top2);
        const double most = std::max(top[0], top[1]);
        Vector sum{0.0, 0.0}, sum2 = sum;
        for (int k = 0; k < size_; k += kLanes) {
            const Vector w = without_classifiers(row, given, k) * exp_of_negative(at(exponent_.data(), k) - most);
            const Vector w2 =
                without_classifiers(row, given, k + 2) * exp_of_negative(at(exponent_.data(), k + 2) - most);
            put(weight_.data(), k, w), put(weight_.data(), k + 2, w2);
            sum += w, sum2 += w2;
        }
        sum += sum2;
        total_ = sum[0] + sum[1];
    }

    void weigh(const double* row, const Conditional& given) {
        Vector sum{0.0, 0.0}, sum2 = sum;
        for (int k = 0; k < size_; k += kLanes) {
            const Vector w = without_classifiers(row, given, k) * at(product_.data(), k);
            const Vector w2 = without_classifiers(row, given, k + 2) * at(product_.data(), k + 2);
            put(weight_.data(), k, w), put(weight_.data(), k + 2, w2);
            sum += w, sum2 += w2;
        }
        sum += sum2;
        total_ = sum[0] + sum[1];
    }

    // The weights without classifiers.
    Vector without_classifiers(const double* row, const Conditional& given, int k) const {
        return (at(given.prior, k) + at(counts_.data(), k)) * at(row, k);
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
        while (k > 0 && !(weight_[k] > 0.0)) --k;  // u may lie beyond the last positive weight by rounding
        return k;
    }

    // For exponents and likelihoods that favor topics so different that all products of doubles underflow.
    void weigh_in_logarithms(const double* row, const Conditional& given) {
        double top = -INFINITY;
        for (int k = 0; k < topics_; ++k) {
            weight_[k] =
                std::log(given.prior[k] + counts_[k]) + std::log(std::max(row[k], kMinLikelihood)) + exponent_[k];
            top = std::max(top, weight_[k]);
        }
        total_ = 0.0;
        for (int k = 0; k < topics_; ++k) total_ += weight_[k] = exp_of_negative(weight_[k] - top);
    }

    void move(const double* matrix, int from, int to) {
        const double *leave = matrix + from * size_, *enter = matrix + to * size_;
        for (int k = 0; k < size_; ++k) product_[k] += enter[k] - leave[k];
    }
};

}  // namespace confidently
