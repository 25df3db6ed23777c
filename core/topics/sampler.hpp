// Collapsed Gibbs sampling of the topics of one document's words, given topics and classifiers (docs/topics.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "topics/random.hpp"

namespace confidently {

inline constexpr int kLanes = 4;  // vectors of topics are padded to a multiple of so many, and summed in so many parts
inline int padded(int n) { return (n + kLanes - 1) / kLanes * kLanes; }

inline constexpr double kLeastExponent = -708.0;  // exp of less is no normal number
inline constexpr double kLeastTotal = 1e-200;     // smaller sums of weights are taken again in logarithms
inline constexpr double kLeastLikelihood = 1e-300;
inline constexpr double kNoTopic = -1e300;  // exponent of the padding

// Two topics at a time: every processor this is built for has vectors of two doubles, and with them written out no
// compiler misses the chance. Results are those of single doubles.
using Vector [[gnu::vector_size(16), gnu::may_alias]] = double;
using Integers [[gnu::vector_size(16)]] = std::int64_t;

inline Vector at(const double* x, int k) {
    Vector v;
    __builtin_memcpy(&v, x + k, sizeof v);
    return v;
}
inline void put(double* x, int k, Vector v) { __builtin_memcpy(x + k, &v, sizeof v); }
inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

// exp(x) for x <= 0 with a relative error below 1e-9, the same on every machine. (|r| <= log(2)/2: r^9/9! < 2e-10.)
inline Vector exp_of_negative(Vector x) {
    constexpr double kRound = 6755399441055744.0;  // 1.5 2^52: adding it leaves the nearest integer in the low bits
    constexpr double kLog2High = 0x1.62e42feep-1, kLog2Low = 0x1.a39ef35793c76p-33;
    x = larger(x, Vector{kLeastExponent, kLeastExponent});
    const Vector shifted = x * 1.4426950408889634074 + kRound, n = shifted - kRound;
    const Vector r = (x - n * kLog2High) - n * kLog2Low, r2 = r * r;
    const Vector low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6));
    const Vector high = (1.0 / 24 + r * (1.0 / 120)) + r2 * ((1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320));
    const Integers power = (reinterpret_cast<Integers>(shifted) + 1023) << 52;
    return (low + r2 * r2 * high) * reinterpret_cast<Vector>(power);
}

inline double exp_of_negative(double x) { return exp_of_negative(Vector{x, x})[0]; }

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
        Vector top{kNoTopic, kNoTopic}, top2 = top;
        for (int k = 0; k < size_; k += kLanes) {
            const Vector e = at(pull.linear, k) - pull.scale * (at(product_.data(), k) - at(own, k));
            const Vector e2 = at(pull.linear, k + 2) - pull.scale * (at(product_.data(), k + 2) - at(own, k + 2));
            put(exponent_.data(), k, e), put(exponent_.data(), k + 2, e2);
            top = larger(top, e), top2 = larger(top2, e2);
        }
        top = larger(top, top2);
        const double most = std::max(top[0], top[1]);
        Vector sum{0.0, 0.0}, sum2 = sum;
        for (int k = 0; k < size_; k += kLanes) {
            const Vector w = plain(row, pull, k) * exp_of_negative(at(exponent_.data(), k) - most);
            const Vector w2 = plain(row, pull, k + 2) * exp_of_negative(at(exponent_.data(), k + 2) - most);
            put(weight_.data(), k, w), put(weight_.data(), k + 2, w2);
            sum += w, sum2 += w2;
        }
        sum += sum2;
        total_ = sum[0] + sum[1];
    }

    void weigh(const double* row, const Pull& pull) {
        Vector sum{0.0, 0.0}, sum2 = sum;
        for (int k = 0; k < size_; k += kLanes) {
            const Vector w = plain(row, pull, k) * at(product_.data(), k);
            const Vector w2 = plain(row, pull, k + 2) * at(product_.data(), k + 2);
            put(weight_.data(), k, w), put(weight_.data(), k + 2, w2);
            sum += w, sum2 += w2;
        }
        sum += sum2;
        total_ = sum[0] + sum[1];
    }

    // the weights without classifiers
    Vector plain(const double* row, const Pull& pull, int k) const {
        return (at(pull.prior, k) + at(counts_.data(), k)) * at(row, k);
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
        total_ = 0.0;
        for (int k = 0; k < topics_; ++k) total_ += weight_[k] = exp_of_negative(weight_[k] - top);
    }

    void move(const double* matrix, int from, int to) {
        const double *leave = matrix + from * size_, *enter = matrix + to * size_;
        for (int k = 0; k < size_; ++k) product_[k] += enter[k] - leave[k];
    }
};

}  // namespace confidently
