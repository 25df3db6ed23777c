"""Progressive validation, comparisons of rules, metrics and active learning."""
