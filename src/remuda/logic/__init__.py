"""Same meaning, other shape: negation and other normal forms, simplification."""
