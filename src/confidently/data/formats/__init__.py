"""The formats that are read."""
