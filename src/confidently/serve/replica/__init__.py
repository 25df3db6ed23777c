"""Replicas: servers that follow the log of another one and answer questions, read-only."""
