"""Criteria and events drawn from a seed."""
