"""The durable side of an engine: opening it, logging what changes, saving what has changed.

A change is in the log before it is in memory, and acknowledged when the log is durable. A
checkpoint saves the indexes that changed and publishes their names with the position of the log
that each version has reached; only then is what came before removed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path

from remuda.engine.changes import Change, Delete, Drop, Pending, Put, Replace, criteria, decode
from remuda.engine.home import Entry, Home, Names
from remuda.engine.log import Log, replay
from remuda.errors import StorageError
from remuda.index import storage
from remuda.index.index import Index, load
from remuda.index.locking import Lock

_logger = logging.getLogger("remuda.engine")


@dataclass(slots=True, eq=False)
class Slot:
    """An index under a name, whatever the name; its lock is held while it changes."""

    index: Index
    number: int
    version: str | None = None  # the version that was saved last
    since: int = 0  # changes from this position of the log on are not in that version
    changed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def entry(self) -> Entry:
        scalars = sorted(map(str, self.index.scalars))
        return Entry(self.number, self.version, self.since, self.index.matcher, scalars)


class Store:
    """An engine's directory, open for writing by this process alone."""

    def __init__(self, path: Path) -> None:
        self.home = Home(path)
        self._lock = Lock(path)
        self._lock.acquire()
        try:
            if not self.home.begun():
                self.home.write(Names())
            self._published = self.home.read()
            found = _recovered(self.home, self._published)
            self.slots, self.next_index = found.slots, found.next_index
            self.log = Log(self.home.log, found.end)
            self._saved_until = -1 if found.changed else self.log.end
        except BaseException:
            self._lock.release()
            raise

    def current(self) -> bool:
        """Whether nothing was logged since the last checkpoint."""
        return self.log.end == self._saved_until

    def save(self, slot: Slot) -> bool:
        """Save the index if it has changed; whether it had."""
        with slot.lock:  # the copy keeps the state of this moment, and changes go on
            position, changed, frozen = self.log.end, slot.changed, copy(slot.index)
            slot.changed = False
        if changed:
            try:
                slot.version = frozen.save(self.home.index(slot.number))
            except BaseException:
                slot.changed = True
                raise
        slot.since = position
        return changed

    def publish(self, slots: Mapping[str, Slot], position: int, next_index: int) -> None:
        """Make the saved versions those from which the engine is opened."""
        self.log.wait(position)  # no version may be ahead of the log
        names = Names({name: slot.entry() for name, slot in slots.items()}, position, next_index)
        self.home.write(names)
        self._published, self._saved_until = names, position

    def clean(self, saved: Collection[Slot]) -> None:
        """Remove what the published names no longer need; what cannot be removed waits."""
        numbers = {entry.index for entry in self._published.names.values()}
        try:
            self.log.forget(self._published.first)
            self.home.remove_all_but(numbers)
            for slot in saved:
                path = self.home.index(slot.number)
                if path.is_dir():  # else it was dropped meanwhile
                    storage.prune(path)
        except OSError as error:
            _logger.warning("something that is no longer needed could not be removed: %s", error)

    def close(self) -> None:
        """Stop writing and let others write."""
        self.log.close()
        self._lock.release()


def opened(home: Home, entry: Entry) -> Slot:
    """An index in its saved version."""
    if entry.version is None:
        index = Index(matcher=entry.matcher, scalars=entry.scalars)
    else:
        index = load(home.index(entry.index), version=entry.version)
    return Slot(index, entry.index, entry.version, entry.since)


def _recovered(home: Home, names: Names) -> _Recovery:
    """The indexes as the log leaves them."""
    recovery = _Recovery({name: opened(home, one) for name, one in names.names.items()}, names)
    recovery.end = replay(home.log, names.first, recovery.apply)
    if recovery.end < names.position:
        reason = f"the records from position {recovery.end} on are missing"
        raise StorageError(str(home.log), reason)
    for pending in recovery.pending.values():
        pending.flush()
    return recovery


class _Recovery:
    """Indexes to which the changes of a log are made once more."""

    def __init__(self, slots: dict[str, Slot], names: Names) -> None:
        self.slots, self.next_index = slots, names.next_index
        self.pending: dict[int, Pending] = {}
        self._by_number = {slot.number: slot for slot in slots.values()}
        self._position = names.position
        self.end = 0
        self.changed = False

    def apply(self, position: int, body: memoryview) -> None:
        change = decode(body)
        if position >= self._position:
            self.changed = True
            self._rename(change)
        if not isinstance(change, Put | Delete):
            return
        slot = self._by_number.get(change.index)
        if slot is None or position < slot.since:  # dropped later, or in the saved version
            return
        slot.changed = self.changed = True
        pending = self.pending.setdefault(slot.number, Pending(slot.index))
        if isinstance(change, Put):
            pending.put(criteria(change.criteria))
        else:
            pending.delete(change.ids)

    def _rename(self, change: Change) -> None:
        """What the change does to the names."""
        if isinstance(change, Replace):
            self.slots[change.old] = self.slots.pop(change.new)
        elif isinstance(change, Drop):
            del self.slots[change.name]
        elif isinstance(change, Put) and change.made is not None:
            made = change.made
            slot = Slot(Index(matcher=made.matcher, scalars=made.scalars), change.index)
            self.slots[made.name] = self._by_number[slot.number] = slot
            self.next_index = slot.number + 1
