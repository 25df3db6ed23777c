"""Hypothesis without chance and without clocks: the same examples everywhere."""

from hypothesis import settings

settings.register_profile("confidently", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("confidently")
