"""Zones and years in which Java's clocks and a time zone database's differ, or two databases'."""

from __future__ import annotations

from typing import NamedTuple


class _Years(NamedTuple):
    first: int
    end: int


# Zones that databases may have as other names of others: Java keeps their own clocks until a year.
_OWN_CLOCKS_UNTIL = """
1901 Asia/Kuala_Lumpur Pacific/Funafuti Pacific/Wake Pacific/Wallis
1909 Africa/Bujumbura Africa/Harare Africa/Lusaka EST
1913 Africa/Lome Africa/Ouagadougou America/Cayman
1920 Africa/Bangui Africa/Brazzaville Africa/Douala Africa/Kinshasa Africa/Libreville Africa/Luanda
1920 Asia/Muscat Indian/Mahe Indian/Reunion
1921 Africa/Lubumbashi Indian/Christmas
1926 Africa/Blantyre
1936 Africa/Kigali Africa/Porto-Novo
1942 Africa/Dakar Africa/Freetown America/Atikokan
1943 Africa/Addis_Ababa Africa/Asmara Africa/Banjul Africa/Djibouti America/Blanc-Sablon
1943 Europe/Monaco Indian/Comoro Indian/Mayotte
1945 Africa/Gaborone Africa/Maseru Africa/Mbabane Asia/Bahrain Europe/Guernsey Europe/Jersey
1945 Europe/Luxembourg Pacific/Saipan
1946 America/Anguilla America/Dominica America/Grenada America/Guadeloupe America/Montserrat
1946 America/Port_of_Spain America/St_Kitts America/St_Lucia America/St_Thomas America/St_Vincent
1946 America/Tortola Asia/Brunei Asia/Phnom_Penh Europe/Ljubljana Europe/Sarajevo Europe/Skopje
1946 Europe/Zagreb Indian/Cocos Pacific/Chuuk Pacific/Pohnpei
1947 CET Europe/Amsterdam MET
1950 Asia/Aden Asia/Kuwait Europe/Copenhagen Europe/Stockholm HST
1952 America/Antigua Atlantic/St_Helena
1957 Africa/Accra Africa/Kampala Africa/Mogadishu Antarctica/DumontDUrville Antarctica/McMurdo
1957 Asia/Vientiane Indian/Antananarivo Pacific/Midway
1961 Africa/Bamako Africa/Conakry Africa/Dar_es_Salaam Africa/Niamey Africa/Nouakchott
1961 Antarctica/Syowa Indian/Kerguelen
1966 Africa/Malabo America/Aruba America/Curacao America/Nassau Europe/Oslo
1970 America/Creston Atlantic/Reykjavik CST6CDT EST5EDT MST MST7MDT PST8PDT Pacific/Majuro
1981 EET
1997 WET
"""
_OTHER_CLOCKS = {
    name: _Years(1900, int(line.split()[0]))
    for line in _OWN_CLOCKS_UNTIL.strip().splitlines()
    for name in line.split()[1:]
} | {
    # when Iran left daylight saving, and its half hour for good, editions date differently
    name: _Years(1977, 1980)
    for name in ("Asia/Tehran", "Iran")
}

# Their winter time is below the standard, or follows the moon; Java's tables end before 2038.
_TABLES_END = frozenset(
    {"Africa/Casablanca", "Africa/El_Aaiun", "Africa/Windhoek", "Asia/Gaza", "Asia/Hebron"}
)
_LAST_OF_TABLES = 2037

# Java has another part of the same clock for standard time.
_OTHER_STANDARD = {
    "Africa/Windhoek": _Years(1990, _LAST_OF_TABLES),
    "America/Cambridge_Bay": _Years(2000, 2001),
}


def has_other_clocks(name: str, year: int) -> bool:
    """Whether the clocks of the zone may show another time than Java's."""
    if name in _TABLES_END:
        return not 1900 <= year < _LAST_OF_TABLES
    years = _OTHER_CLOCKS.get(name)
    return years is not None and years.first <= year < years.end


def has_another_standard(name: str, year: int) -> bool:
    """Whether Java may divide the same time otherwise into standard time and daylight saving.

    Until 1972 databases differ on that for any zone.
    """
    if name != "UTC" and 1900 <= year < 1972:
        return True
    years = _OTHER_STANDARD.get(name)
    return years is not None and years.first <= year < years.end
