"""Criteria and events drawn from a seed."""

from typing import Any

from remuda.workload.ads import Ads
from remuda.workload.begen import BEGen
from remuda.workload.mustang import Mustang
from remuda.workload.qgrams import Keywords, QGrams
from remuda.workload.vldb import VLDB

# the generators of columns, by the names that benchmarks and `remuda generate` use
KINDS: dict[str, Any] = {
    "ads": Ads,
    "begen": BEGen,
    "keywords": Keywords,
    "mustang": Mustang,
    "qgrams": QGrams,
    "vldb": VLDB,
}
