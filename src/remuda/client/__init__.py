"""The engine's methods over HTTP: the only room that asks other services."""
