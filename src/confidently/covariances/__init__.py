"""How Sigma is stored: one file per covariance, and the table of them."""
