// The rule `logistic` for all classes at once: the likelihood of an example is the softmax of the scores of the
// classes, and the Gaussian moves to the mode of the posterior. Along the example only the scores matter: with means
// m_k and variances v_k, whose classes are independent, the step alpha minimizes
//   F(alpha) = sum_k v_k alpha_k^2 / 2 + w (log sum_k exp(m_k + v_k alpha_k) - (m_y + v_y alpha_y)),
// so that alpha_k = w ([k = y] - p_k) with the probabilities p after the step. The log-likelihood bends by
// w (diag(p) - p p') there, of which each class keeps its own entry: zeta_k = w p_k (1 - p_k).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace confidently {

class SoftmaxStep {
  public:
    std::vector<double> alpha, zeta;

    // mean, variance: of the scores of n classes. Returns false if nothing finite was found.
    bool operator()(const double* mean, const double* variance, int n, int truth, double w) {
        mean_ = mean, variance_ = variance, n_ = n, truth_ = truth, w_ = w;
        for (auto* v : {&alpha, &zeta, &tried_, &direction_, &residual_, &inverse_, &before_, &p_})
            v->assign(static_cast<std::size_t>(n), 0.0);
        top_before_ = *std::max_element(mean, mean + n);
        for (int k = 0; k < n; ++k) before_[k] = std::exp(mean[k] - top_before_);
        double value = evaluate(alpha);
        for (int i = 0; i < kMaxIterations && std::isfinite(value); ++i) {
            const Newton newton = solve();
            if (!std::isfinite(newton.range)) return false;
            if (!(newton.decrement > 0.0)) break;
            value = descend(value, newton);
            if (newton.range <= kConverged) break;
        }
        bool finite = std::isfinite(value);
        for (int k = 0; k < n; ++k) {
            zeta[k] = w * p_[k] * (k == truth ? others_ : 1.0 - p_[k]);
            finite &= std::isfinite(alpha[k]) && std::isfinite(zeta[k]);
        }
        return finite;
    }

  private:
    static constexpr int kMaxIterations = 100;
    static constexpr double kConverged = 1e-6;   // the error of Newton's method is about the square of its last step
    static constexpr double kSufficient = 0.25;  // fraction of the decrease that a linear F would have
    static constexpr double kMaxFactor = 1e100;  // of what multiplies exponentials
    static constexpr double kSmall = 0x1p-10;    // where exp(x) is five terms of its series to the last bit

    struct Newton {
        double decrement;  // the squared length of the direction in the metric of the curvature
        double range;      // of what it changes the scores by, over the classes
    };

    // Probabilities p of the scores after a step; returns F.
    double evaluate(const std::vector<double>& step) {
        double top = -HUGE_VAL, total = 0.0, rest = 0.0, quadratic = 0.0;
        for (int k = 0; k < n_; ++k) {
            const double moved = variance_[k] * step[k];
            p_[k] = moved;
            quadratic += moved * step[k];
            top = std::max(top, mean_[k] + moved);
        }
        const double own = mean_[truth_] + p_[truth_], fallen = std::exp(top_before_ - top);
        const double small = fallen < kMaxFactor ? kSmall : 0.0;  // 0 times infinity is no probability
        for (int k = 0; k < n_; ++k) {                            // of thousands of classes most hardly move
            const double x = p_[k];
            p_[k] = std::fabs(x) < small
                        ? before_[k] * fallen * (1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0)))))
                        : std::exp(mean_[k] + x - top);
            total += p_[k];
            if (k != truth_) rest += p_[k];
        }
        const double by = 1.0 / total;
        for (int k = 0; k < n_; ++k) p_[k] *= by;
        others_ = rest * by;
        return 0.5 * quadratic + w_ * (top - own + std::log(total));
    }

    // The direction of Newton's method, from (I + w (diag(p) - p p') V) direction = w ([k = y] - p_k) - alpha_k. The
    // matrix is a diagonal A minus one of rank 1; by the formula of Sherman and Morrison, with 1 - sum_k w p_k^2
    // v_k/A_k written as sum_k p_k/A_k, in which nothing cancels.
    Newton solve() {
        const int n = n_;
        const double w = w_, *p = p_.data(), *variance = variance_;
        double *direction = direction_.data(), *residual = residual_.data(), *inverse = inverse_.data();
        for (int k = 0; k < n; ++k) residual[k] = -w * p[k] - alpha[k];
        residual[truth_] = w * others_ - alpha[truth_];
        for (int k = 0; k < n; ++k) inverse[k] = 1.0 / (1.0 + w * p[k] * variance[k]);  // of A
        double product = 0.0, share = 0.0;
        for (int k = 0; k < n; ++k) {
            product += p[k] * variance[k] * residual[k] * inverse[k];
            share += p[k] * inverse[k];
        }
        const double common = w * product / share;
        for (int k = 0; k < n; ++k) direction[k] = (residual[k] + common * p[k]) * inverse[k];
        double low = HUGE_VAL, high = -HUGE_VAL, decrement = 0.0;
        for (int k = 0; k < n; ++k) {
            const double change = variance[k] * direction[k];
            decrement += change * residual[k];
            low = std::min(low, change);
            high = std::max(high, change);
        }
        return {decrement, high - low};
    }

    // Moves along the direction, by a whole step or as large a fraction of it as lowers F enough; returns F. Along a
    // direction that changes the scores by values of range r, the curvature of F grows at most by exp(r t), because the
    // third cumulant of a distribution is at most its range times its variance. So log(1 + r)/r of a Newton step never
    // passes the minimum. The search ends there, even where rounding hides how much F falls.
    double descend(double before, const Newton& newton) {
        const double safe = newton.range > 0.0 ? std::log1p(newton.range) / newton.range : 1.0;
        for (double t = 1.0;; t = std::max(0.25 * t, safe)) {
            for (int k = 0; k < n_; ++k) tried_[k] = alpha[k] + t * direction_[k];
            const double value = evaluate(tried_);
            if (value <= before - kSufficient * t * newton.decrement || t <= safe) {
                alpha.swap(tried_);
                return value;
            }
        }
    }

    std::vector<double> tried_, direction_, residual_, inverse_, p_;
    std::vector<double> before_;  // exponentials of the scores before the step, less the largest of them
    const double *mean_, *variance_;
    double w_, top_before_, others_;  // others_: 1 - p of the true class, without cancellation
    int n_, truth_;
};

}  // namespace confidently
