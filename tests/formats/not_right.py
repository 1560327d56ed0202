"""The cases of other systems' suites that are not right here, each with its reason."""

from __future__ import annotations

_TYPED = "an SDK's method for one type refuses a variation of another; to matching it is given"

NOT_RIGHT: dict[str, dict[str, str]] = {
    "cesql": {
        "not_operator: Invalid int cast": "the result is true together with an error; where there "
        "is an error, nothing matches here, as CESQL's filters have it",
    },
    "eventbridge": {},
    "growthbook": {},
    "launchdarkly": {
        f"errors-wrong-type: want {wanted}, got {given}": _TYPED
        for wanted, given in (
            ("bool", "number"),
            ("bool", "string"),
            ("int", "bool"),
            ("int", "string"),
            ("string", "bool"),
            ("string", "number"),
        )
    },
    "unleash": {},
}
