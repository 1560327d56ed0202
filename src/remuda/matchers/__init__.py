"""How it is found: one file per algorithm."""
