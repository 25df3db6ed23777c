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
        for (auto* v : {&alpha, &zeta, &tried_, &direction_, &inverse_, &p_})
            v->assign(static_cast<std::size_t>(n), 0.0);
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

    struct Newton {
        double decrement;  // the squared length of the direction in the metric of the curvature
        double range;      // of what it changes the scores by, over the classes
    };

    // Probabilities p of the scores after a step; returns F.
    double evaluate(const std::vector<double>& step) {
        double top = -HUGE_VAL, total = 0.0, rest = 0.0, quadratic = 0.0;
        for (int k = 0; k < n_; ++k) {
            const double moved = variance_[k] * step[k];
            p_[k] = mean_[k] + moved;
            quadratic += moved * step[k];
            top = std::max(top, p_[k]);
        }
        const double own = p_[truth_];
        for (int k = 0; k < n_; ++k) {
            p_[k] = std::exp(p_[k] - top);
            total += p_[k];
            if (k != truth_) rest += p_[k];
        }
        const double by = 1.0 / total;  // a division of each takes as long as the exponentials
        for (int k = 0; k < n_; ++k) p_[k] *= by;
        others_ = rest * by;
        return 0.5 * quadratic + w_ * (top - own + std::log(total));
    }

    // The direction of Newton's method, from (I + w (diag(p) - p p') V) direction = w ([k = y] - p_k) - alpha_k. The
    // matrix is a diagonal A minus one of rank 1; by the formula of Sherman and Morrison, with 1 - sum_k w p_k^2
    // v_k/A_k written as sum_k p_k/A_k, in which nothing cancels.
    Newton solve() {
        double product = 0.0, share = 0.0;
        for (int k = 0; k < n_; ++k) {
            inverse_[k] = 1.0 / (1.0 + w_ * p_[k] * variance_[k]);  // of A
            direction_[k] = residual(k) * inverse_[k];
            product += p_[k] * variance_[k] * direction_[k];
            share += p_[k] * inverse_[k];
        }
        const double common = product / share;
        double low = HUGE_VAL, high = -HUGE_VAL, decrement = 0.0;
        for (int k = 0; k < n_; ++k) {
            direction_[k] += w_ * p_[k] * common * inverse_[k];
            const double change = variance_[k] * direction_[k];
            decrement += change * residual(k);
            low = std::min(low, change);
            high = std::max(high, change);
        }
        return {decrement, high - low};
    }

    double residual(int k) const { return w_ * (k == truth_ ? others_ : -p_[k]) - alpha[k]; }

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

    std::vector<double> tried_, direction_, inverse_, p_;
    const double *mean_, *variance_;
    double w_, others_;  // others_: 1 - p of the true class, without cancellation
    int n_, truth_;
};

}  // namespace confidently
