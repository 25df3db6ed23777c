// A covariance over the arrays of a state, whatever its type: what trains it and predicts with it. The types meet here,
// so that everything behind these calls is compiled once for each covariance, and nothing before them depends on one.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <variant>

#include "learner/learn_avx2.hpp"
#include "learner/predict.hpp"
#include "learner/predict_sparse.hpp"
#include "tasks/table.hpp"

namespace confidently {

class AnyLearner {
  public:
    virtual ~AnyLearner() = default;

    // Trains on the rows of a batch. Throws std::invalid_argument if the covariance does not serve the task, and
    // InvalidRow.
    virtual void learn(AnyTask& task, const AnyRule& rule, const Training& training) = 0;

    // Of all rows; predict.hpp describes them.
    virtual void scores(const Inspector& inspector, std::int64_t n_seen, double* out) const = 0;
    virtual void moderated(const Inspector& inspector, std::int64_t n_seen, double prior_variance, bool several,
                           bool independent, double* plain, double* out) const = 0;

    // The column of the best score of every row, where the covariance finds it without the scores of all; the first of
    // equal ones.
    virtual void best(const Inspector& inspector, std::int64_t n_seen, std::int32_t* out) const = 0;

    // (rows x columns) variances of the scores; against >= 0: of the score minus that column's score
    void variances(const Rows& rows, int against, double* out) const {
        each_row(rows, [&](std::int64_t i, const Row& row) { row_variances(row, against, out + i * columns); });
    }

    // For each row the variance of the difference between its two best scores.
    void top_variances(const Rows& rows, const double* scores, bool independent, double* out) const {
        each_row(rows, [&](std::int64_t i, const Row& row) {
            out[i] = top_variance(*this, columns, row, scores + i * columns, independent);
        });
    }

    // Of one row, which has the intercept if the weights do; scratch: one number per column.
    virtual void prediction(const Row& row, std::int64_t n_seen, double* out, double* scratch) const = 0;
    virtual double variance(const Row& row, Pair pair) const = 0;
    virtual void row_variances(const Row& row, int against, double* out) const {
        for (int k = 0; k < columns; ++k) out[k] = k == against ? 0.0 : variance(row, {k, against});
    }

    const int columns;
    const std::int64_t n_features;  // the intercept included
    const bool intercept;

  protected:
    template <class AnyWeights>
    explicit AnyLearner(const AnyWeights& weights)
        : columns(weights.columns), n_features(weights.n_features), intercept(weights.intercept) {}

  private:
    template <class F>
    void each_row(const Rows& rows, F&& f) const {
        RowBuffer buffer;
        for (std::int64_t i = 0; i < rows.n_rows; ++i) f(i, rows.at(i, intercept, buffer));
    }
};

template <class Covariance, class Real>
class LearnerOf final : public AnyLearner {
  public:
    explicit LearnerOf(const Covariance& covariance) : AnyLearner(covariance.weights), covariance_(covariance) {}

    void learn(AnyTask& task, const AnyRule& rule, const Training& training) override {
        std::visit([&]<class Task>(Task& one) {
            if constexpr (kServes<Covariance, Task>)
                learn_rows<Real>(covariance_, one, rule, training);
            else
                throw std::invalid_argument("this covariance does not serve the task");
        }, task);
    }

    void scores(const Inspector& inspector, std::int64_t n_seen, double* out) const override {
        predict_scores(covariance_.weights, inspector, n_seen, out);
    }

    void moderated(const Inspector& inspector, std::int64_t n_seen, double prior_variance, bool several,
                   bool independent, double* plain, double* out) const override {
        predict_moderated(covariance_, inspector, n_seen, prior_variance, several, independent, plain, out);
    }

    void best(const Inspector& inspector, std::int64_t n_seen, std::int32_t* out) const override {
        if constexpr (GathersColumns<Covariance>)
            predict_best(covariance_.weights, inspector, n_seen, out);
        else
            throw std::invalid_argument("this covariance scores all columns");
    }

    void prediction(const Row& row, std::int64_t n_seen, double* out, double* scratch) const override {
        covariance_.weights.prediction(row, n_seen, out, scratch);
    }

    double variance(const Row& row, Pair pair) const override { return covariance_.variance(row, pair); }

    void row_variances(const Row& row, int against, double* out) const override {
        if constexpr (requires { covariance_.all_variances(row, out); })
            covariance_.all_variances(row, out);
        else
            AnyLearner::row_variances(row, against, out);
    }

  private:
    Covariance covariance_;
};

}  // namespace confidently
