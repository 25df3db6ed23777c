"""Training in rounds, whoever runs them: partitions train on their cells from one base, and the results are merged."""
