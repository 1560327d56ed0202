"""What generated workloads turn out to be."""

from __future__ import annotations

import numpy as np

from remuda.arrays import Bools
from remuda.encoding.generated import cnf_table, dnf_table, event_batch
from remuda.matchers.scan import CnfScan, Scan
from remuda.workload.columns import Workload


def matched(workload: Workload) -> Bools:
    """Which criteria hold, a row for each event, by SCAN over the encoded tables."""
    criteria = workload.criteria
    batch = event_batch(criteria, workload.events)
    found = np.zeros((len(batch), criteria.n_criteria), np.bool_)
    dnf = np.flatnonzero(~criteria.cnf)
    owners = np.repeat(dnf, np.diff(criteria.criterion_starts)[dnf])
    hits = Scan.build(dnf_table(criteria)).match(batch)
    found[np.repeat(np.arange(len(batch)), np.diff(hits.starts)), owners[hits.rows]] = True
    if criteria.cnf.any():
        owners = np.flatnonzero(criteria.cnf)
        hits = CnfScan.build(cnf_table(criteria)).match(batch)
        found[np.repeat(np.arange(len(batch)), np.diff(hits.starts)), owners[hits.rows]] = True
    return found


def match_share(workload: Workload) -> float:
    """The share of criteria that hold for an event, on average."""
    return float(matched(workload).mean())


def arrays_of(workload: Workload) -> list[np.ndarray]:
    parts = (workload.criteria, workload.events)
    values = [getattr(part, name) for part in parts for name in part.__slots__]
    return [value for value in values if isinstance(value, np.ndarray)]


def ascend(starts: np.ndarray, items: np.ndarray) -> bool:
    """Whether the items of each row ascend, none twice."""
    inside = np.ones(len(items), np.bool_)
    inside[starts[:-1][np.diff(starts) > 0]] = False
    return bool((np.diff(items, prepend=-1)[inside] > 0).all())
