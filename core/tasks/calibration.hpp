// Online calibration: every margin is computed before its label is used, so the stream itself is a calibration set. A
// damped online Newton method keeps the maximum-likelihood sigmoid or temperature, and another one a correction of what
// these say (docs/mathematics.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace confidently {

// Curvature of the log-loss at the start, equivalent to about one example in favor of a = 1, b = 0.
inline constexpr double kPriorCurvature = 1.0;
// Early margins are worse than late ones: evidence decays over about 2000 examples of weight 1.
inline constexpr double kDecay = 1.0 - 1.0 / 2000.0;
inline constexpr double kMinSlope = 1e-3;         // a smaller slope would lose the order of the scores
inline constexpr double kMinProbability = 1e-15;  // in the log-loss, so that one confident mistake costs a finite loss
inline constexpr double kMaxStep = 0.5;           // of Newton's method, so that no single example ruins the fit
// Bounds of a slope and of the scores that it multiplies, so that no product of four of them and a weight overflows.
inline constexpr double kLargest = 1e30;

// No probability that is answered is exactly 0 or 1, so that its logarithm stays finite: half a unit in the last place
// below 1.
inline constexpr double kMinAnswered = 0x1p-53;

// Decay of past evidence per example of weight w.
inline double decay(double w) { return w == 1.0 ? kDecay : std::pow(kDecay, w); }

// By whether the label is the positive one. Labels are hard to foresee, so that what depends on them is looked up, not
// branched to.
inline constexpr double kSign[2] = {-1.0, 1.0}, kTarget[2] = {0.0, 1.0};

inline double sigmoid(double t) { return 1.0 / (1.0 + std::exp(-t)); }

// The probability that is answered where the logarithm of the odds is t.
inline double answered(double t) { return std::clamp(sigmoid(t), kMinAnswered, 1.0 - kMinAnswered); }

// Sums over classes that are not listed, since each of them scores below all knots of the correction. t: the score less
// the largest one, times the slope. Those whose probability is negligible are only counted.
struct Below {
    double n = 0.0, t = 0.0;                                           // how many, and the sum of t
    double mass = 0.0, mass_squared = 0.0, first = 0.0, second = 0.0;  // of e = exp(t), e^2, e t and e t^2
};

// How many classes each of n scores is of: one, ...
struct OneEach {
    static constexpr Below below{};
    int n;

    static double of(int) { return 1.0; }
    double total() const { return n; }
};

// ... or the last one of several, which score alike.
struct LastOfSeveral {
    int n;
    double last;
    Below below;

    double of(int k) const { return k == n - 1 ? last : 1.0; }
    double total() const { return n - 1 + last + below.n; }
};

// The scores of classes times a slope, moved so that the largest is 0.
inline void scaled(double slope, const double* f, int n, double* out) {
    double top = -kLargest;
    for (int k = 0; k < n; ++k) top = std::max(top, out[k] = std::clamp(f[k], -kLargest, kLargest));
    for (int k = 0; k < n; ++k) out[k] = slope * (out[k] - top);
}

// Logarithms, the largest of which is about 0, become the probabilities that are proportional to their exponentials.
// more: the sum of the exponentials of others; returns what multiplies exponentials.
template <class Classes>
double normalize_exponentials(double* t, Classes classes, double more = 0.0) {
    double total = more;
    for (int k = 0; k < classes.n; ++k) total += classes.of(k) * (t[k] = std::exp(t[k]));
    for (int k = 0; k < classes.n; ++k) t[k] /= total;
    return 1.0 / total;
}

inline void normalize_exponentials(double* t, int n) { normalize_exponentials(t, OneEach{n}); }

// A step of -u in log a, with the approximation (2 - u)/(2 + u) of exp(-u). The slope is a scale, which must stay
// positive and may be 30 as well as 0.3; hence the logarithm.
inline double stepped(double a, double u) { return std::clamp(a * (2.0 - u) / (2.0 + u), kMinSlope, kLargest); }

// Loss of a label that was predicted with probability p.
inline double log_loss(double p) { return -std::log(std::max(p, kMinProbability)); }

// t = a f + b, with P(positive) = sigmoid(t); state: a, b and the Hessian of the log-loss haa, hab, hbb.
struct Line {
    static constexpr int size = 5;
    double* state;

    static double at(const double* state, double score) {
        return state[0] * std::clamp(score, -kLargest, kLargest) + state[1];
    }
    double at(double score) const { return at(state, score); }

    // p: the probability of the positive class
    void learn(double score, bool positive, double w, double p) const {
        const double f = std::clamp(score, -kLargest, kLargest);
        double &a = state[0], &b = state[1], &haa = state[2], &hab = state[3], &hbb = state[4];
        const double g = w * (p - kTarget[positive]), h = w * p * (1.0 - p);
        const double keep = decay(w);
        haa = keep * haa + h * f * f;
        hab = keep * hab + h * f;
        hbb = keep * hbb + h;
        // Newton in (log a, b)
        const double A = a * a * haa + kPriorCurvature, B = hbb + kPriorCurvature, C = a * hab;
        const double scale = g / (A * B - C * C), u = scale * (a * f * B - C), db = scale * (A - C * a * f);
        const double size = std::max(std::fabs(u), std::fabs(db)), shrink = size > kMaxStep ? kMaxStep / size : 1.0;
        a = stepped(a, shrink * u);
        b -= shrink * db;
    }

    // Doubles the slope, for scores that have halved.
    void steepen() const {
        state[0] = std::min(2.0 * state[0], kLargest);
        state[2] *= 0.25;
        state[3] *= 0.5;
    }
};

// t_k = a (f_k - max f), with P(k) proportional to exp(t_k); state: a and the second derivative of the log-loss.
struct Slope {
    static constexpr int size = 2;
    double* state;

    void at(const double* f, int n, double* out) const { scaled(state[0], f, n, out); }

    // t: what at() says of an example's scores; p: the probabilities; by: what makes probabilities of those below
    template <class Classes>
    void learn(const double* t, Classes classes, int truth, double w, const double* p, double by = 0.0) const {
        double &a = state[0], &haa = state[1];
        const Below& below = classes.below;
        double mean = by * (below.first - t[truth] * below.mass);  // of t_k - t_truth, over the classes
        for (int k = 0; k < classes.n; ++k) mean += classes.of(k) * p[k] * (t[k] - t[truth]);
        const double center = t[truth] + mean;
        double variance = by * std::max(below.second - center * (2.0 * below.first - center * below.mass), 0.0);
        for (int k = 0; k < classes.n; ++k) {
            const double c = t[k] - t[truth] - mean;
            variance += classes.of(k) * p[k] * c * c;
        }
        haa = decay(w) * haa + w * variance / (a * a);
        const double u = w * mean / (a * a * haa + kPriorCurvature);
        a = stepped(a, std::clamp(u, -kMaxStep, kMaxStep));
    }

    void steepen() const {
        state[0] = std::min(2.0 * state[0], kLargest);
        state[1] *= 0.25;
    }
};

// Follows the size of scores. Hard rules shrink their margins by orders of magnitude where classes overlap, faster than
// the curvature of the rows before lets a slope grow; so a slope is doubled whenever scores have halved.
struct ScoreSize {
    static constexpr int size = 3;
    static constexpr double longest = 200.0;  // the size is a mean over the last rows of about this weight
    static constexpr double outlier = 4.0;    // a score counts as at most that times the size
    double* state;

    double& mean() const { return state[0]; }   // of |score|
    double& least() const { return state[1]; }  // half the size that the slope is made for
    double& rows() const { return state[2]; }   // weight of the rows so far, at most `longest`

    // Counts a score of a row of weight w; returns whether scores have halved.
    bool halved(double score, double w) const {
        const bool known = rows() >= longest;
        double f = std::min(std::fabs(score), kLargest);
        if (known && mean() > 0.0) f = std::min(f, outlier * mean());
        rows() = std::min(rows() + w, longest);
        mean() += (f - mean()) * std::min(w / rows(), 1.0);
        const bool fallen = known && mean() < least();
        if (fallen) least() *= 0.5;
        if (!known || mean() > 2.0 * least()) least() = 0.5 * mean();
        return fallen;
    }
};

// t + w(t), which increases: w is linear between knots at `first`, first + 1, ... and constant beyond them. state: w at
// the knots, and the curvature of the log-loss in each.
struct Correction {
    static constexpr double prior_curvature = 8.0;
    static constexpr double fall =
        0.95;  // of w from a knot to the next one at most, which leaves t + w(t) a slope of .05
    double* state;
    int knots;

    // After which knot, by which part of the distance to the next one.
    struct Place {
        int knot;
        double part;
    };

    static Place place(double t, double first, int knots) {
        const double from = t - first, z = from > 0.0 ? std::min(from, knots - 1.0) : 0.0;  // 0 for NaN
        const int knot = std::min(static_cast<int>(z), knots - 2);
        return {knot, z - knot};
    }

    static double added(const double* state, Place at) {
        return state[at.knot] + at.part * (state[at.knot + 1] - state[at.knot]);
    }

    // A Newton step at a knot; the curvature is that of an example, beside those before it.
    void step(int knot, double gradient, double curvature, double keep) const {
        double& h = state[knots + knot];
        h = keep * h + curvature;
        state[knot] -= std::clamp(gradient / (h + prior_curvature), -kMaxStep, kMaxStep);
    }

    // Makes t + w(t) increase again after steps at a knot and the next one.
    void increase(int knot) const {
        double &one = state[knot], &next = state[knot + 1];
        const double low = knot > 0 ? state[knot - 1] - fall : -kLargest;
        const double high = knot + 2 < knots ? state[knot + 2] + fall : kLargest;
        one = std::max(one, low);
        next = std::min(next, high);
        if (next >= one - fall) return;
        one = std::max(std::min(0.5 * (one + next + fall), high + fall), low);
        next = one - fall;
    }

    // The same after steps at any knots.
    void increase() const {
        for (int j = 1; j < knots; ++j) state[j] = std::max(state[j], state[j - 1] - fall);
    }
};

// P(positive) = sigmoid(t + w(t)), t = a f + b; state: the line, the size of the scores, and the correction. The line
// and the correction learn from the same probability, so that none of them learns what the other has learned.
struct SigmoidCalibration {
    static constexpr int knots = 14, at_map = Line::size + ScoreSize::size, size = at_map + 2 * knots;
    static constexpr double first_knot = -6.5;
    double* state;

    // What is known of an example before its label is used.
    struct Seen {
        double score, line;
        Correction::Place place;
        double logit;  // the calibrated score: the logarithm of the odds of the positive class
    };

    static Seen see(const double* state, double score) {
        const double t = Line::at(state, score);
        const Correction::Place place = Correction::place(t, first_knot, knots);
        return {score, t, place, t + Correction::added(state + at_map, place)};
    }

    Seen see(double score) const { return see(state, score); }
    static double logit(const double* state, double score) { return see(state, score).logit; }

    // p: the probability of the positive class, sigmoid(seen.logit); returns that of the label
    double learn(const Seen& seen, bool positive, double w, double p) const {
        const Correction map{state + at_map, knots};
        const double g = w * (p - kTarget[positive]), h = w * p * (1.0 - p), keep = decay(w);
        const double after = seen.place.part, before = 1.0 - after;
        map.step(seen.place.knot, g * before, h * before * before, keep);
        map.step(seen.place.knot + 1, g * after, h * after * after, keep);
        map.increase(seen.place.knot);
        return learn_line(seen, positive, w, p);
    }

    // The same without a correction; p: sigmoid(seen.line)
    double learn_line(const Seen& seen, bool positive, double w, double p) const {
        const Line line{state};
        line.learn(seen.score, positive, w, p);
        if (ScoreSize{state + Line::size}.halved(seen.score, w)) line.steepen();
        return std::fabs(kTarget[!positive] - p);
    }
};

// P(k) proportional to exp(t_k + w(t_k)), t_k = a (f_k - max f); state: the slope, the size of the scores, and the
// correction, which learn from the same probabilities.
struct TemperatureCalibration {
    static constexpr int knots = 11, at_map = Slope::size + ScoreSize::size, size = at_map + 2 * knots;
    static constexpr double first_knot = -9.5;
    static constexpr double negligible = 38.0;  // exp(-38) < 2^-54, which rounds to nothing beside 1
    double* state;

    // The distance to the largest score beyond which n classes, all together, do not change the sum of the
    // exponentials. Below the first knot, w is constant.
    double reach(double n) const {
        const double* map = state + at_map;
        const double top = Correction::added(map, Correction::place(0.0, first_knot, knots));
        return std::max(negligible + std::log(n) + map[0] - top, -first_knot) / state[0];
    }

    // Keeps those of some scores that are not below all knots, times `shrink`, and the one at a place, which is
    // updated; returns the sums over the others. top: the largest score times `shrink`
    Below take_below(std::vector<double>& scores, double shrink, double top, std::int32_t& place) const {
        Below below;
        std::size_t kept = 0;
        for (std::size_t k = 0, own = static_cast<std::size_t>(place); k < scores.size(); ++k) {
            const double score = shrink * scores[k], t = state[0] * (score - top);
            if (t < first_knot && k != own) {
                const double e = std::exp(t);
                below.n += 1.0, below.t += t;
                below.mass += e, below.mass_squared += e * e, below.first += e * t, below.second += e * t * t;
                continue;
            }
            if (k == own) place = static_cast<std::int32_t>(kept);
            scores[kept++] = score;
        }
        scores.resize(kept);
        return below;
    }

    // t: set to the scores times the slope, of which the largest is 0; p: set to the probabilities, may be t. Returns
    // what makes probabilities of the exponentials of those below all knots.
    template <class Classes>
    static double probabilities(const double* state, const double* f, Classes classes, double* t, double* p) {
        const int n = classes.n;
        scaled(state[0], f, n, t);
        const double* map = state + at_map;
        const double top = Correction::added(map, Correction::place(0.0, first_knot, knots));
        for (int k = 0; k < n; ++k)
            p[k] = t[k] + (Correction::added(map, Correction::place(t[k], first_knot, knots)) - top);
        const double lowest = classes.below.n > 0.0 ? std::exp(map[0] - top) : 0.0;
        return lowest * normalize_exponentials(p, classes, lowest * classes.below.mass);
    }

    static void probabilities(const double* state, const double* f, int n, double* t, double* p) {
        probabilities(state, f, OneEach{n}, t, p);
    }

    // f: the scores of classes; t, p: scratch space for as many numbers; truth: the number of the true class's score;
    // returns the probability of the true class before
    template <class Classes>
    double learn(const double* f, Classes classes, int truth, double w, double* t, double* p) const {
        const int n = classes.n;
        const Correction map{state + at_map, knots};
        const double by = probabilities(state, f, classes, t, p), keep = decay(w);
        const Below& below = classes.below;
        double gradient[knots] = {w * by * below.mass}, curvature[knots] = {};
        curvature[0] = gradient[0] - w * by * by * below.mass_squared;
        for (int k = 0; k < n; ++k) {
            const double each = classes.of(k) * w;
            const double g = each * (p[k] - kTarget[k == truth]), h = each * p[k] * (1.0 - p[k]);
            const auto [knot, after] = Correction::place(t[k], first_knot, knots);
            const double before = 1.0 - after;
            gradient[knot] += g * before, gradient[knot + 1] += g * after;
            curvature[knot] += h * before * before, curvature[knot + 1] += h * after * after;
        }
        for (int j = 0; j < knots; ++j)
            if (curvature[j] > 0.0 || (j == 0 && below.n > 0.0)) map.step(j, gradient[j], curvature[j], keep);
        map.increase();
        return learn_slope(t, classes, truth, w, p, by);
    }

    // The same without a correction. t: set to the scores times the slope
    double learn_line(const double* f, int n, int truth, double w, double* t, double* p) const {
        scaled(state[0], f, n, t);
        std::copy_n(t, n, p);
        normalize_exponentials(p, n);
        return learn_slope(t, OneEach{n}, truth, w, p, 0.0);
    }

  private:
    template <class Classes>
    double learn_slope(const double* t, Classes classes, int truth, double w, const double* p, double by) const {
        const Slope slope{state};
        double sum = classes.below.t;
        for (int k = 0; k < classes.n; ++k) sum += classes.of(k) * t[k];
        const double distance = -sum / state[0];  // of the scores to the largest
        slope.learn(t, classes, truth, w, p, by);
        if (ScoreSize{state + Slope::size}.halved(distance / classes.total(), w)) slope.steepen();
        return p[truth];
    }
};

// Factor of the moderated score: a margin counts for less where its variance is large relative to the prior's.
inline double moderation(double variance, double prior_variance) {
    return 1.0 / std::sqrt(1.0 + variance / prior_variance);
}

}  // namespace confidently
