"""Views: what a learner sees of a row, the third choice beside the rule and the covariance."""
