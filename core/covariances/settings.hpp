// The settings that decide how a covariance is stored.
#pragma once

namespace confidently {

struct CovarianceSettings {
    bool one_column;     // of weights, with none to spare
    bool independent;    // one covariance per column (one-vs-rest); otherwise one for all columns
    bool rule_rescales;  // the rule multiplies the whole of Sigma by a scale
    double prior_variance;
    double min_variance;  // relative to the prior variance; 0 for rules that leave every variance positive
    bool moments;         // a diagonal keeps the variances of the new Gaussian, not its precisions
    double forget;        // fraction of the evidence that one row of weight 1 makes the covariance forget
    bool pending;         // changes of a matrix wait in rows beside it

    double floor() const { return min_variance * prior_variance; }
};

}  // namespace confidently
