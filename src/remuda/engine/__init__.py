"""Many indexes under their names, durable."""
