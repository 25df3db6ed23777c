"""Online learners over numbers, their posterior, and training on streams and dicts."""
