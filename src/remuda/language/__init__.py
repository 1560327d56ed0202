"""How it is written: Criterion, and the Python, text and JSON forms."""
