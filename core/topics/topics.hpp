// Online max-margin topic models: the loop over batches of documents that updates topics and classifiers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "topics/digamma.hpp"
#include "topics/parallel.hpp"
#include "topics/batch.hpp"
#include "topics/classifier.hpp"
#include "topics/sampler.hpp"

namespace confidently {

struct TopicSettings {
    int topics, tasks;
    bool nonparametric, digamma;
    double document_prior, word_prior, stick_prior;
    ClassifierSettings classifier;
    int inner, samples, burn_in;
    std::int64_t batch;
    std::uint64_t seed;
};

// The arrays of one model, not owned. The topics of word x begin at counts[x * stride].
struct TopicState {
    double* counts;
    std::int64_t words, stride;
    double* totals;     // (topics): sums of counts over words
    double* precision;  // (tasks, topics, topics); nullptr: averaging
    double* shift;      // (tasks, topics): precision times mean; averaging: the mean
    double* sticks;     // (2, topics): u and v; nullptr: a fixed number of topics
};

// One topic model with its classifiers: for two classes, one class against the rest, or labels that share the topics.
class TopicModel {
  public:
    TopicModel(const TopicSettings& settings, TopicState state, int number)
        : s_(settings), state_(state), number_(number), size_(padded(settings.topics)), batch_(state.words),
          likelihood_(settings.topics, settings.word_prior, settings.digamma), prior_(size_),
          moments_(settings.tasks, Moments(settings.topics)),
          samples_{settings.samples, settings.topics, settings.tasks, {}, {}, {}, {}} {}

    // Learns rows first to last - 1. seen: number of documents before row 0.
    void learn(const Bags& bags, const Targets& targets, std::int64_t first, std::int64_t last, std::int64_t seen,
               Team& team) {
        for (std::int64_t begin = first; begin < last; begin += s_.batch) {
            batch_.fill(bags, begin, std::min(begin + s_.batch, last), [](std::int32_t) { return true; });
            if (batch_.documents() > 0) learn_batch(targets, seen, team);
        }
    }

    // Proportions of the topics among the known words of rows first to last - 1, averaged over sweeps and written to
    // out + row * out_stride. The stream of a document is keyed by its words, so it does not depend on other documents.
    void infer(const Bags& bags, std::int64_t first, std::int64_t last, int burn_in, int samples, double* out,
               std::int64_t out_stride, Team& team) {
        batch_.fill(bags, first, last, [this](std::int32_t word) { return known(word); });
        gather();
        likelihood_.set(before_, state_.totals, state_.words, team);
        set_prior(state_.sticks);
        const std::vector<double> no_classifiers(size_, 0.0);
        std::vector<Sampler> samplers(team.size(), Sampler(s_.topics));
        team.run(batch_.documents(), [&](std::int64_t d, int thread) {
            const Words document = batch_.document(d);
            Stream random(content_key(bags, batch_.rows[d]));
            Sampler& sampler = samplers[thread];
            start(document, sampler, random);
            double* z = out + batch_.rows[d] * out_stride;
            for (int i = 0; i < burn_in + samples; ++i) {
                sampler.sweep(document, likelihood_.table(), {prior_.data(), no_classifiers.data(), nullptr, 0.0},
                              random);
                for (int k = 0; i >= burn_in && k < s_.topics; ++k) z[k] += sampler.counts()[k];
            }
            for (int k = 0; k < s_.topics; ++k) z[k] /= static_cast<double>(document.size) * samples;
        });
    }

  private:
    struct Worker {
        Sampler sampler;
        std::vector<double> linear, matrix;
    };

    TopicSettings s_;
    TopicState state_;
    int number_, size_;
    Batch batch_;
    Likelihood likelihood_;
    std::vector<double> prior_;            // pseudo-counts of the topics in a document: alpha, or a G_k
    std::vector<double> before_, counts_;  // topic counts of the batch's words, before the batch and now
    std::vector<double> totals_, precision_, shift_, sticks_;  // the other arrays of the state, now
    std::vector<Moments> moments_;
    Samples samples_;
    std::vector<std::int32_t> kept_topics_;  // of all tokens, once per kept sample
    std::vector<double> lambda_, tau_, tables_;
    std::vector<Stream> streams_;

    void learn_batch(const Targets& targets, std::int64_t seen, Team& team) {
        begin_batch(targets, seen);
        std::vector<Worker> workers(team.size(), Worker{Sampler(s_.topics), std::vector<double>(size_, kNoTopic),
                                                        std::vector<double>(s_.tasks > 1 ? size_ * size_ : 0)});
        for (int round = 0; round < s_.inner; ++round) {
            likelihood_.set(counts_, totals_.data(), state_.words, team);
            set_prior(sticks_.empty() ? nullptr : sticks_.data());
            set_moments(team);
            team.run(batch_.documents(), [&](std::int64_t d, int thread) { sample(d, round == 0, workers[thread]); });
            update(team);
        }
        end_batch();
    }

    void begin_batch(const Targets& targets, std::int64_t seen) {
        const std::int64_t documents = batch_.documents();
        gather();
        counts_ = before_;
        restart();
        samples_.resize(documents);
        kept_topics_.resize(batch_.topics.size() * s_.samples);
        lambda_.assign(documents * s_.tasks, 0.0);
        tau_.assign(documents * s_.tasks, 0.0);
        tables_.assign(state_.sticks ? documents * s_.topics : 0, 0.0);
        streams_.resize(documents);
        for (std::int64_t d = 0; d < documents; ++d) {
            const std::int64_t row = batch_.rows[d];
            streams_[d] =
                Stream(key(key(s_.seed, static_cast<std::uint64_t>(number_)), static_cast<std::uint64_t>(seen + row)));
            std::copy_n(targets.signs + row * targets.stride, s_.tasks, &samples_.signs[d * s_.tasks]);
            samples_.weights[d] = targets.weights[row];
        }
    }

    // Every inner round starts from the state before the batch.
    void restart() {
        const int K = s_.topics;
        totals_.assign(state_.totals, state_.totals + K);
        if (state_.precision) precision_.assign(state_.precision, state_.precision + s_.tasks * K * K);
        shift_.assign(state_.shift, state_.shift + s_.tasks * K);
        if (state_.sticks) sticks_.assign(state_.sticks, state_.sticks + 2 * K);
    }

    void end_batch() {
        const int K = s_.topics;
        for (std::size_t u = 0; u < batch_.vocabulary.size(); ++u)
            std::copy_n(&counts_[u * K], K, state_.counts + batch_.vocabulary[u] * state_.stride);
        std::copy(totals_.begin(), totals_.end(), state_.totals);
        if (state_.precision) std::copy(precision_.begin(), precision_.end(), state_.precision);
        std::copy(shift_.begin(), shift_.end(), state_.shift);
        if (state_.sticks) std::copy(sticks_.begin(), sticks_.end(), state_.sticks);
    }

    void gather() {
        before_.resize(batch_.vocabulary.size() * s_.topics);
        for (std::size_t u = 0; u < batch_.vocabulary.size(); ++u)
            std::copy_n(state_.counts + batch_.vocabulary[u] * state_.stride, s_.topics, &before_[u * s_.topics]);
    }

    bool known(std::int32_t word) const {
        const double* counts = state_.counts + word * state_.stride;
        return std::any_of(counts, counts + s_.topics, [](double count) { return count > 0.0; });
    }

    std::uint64_t content_key(const Bags& bags, std::int64_t row) const {
        std::uint64_t k = key(s_.seed, static_cast<std::uint64_t>(number_));
        for (std::int64_t i = bags.start[row]; i < bags.start[row + 1]; ++i)
            if (bags.counts[i] > 0)
                k = key(key(k, static_cast<std::uint64_t>(bags.words[i])), static_cast<std::uint64_t>(bags.counts[i]));
        return k;
    }

    // alpha for every topic, or a exp(E log of the stick's fraction) (truncated stick breaking).
    void set_prior(const double* sticks) {
        std::fill(prior_.begin(), prior_.end(), 0.0);
        double log_rest = 0.0;
        for (int k = 0; k < s_.topics; ++k) {
            prior_[k] = s_.document_prior;
            if (!sticks) continue;
            const double u = sticks[k], v = sticks[s_.topics + k], both = digamma(u + v);
            prior_[k] *= std::exp(digamma(u) - both + log_rest);
            log_rest += digamma(v) - both;
        }
    }

    void set_moments(Team& team) {
        const int K = s_.topics;
        team.run(s_.tasks, [&](std::int64_t t, int) {
            if (s_.classifier.gibbs)
                moments_[t].from_natural(&precision_[t * K * K], &shift_[t * K], K);
            else
                std::copy_n(&shift_[t * K], K, moments_[t].mean.begin());
        });
    }

    void start(const Words& document, Sampler& sampler, Stream& random) const {
        for (int i = 0; i < document.size; ++i) document.topics[i] = random.below(s_.topics);
        sampler.count(document);
    }

    void sample(std::int64_t d, bool first, Worker& worker) {
        const Words document = batch_.document(d);
        if (first)
            start(document, worker.sampler, streams_[d]);
        else
            worker.sampler.count(document);
        if (first && s_.classifier.gibbs) redraw_lambda(d, document, worker.sampler);
        if (!tables_.empty()) std::fill_n(&tables_[d * s_.topics], s_.topics, 0.0);
        for (int i = 0; i < s_.burn_in + s_.samples; ++i) {
            const Conditional given =
                s_.classifier.gibbs ? given_gibbs(d, document.size, worker) : given_averaging(d, document.size, worker);
            worker.sampler.sweep(document, likelihood_.table(), given, streams_[d]);
            if (s_.classifier.gibbs) redraw_lambda(d, document, worker.sampler);
            if (i >= s_.burn_in) keep(d, i - s_.burn_in, document, worker.sampler);
        }
    }

    void redraw_lambda(std::int64_t d, const Words& document, const Sampler& sampler) {
        for (int t = 0; t < s_.tasks; ++t) {
            const double* counts = sampler.counts();
            lambda_[d * s_.tasks + t] =
                draw_lambda(s_.classifier, samples_.signs[d * s_.tasks + t], moments_[t].score(counts, document.size),
                            moments_[t].score_variance(counts, document.size, s_.topics), streams_[d]);
        }
    }

    Conditional given_gibbs(std::int64_t d, int n, Worker& worker) const {
        const double c = s_.classifier.c, epsilon = s_.classifier.epsilon;
        std::fill_n(worker.linear.begin(), s_.topics, 0.0);
        std::fill(worker.matrix.begin(), worker.matrix.end(), 0.0);
        double scale = 1.0;
        for (int t = 0; t < s_.tasks; ++t) {
            const double lambda = lambda_[d * s_.tasks + t], sign = samples_.signs[d * s_.tasks + t];
            const double linear = sign * c * (c * epsilon + lambda) / (n * lambda);
            const double quadratic = c * c / (static_cast<double>(n) * n * lambda);
            const Moments& m = moments_[t];
            for (int k = 0; k < s_.topics; ++k)
                worker.linear[k] += linear * m.mean[k] - 0.5 * quadratic * m.second[k * size_ + k];
            if (s_.tasks == 1)
                scale = quadratic;
            else
                for (int i = 0; i < size_ * size_; ++i) worker.matrix[i] += quadratic * m.second[i];
        }
        return {prior_.data(), worker.linear.data(), s_.tasks == 1 ? moments_[0].second.data() : worker.matrix.data(),
                scale};
    }

    Conditional given_averaging(std::int64_t d, int n, Worker& worker) const {
        std::fill_n(worker.linear.begin(), s_.topics, 0.0);
        for (int t = 0; t < s_.tasks; ++t) {
            // tau is for all copies of the document, step_size times its weight; this is one of them
            const double tau = tau_[d * s_.tasks + t] / (s_.classifier.step_size * samples_.weights[d]);
            const double factor = tau * samples_.signs[d * s_.tasks + t] / n;
            for (int k = 0; factor != 0.0 && k < s_.topics; ++k) worker.linear[k] += factor * moments_[t].mean[k];
        }
        return {prior_.data(), worker.linear.data(), nullptr, 0.0};
    }

    void keep(std::int64_t d, int sample, const Words& document, const Sampler& sampler) {
        const auto first = static_cast<std::size_t>(document.topics - batch_.topics.data());
        std::copy_n(document.topics, document.size, &kept_topics_[batch_.topics.size() * sample + first]);
        double* z = samples_.at(d, sample);
        for (int k = 0; k < s_.topics; ++k) z[k] = sampler.counts()[k] / document.size;
        for (int t = 0; t < s_.tasks && s_.classifier.gibbs; ++t)
            samples_.inverse_lambda[(d * s_.samples + sample) * s_.tasks + t] = 1.0 / lambda_[d * s_.tasks + t];
        if (!tables_.empty()) add_tables(&tables_[d * s_.topics], sampler.counts());
    }

    // E[tables of topic k | C] = g (digamma(g + C) - digamma(g)), g = a G_k
    void add_tables(double* tables, const double* counts) const {
        for (int k = 0; k < s_.topics; ++k)
            for (int i = 0; i < counts[k]; ++i) tables[k] += prior_[k] / (prior_[k] + i);
    }

    void update(Team& team) {
        restart();
        update_topics();
        if (state_.sticks) update_sticks();
        if (s_.classifier.gibbs)
            team.run(s_.tasks, [&](std::int64_t t, int) {
                const int K = s_.topics;
                add_gibbs(s_.classifier, samples_, static_cast<int>(t), &precision_[t * K * K], &shift_[t * K]);
            });
        else
            update_means(team);
    }

    void update_topics() {
        const int K = s_.topics;
        std::vector<double> tokens(counts_.size(), 0.0);
        for (std::int64_t d = 0; d < batch_.documents(); ++d) {
            const Words document = batch_.document(d);
            const auto first = static_cast<std::size_t>(document.topics - batch_.topics.data());
            for (int sample = 0; sample < s_.samples; ++sample) {
                const std::int32_t* topics = &kept_topics_[batch_.topics.size() * sample + first];
                for (int i = 0; i < document.size; ++i)
                    tokens[static_cast<std::int64_t>(document.words[i]) * K + topics[i]] += samples_.weights[d];
            }
        }
        const double part = s_.classifier.step_size / s_.samples;
        std::vector<double> sums(K, 0.0);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            counts_[i] = before_[i] + part * tokens[i];
            sums[i % K] += tokens[i];
        }
        for (int k = 0; k < K; ++k) totals_[k] += part * sums[k];
    }

    void update_sticks() {
        const int K = s_.topics;
        const double part = s_.classifier.step_size / s_.samples;
        double later = 0.0;
        for (int k = K - 1; k >= 0; --k) {
            double sum = 0.0;
            for (std::int64_t d = 0; d < batch_.documents(); ++d) sum += samples_.weights[d] * tables_[d * K + k];
            sticks_[k] += part * sum;
            sticks_[K + k] += part * later;
            later += sum;
        }
    }

    void update_means(Team& team) {
        const int K = s_.topics;
        std::vector<double> proportions(batch_.documents() * K, 0.0);
        for (std::int64_t d = 0; d < batch_.documents(); ++d)
            for (int i = 0; i < s_.samples; ++i)
                for (int k = 0; k < K; ++k) proportions[d * K + k] += samples_.at(d, i)[k] / s_.samples;
        team.run(s_.tasks, [&](std::int64_t t, int) {
            DualAscent::run(s_.classifier, samples_, proportions, static_cast<int>(t), &shift_[t * K], &tau_[t]);
        });
    }
};

}  // namespace confidently
