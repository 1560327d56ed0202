"""Criteria and events as Spark DataFrames."""
