"""A served model and what belongs to it: how it reads rows, learns, answers, is measured and labelled."""
