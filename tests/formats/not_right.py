"""The cases of other systems' suites that are not right here, each with its reason."""

from __future__ import annotations

_TYPED = "an SDK's method for one type refuses a variation of another; to matching it is given"

_NOT_OF_HTTPS = "|ws:// begins an address of WebSockets, and the request is for https://"
_MORE = "the set says one; the rule as it is written holds for more of its events: {}"

NOT_RIGHT: dict[str, dict[str, str]] = {
    "adblock": {
        "|ws://$other,domain=pornhub.com|redtube.com|redtube.com.br|tube8.com|tube8.es|tube8.fr|"
        "xtube.com|youporn.com|youporngay.com https://": _NOT_OF_HTTPS,
        "|ws://$domain=4shared.com https://": _NOT_OF_HTTPS,
        "|ws://$other,third-party,domain=fastpic.ru https://": _NOT_OF_HTTPS,
    },
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
    "sigma": {
        "0b9ad457-2554-44c1-82c2-d56a99c42377": _MORE.format(
            "TargetFilename contains user.conf, and three events write user.conf.new twice and "
            "user.conf~RF2d9c20d.TMP; nothing in the rule tells them apart"
        ),
        "8fbf3271-1ef6-4e94-8210-03c2317947f6": _MORE.format(
            "TargetFilename ends with procdump.exe, procdump64.exe and procdump64a.exe in an event "
            "each, and all three names are in the rule's list"
        ),
        "45e112d0-7759-4c2a-aa36-9f8fb79d3393": _MORE.format(
            "https, http and * beneath one domain are set to the trusted zone (0x00000002), which "
            "the filter does not except"
        ),
        "c7dcacd0-cc59-4004-b0a4-1d6cdebe6f3e": _MORE.format(
            "AutoShareServer and AutoShareWks are both set to 0, and both are in the rule's list"
        ),
    },
    "unleash": {},
}
