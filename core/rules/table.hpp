// The rules: each answers, from the margin m and its variance v alone, how to move the Gaussian.
// docs/mathematics.md states every formula with its source. w is the weight of the example: it multiplies the
// loss where the rule has one (C -> wC, r -> r/w, c -> wc); a hard rule's step is weighted as a whole.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rules/bayesian.hpp"
#include "rules/confidence_weighted.hpp"
#include "rules/ellipsoid.hpp"
#include "rules/passive_aggressive.hpp"

namespace confidently {

// The only list of rules.
using AnyRule = std::variant<Perceptron, PA, PA1, PA2, SOP, CWStdev, CWVar, AROW, SCW1, SCW2, NHERD, CELLIP, IELLIP,
                             BayesPA, GibbsPA, GibbsPAExact, Probit>;

// The step of a rule; updates is the number of steps its learner has made so far. Steps that over- or underflowed
// (margins and variances beyond any real data) are no steps.
inline Step step(const AnyRule& rule, double m, double v, double w, double updates) {
    const Step s = std::visit(
        [=](const auto& r) {
            if constexpr (requires { r(m, v, w, updates); })
                return r(m, v, w, updates);
            else
                return r(m, v, w);
        },
        rule);
    return std::isfinite(s.alpha) && std::isfinite(s.zeta) && s.scale > 0.0 && std::isfinite(s.scale) ? s : Step{};
}

template <class R>
R rule_from(const std::vector<double>& p) {
    if (p.size() != static_cast<std::size_t>(R::parameters)) throw std::invalid_argument("wrong number of rule parameters");
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return R{p[I]...}; }(
        std::make_index_sequence<R::parameters>{});
}

inline AnyRule make_rule(const std::string& name, const std::vector<double>& parameters) {
    AnyRule rule;
    const bool found = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return ((name == std::variant_alternative_t<I, AnyRule>::name &&
                 (rule = rule_from<std::variant_alternative_t<I, AnyRule>>(parameters), true)) ||
                ...);
    }(std::make_index_sequence<std::variant_size_v<AnyRule>>{});
    if (!found) throw std::invalid_argument("no rule is called " + name);
    return rule;
}

inline std::vector<std::string> rule_names() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
        return std::vector<std::string>{std::variant_alternative_t<I, AnyRule>::name...};
    }(std::make_index_sequence<std::variant_size_v<AnyRule>>{});
}

}  // namespace confidently
