"""The ways to store Sigma, one file per covariance, and the table of them."""
