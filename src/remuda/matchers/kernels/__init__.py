"""Loops that two matchers share."""
