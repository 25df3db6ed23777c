"""What the papers' reports are made of."""
