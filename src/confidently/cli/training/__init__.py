"""Training of the commands: passes, checkpoints, held-out rows, clusters."""
