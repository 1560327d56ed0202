"""Flat arrays: ragged rows, their making and their freezing."""
