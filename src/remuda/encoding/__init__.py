"""Words to numbers: dimensions, spaces, clauses, events."""
