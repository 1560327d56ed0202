"""The durable side of an engine: opening it, logging what changes, saving what has changed.

A change is in the log before it is in memory, and acknowledged when the log is durable. A
checkpoint saves the indexes that changed and publishes their names with the position of the log
that each version has reached; only then is what came before removed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from msgspec.structs import replace

from remuda.engine import aside
from remuda.engine.aside import SetAside, set_aside
from remuda.engine.changes import Change, Delete, Drop, Made, Pending, Put, Replace, decode
from remuda.engine.checkpoints import Checkpoints, Entry, Names
from remuda.engine.home import Home
from remuda.engine.log import Log, replay
from remuda.errors import StorageError
from remuda.index import storage
from remuda.index.index import Index, load
from remuda.index.locking import Lock
from remuda.index.trees import listed_trees, trees_of
from remuda.model.stacks import on_any_stack

_logger = logging.getLogger("remuda.engine")


@dataclass(slots=True, eq=False)
class Slot:
    """An index under a name, whatever the name; its lock is held while it changes."""

    index: Index
    number: int
    version: str | None = None  # the version that was saved last
    since: int = 0  # changes from this position of the log on are not in that version
    n_changes: int = 0
    n_saved: int = 0  # how many of them are in that version
    lock: threading.Lock = field(default_factory=threading.Lock)
    changed: float = field(default_factory=time.time)  # when it was, here

    def note_change(self) -> None:
        """Count a change that is about to be made."""
        self.n_changes += 1
        self.changed = time.time()

    def entry(self) -> Entry:
        scalars = sorted(map(str, self.index.scalars))
        how = self.index.matcher, scalars, listed_trees(self.index.hierarchies)
        return Entry(self.number, self.version, self.since, *how)


class Store:
    """An engine's directory, open for writing by this process alone."""

    def __init__(self, path: Path, checkpoints: str | PathLike[str] | None = None) -> None:
        self._process = os.getpid()
        self._lock = Lock(path)
        try:
            self.home = Home.at(path, checkpoints)
            self._published = self.home.begin()
            found = recovered(self.home, self._published)
            self.slots, self.next_index = found.slots, found.next_index
            self.set_aside(found.set_aside())
            self.log = Log(self.home.log, found.end)
            self._saved_until = -1 if found.changed else self.log.end
        except BaseException:
            self._lock.release()
            raise

    def current(self) -> bool:
        """Whether nothing was logged since the last checkpoint, and that saved everything."""
        return self.log.end == self._saved_until

    def save(self, slots: Mapping[str, Slot]) -> tuple[list[Slot], list[Exception]]:
        """Save the indexes that have changed; which had, and what kept any from being saved.

        One that cannot be saved stays as it was, with all its changes in the log.
        """
        saved: list[Slot] = []
        failures: list[Exception] = []
        for slot in slots.values():
            try:
                if self._save(slot):
                    saved.append(slot)
            except Exception as error:
                failures.append(error)
        return saved, failures

    def _save(self, slot: Slot) -> bool:
        with slot.lock:  # the copy keeps the state of this moment, and changes go on
            position, n_changes, frozen = self.log.end, slot.n_changes, copy(slot.index)
        version, changed = slot.version, n_changes != slot.n_saved
        if changed:
            version = frozen.save(self.home.checkpoints.index(slot.number))
        slot.version, slot.since, slot.n_saved = version, position, n_changes
        return changed

    def publish(
        self, slots: Mapping[str, Slot], position: int, next_index: int, *, complete: bool
    ) -> None:
        """Make the saved versions those from which the engine is opened."""
        self.log.wait(position)  # no version may be ahead of the log
        names = Names({name: slot.entry() for name, slot in slots.items()}, position, next_index)
        self.home.checkpoints.write(names)
        self._published, self._saved_until = names, position if complete else -1

    def clean(self, saved: Collection[Slot]) -> None:
        """Remove what the published names no longer need; what cannot be removed waits."""
        numbers = {entry.index for entry in self._published.names.values()}
        try:
            self.log.forget(self._published.first)
            checkpoints = self.home.checkpoints
            checkpoints.remove_all_but(numbers)
            for slot in saved:
                if checkpoints.has(slot.number):  # else it was dropped meanwhile
                    storage.prune(checkpoints.index(slot.number), keep=1)
        except OSError as error:
            _logger.warning("something that is no longer needed could not be removed: %s", error)

    def close(self) -> None:
        """Stop writing and let others write."""
        self.log.close()
        self._lock.release()

    def set_aside(self, found: Iterable[SetAside]) -> None:
        """Write down what could not be applied, before the log forgets it."""
        aside.warn(aside.write(self.home.set_aside, found))

    def abandon(self) -> None:
        """Write nothing more, in a fork of the process that does."""
        self.log.abandon(self._process)


def empty_index(how: Made | Entry) -> Index:
    """An index without criteria."""
    return Index(matcher=how.matcher, scalars=how.scalars, hierarchies=trees_of(how.hierarchies))


def opened(checkpoints: Checkpoints, entry: Entry) -> Slot:
    """An index in its saved version."""
    if entry.version is None:
        index = empty_index(entry)
    else:
        index = load(checkpoints.index(entry.index), version=entry.version)
    return Slot(index, entry.index, entry.version, entry.since)


def recovered(home: Home, names: Names, slots: dict[str, Slot] | None = None) -> Recovery:
    """The indexes as the log leaves them, from their saved versions or later states."""
    if slots is None:
        slots = {name: opened(home.checkpoints, one) for name, one in names.names.items()}
    recovery = Recovery(slots, names)
    if names.writer and not home.log.exists():  # it was lost, or is on another machine
        _logger.warning("%s: it goes on from the checkpoint, without a log", home.checkpoints)
        recovery.end = names.position
    else:
        recovery.end = replay(home.log, names.first, recovery.apply)
    if recovery.end < names.position:
        reason = f"the records from position {recovery.end} on are missing"
        raise StorageError(str(home.log), reason)
    recovery.finish()
    return recovery


class Recovery:
    """Indexes to which the changes of a log are made once more."""

    def __init__(self, slots: dict[str, Slot], names: Names) -> None:
        self.slots, self.next_index = slots, names.next_index
        self.pending: dict[int, Pending] = {}
        self._by_number = {slot.number: slot for slot in slots.values()}
        self._position = names.position
        self._bad: list[SetAside] = []  # whole records
        self.end = 0
        self.changed = False

    def apply(self, position: int, body: memoryview) -> None:
        """Make one change; a record that cannot be read or does not fit is set aside."""
        try:
            self._apply(position, on_any_stack(lambda: decode(body)))
        except Exception as error:
            self._bad.append(set_aside(error, body, position))

    def finish(self) -> None:
        """Make the changes that wait."""
        for number, pending in self.pending.items():
            pending.flush()
            self._by_number[number].index = pending.index

    def set_aside(self) -> list[SetAside]:
        """What could not be applied, and is not made good by what came later."""
        of_slots = [
            replace(one, index=name)
            for name, slot in self.slots.items()
            if slot.number in self.pending
            for one in self.pending[slot.number].set_aside
        ]
        return sorted([*self._bad, *of_slots], key=lambda one: one.position)

    def _apply(self, position: int, change: Change) -> None:
        if position >= self._position:
            self.changed = True
            self._rename(change)
        if not isinstance(change, Put | Delete):
            return
        slot = self._by_number.get(change.index)
        if slot is None or position < slot.since:  # dropped later, or in the saved version
            return
        slot.note_change()
        self.changed = True
        pending = self.pending.setdefault(slot.number, Pending(slot.index))
        if isinstance(change, Put):
            pending.put(change.criteria, position)
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
            slot = Slot(empty_index(made), change.index)
            self.slots[made.name] = self._by_number[slot.number] = slot
            self.next_index = slot.number + 1
