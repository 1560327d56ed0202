"""Named indexes, ratification, similarity."""
