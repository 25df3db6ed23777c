"""The binary cache of parsed data."""
