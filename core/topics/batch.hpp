// A batch of documents as tokens for the topic sampler, and the likelihood of its words in every topic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "topics/digamma.hpp"
#include "topics/parallel.hpp"
#include "topics/sampler.hpp"

namespace confidently {

// Bags of words, not owned: row r has the entries start[r] to start[r + 1] - 1 of words and of their counts.
struct Bags {
    const std::int64_t* start;
    const std::int32_t* words;
    const std::int32_t* counts;
};

// Labels and weights of documents, not owned: the signs of row r begin at signs + r * stride; it counts weights[r] > 0
// times.
struct Targets {
    const std::int8_t* signs;
    std::int64_t stride;
    const double* weights;
};

// The documents of a batch as tokens over the words that occur in them, without empty documents.
class Batch {
  public:
    explicit Batch(std::int64_t n_words) : index_(n_words, -1) {}

    std::vector<std::int32_t> vocabulary, topics;
    std::vector<std::int64_t> rows;

    template <class Known>
    void fill(const Bags& bags, std::int64_t first, std::int64_t last, Known&& known) {
        for (const std::int32_t word : vocabulary) index_[word] = -1;
        vocabulary.clear(), tokens_.clear(), rows.clear(), start_.assign(1, 0);
        for (std::int64_t row = first; row < last; ++row) {
            for (std::int64_t i = bags.start[row]; i < bags.start[row + 1]; ++i)
                if (known(bags.words[i])) tokens_.insert(tokens_.end(), bags.counts[i], index(bags.words[i]));
            if (static_cast<std::int64_t>(tokens_.size()) == start_.back()) continue;
            rows.push_back(row);
            start_.push_back(static_cast<std::int64_t>(tokens_.size()));
        }
        topics.resize(tokens_.size());
    }

    std::int64_t documents() const { return static_cast<std::int64_t>(rows.size()); }
    Words document(std::int64_t d) {
        return {&tokens_[start_[d]], &topics[start_[d]], static_cast<int>(start_[d + 1] - start_[d])};
    }

  private:
    std::vector<std::int32_t> index_, tokens_;  // index_: of every word in vocabulary, or -1
    std::vector<std::int64_t> start_;

    std::int32_t index(std::int32_t word) {
        if (index_[word] < 0) {
            index_[word] = static_cast<std::int32_t>(vocabulary.size());
            vocabulary.push_back(word);
        }
        return index_[word];
    }
};

// p(word | topic) for every word of a batch, up to one factor per word: a padded row of topics per word.
class Likelihood {
  public:
    Likelihood(int topics, double word_prior, bool uses_digamma)
        : topics_(topics), size_(padded(topics)), word_prior_(word_prior), digamma_(uses_digamma), normal_(topics) {}

    const double* table() const { return table_.data(); }

    // counts: (words of the batch, topics); totals: (topics), over all words
    void set(const std::vector<double>& counts, const double* totals, std::int64_t n_words, Team& team) {
        const int K = topics_;
        for (int k = 0; k < K; ++k) {
            const double mass = totals[k] + word_prior_ * static_cast<double>(n_words);
            normal_[k] = digamma_ ? digamma(mass) : 1.0 / mass;
        }
        const std::int64_t words = static_cast<std::int64_t>(counts.size()) / K;
        table_.assign(words * size_, 0.0);
        constexpr std::int64_t kBlock = 256;
        team.run((words + kBlock - 1) / kBlock, [&](std::int64_t block, int) {
            for (std::int64_t u = block * kBlock; u < std::min(words, (block + 1) * kBlock); ++u)
                set_row(&counts[u * K], &table_[u * size_]);
        });
    }

  private:
    int topics_, size_;
    double word_prior_;
    bool digamma_;  // whether to take exp of the expected logarithm instead of the expectation
    std::vector<double> normal_, table_;

    void set_row(const double* counts, double* row) const {
        const int K = topics_;
        for (int k = 0; k < K; ++k) {
            const double mass = counts[k] + word_prior_;
            row[k] = digamma_ ? digamma(mass) - normal_[k] : mass * normal_[k];
        }
        const double top = *std::max_element(row, row + K);
        for (int k = 0; k < K; ++k) row[k] = digamma_ ? std::exp(row[k] - top) : row[k] / top;
    }
};

}  // namespace confidently
