"""What requests do: with rows, labels, answers, models and the directory."""
