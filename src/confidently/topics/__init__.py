"""Online max-margin topic models."""
