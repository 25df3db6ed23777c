"""How commands train: passes, checkpoints, holdouts."""
