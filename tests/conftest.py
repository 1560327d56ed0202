"""Fixtures that all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "remuda",
    deadline=None,  # compiling a kernel takes longer than any example
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
settings.load_profile("remuda")
