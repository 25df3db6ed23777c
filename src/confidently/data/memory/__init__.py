"""Matrices, data frames and labels in memory."""
