"""An index against plain evaluation: derived events, ratification, similarity, redundancy."""
