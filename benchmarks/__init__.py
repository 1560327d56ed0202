"""Measurements: definitions as data, a runner, plots, dated results."""
