// The perceptron and the passive-aggressive rules, which leave the precision at its prior.
#pragma once

#include <algorithm>

#include "rules/step.hpp"

namespace confidently {

struct Perceptron {
    static constexpr const char* name = "perceptron";
    static constexpr int parameters = 0;
    Step operator()(double m, double, double w) const { return m <= 0.0 ? Step{w} : Step{}; }
};

struct PA {
    static constexpr const char* name = "pa";
    static constexpr int parameters = 0;
    Step operator()(double m, double v, double w) const { return m < 1.0 ? weighted({(1.0 - m) / v}, w) : Step{}; }
};

struct PA1 {
    static constexpr const char* name = "pa1";
    static constexpr int parameters = 1;
    double C;
    Step operator()(double m, double v, double w) const {
        return m < 1.0 ? Step{std::min(w * C, (1.0 - m) / v)} : Step{};
    }
};

struct PA2 {
    static constexpr const char* name = "pa2";
    static constexpr int parameters = 1;
    double C;
    Step operator()(double m, double v, double w) const {
        return m < 1.0 ? Step{(1.0 - m) / (v + 0.5 / (w * C))} : Step{};
    }
};

using PassiveAggressiveRules = RuleList<Perceptron, PA, PA1, PA2>;

}  // namespace confidently
