"""Segments, tail, updates, top, storage."""
