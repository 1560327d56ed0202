"""The command line: the only room that prints."""

from remuda.cli.app import main

__all__ = ["main"]
