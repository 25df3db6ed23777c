// What a rule answers: how far to move the mean and how much precision to add along the example.
#pragma once

namespace confidently {

struct Step {
    double alpha = 0.0;       // mean       <- mean + alpha Sigma z
    double zeta = 0.0;        // Sigma^-1   <- (Sigma^-1 + zeta z z') / scale
    double scale = 1.0;
    bool infeasible = false;  // the rule wanted to act, but no classifier in the ellipsoid satisfies it

    bool acts() const { return alpha != 0.0 || zeta != 0.0; }
};

}  // namespace confidently
