// The rules: each computes, from the margin m and its variance v alone, the step of the Gaussian. docs/mathematics.md
// states every formula with its source. w is the weight of the example: it multiplies the loss where the rule has one
// (C -> wC, r -> r/w, c -> wc); the step of a hard rule is multiplied by min(w, 1). No weight leads beyond what the
// rule asks for. A rule is a struct, entered in the list at the end of its header, with
//   name         what Python calls it
//   parameters   how many numbers it has; its members, in this order, are given by Rule.core_parameters of Python
//   rescales     true if its steps have a scale other than 1; missing otherwise
//   operator()(m, v, w) or, for a rule that counts its updates, operator()(m, v, w, updates)
// The rules of regression.hpp have a target instead: operator()(s, v, y, w).
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "rules/bayesian.hpp"
#include "rules/confidence_weighted.hpp"
#include "rules/ellipsoid.hpp"
#include "rules/passive_aggressive.hpp"
#include "rules/regression.hpp"

namespace confidently {

template <class... A, class... B, class... C, class... D, class... E>
std::variant<A..., B..., C..., D..., E...> any_of(RuleList<A...>, RuleList<B...>, RuleList<C...>, RuleList<D...>,
                                                  RuleList<E...>);

// Any of the rules, in the order of Python's RULES and REGRESSION_RULES.
using AnyRule = decltype(any_of(PassiveAggressiveRules(), ConfidenceWeightedRules(), EllipsoidRules(), BayesianRules(),
                                RegressionRules()));

template <class R>
inline constexpr bool kRescales = requires { R::rescales; };
template <class R>
inline constexpr bool kHasTarget = requires { R::target; };
template <class R>
inline constexpr bool kHasLogLink = requires { R::log_link; };
template <class R>
inline constexpr bool kFixed = requires { R::fixed; };

// Whether the steps of a rule have a scale other than 1.
inline bool rescales(const AnyRule& rule) {
    return std::visit([](const auto& r) { return kRescales<std::decay_t<decltype(r)>>; }, rule);
}

// A step that over- or underflowed (for a margin or variance beyond any real data) is no step.
inline Step finite(const Step& s) {
    return std::isfinite(s.alpha) && std::isfinite(s.zeta) && s.scale > 0.0 && std::isfinite(s.scale) ? s : Step{};
}

// The step of a rule; updates is the number of updates of its learner so far.
template <class R>
Step step(const R& rule, double m, double v, double w, double updates) {
    Step s;
    if constexpr (kHasTarget<R>)
        s = rule(m, v, 1.0, w);
    else if constexpr (requires { rule(m, v, w, updates); })
        s = rule(m, v, w, updates);
    else
        s = rule(m, v, w);
    if (!kRescales<R> && s.scale != 1.0)  // the compiler proves it for rules that leave the scale alone
        throw std::logic_error(std::string(R::name) + " has a scale: it must declare rescales = true");
    return finite(s);
}

// The step of a rule that has a target.
template <class R>
Step step_to(const R& rule, double s, double v, double y, double w) {
    if constexpr (kHasTarget<R>)
        return finite(rule(s, v, y, w));
    else
        throw std::invalid_argument(std::string(R::name) + " has no target");
}

inline Step step(const AnyRule& rule, double m, double v, double w, double updates) {
    return std::visit([=](const auto& one) { return step(one, m, v, w, updates); }, rule);
}

inline Step step_to(const AnyRule& rule, double s, double v, double y, double w) {
    return std::visit([=](const auto& one) { return step_to(one, s, v, y, w); }, rule);
}

inline bool has_target(const AnyRule& rule) {
    return std::visit([](const auto& r) { return kHasTarget<std::decay_t<decltype(r)>>; }, rule);
}

template <class R>
R rule_from(const std::vector<double>& p) {
    if (p.size() != static_cast<std::size_t>(R::parameters))
        throw std::invalid_argument("wrong number of parameters of the rule");
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return R{p[I]...};
    }(std::make_index_sequence<R::parameters>{});
}

inline AnyRule make_rule(const std::string& name, const std::vector<double>& parameters) {
    AnyRule rule;
    const bool found = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return ((name == std::variant_alternative_t<I, AnyRule>::name &&
                 (rule = rule_from<std::variant_alternative_t<I, AnyRule>>(parameters), true)) ||
                ...);
    }(std::make_index_sequence<std::variant_size_v<AnyRule>>{});
    if (!found) throw std::invalid_argument("unknown rule " + name);
    return rule;
}

inline std::vector<std::string> rule_names() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
        return std::vector<std::string>{std::variant_alternative_t<I, AnyRule>::name...};
    }(std::make_index_sequence<std::variant_size_v<AnyRule>>{});
}

}  // namespace confidently
