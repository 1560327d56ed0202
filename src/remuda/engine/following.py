"""Followers: what a reader has of an engine that another process writes, up to the end of its log.

A checkpoint's versions are mapped, as the writer's are; what the log has beyond them is made once
more here. Positions of the log are the same to all who read it.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from remuda.engine.aside import described
from remuda.engine.changes import Change, Delete, Drop, Put, Replace, decode
from remuda.engine.checkpoints import Names, undisturbed
from remuda.engine.home import Home
from remuda.engine.log import tail
from remuda.engine.store import Slot, empty_index, opened, recovered
from remuda.language.criterion import Criterion
from remuda.model.stacks import on_any_stack

_logger = logging.getLogger("remuda.engine")


class Follower:
    """The indexes of an engine at a position of its log; one thread moves it on."""

    def __init__(self, home: Home) -> None:
        self.slots: dict[str, Slot] = {}  # never changed, only followed by another
        self.position = 0
        self._home = home
        self._stamp: object = None

    def advance(self) -> bool:
        """Take over what was published and logged since; whether there was any."""
        before, stamp = self.position, self._home.checkpoints.stamp()
        moved = stamp != self._stamp
        if moved:
            self._take_over()
            self._stamp = stamp
        try:
            self.position = tail(self._home.log, self.position, self._apply)
        except LookupError:  # a checkpoint has come between
            self._take_over()
        except Exception as error:
            # What failed is set aside by the way that an engine is opened.
            _logger.warning("the published indexes are read again: %s", described(error))
            self.slots, self.position = {}, 0
            self._take_over()
        return moved or self.position != before

    def _take_over(self) -> None:
        """Map what the last checkpoint has published, and make the changes since."""
        found = undisturbed(
            self._home.checkpoints, lambda names: recovered(self._home, names, self._taken(names))
        )
        self.slots, self.position = found.slots, found.end

    def _taken(self, names: Names) -> dict[str, Slot]:
        """The published indexes; those that we have in their version stay, with their changes."""
        known = {(slot.number, slot.version): slot for slot in self.slots.values()}
        taken = {}
        for name, entry in names.names.items():
            ours = known.get((entry.index, entry.version))
            if ours is None or entry.version is None or entry.since > self.position:
                taken[name] = opened(self._home.checkpoints, entry)
            else:
                taken[name] = replace(ours, since=self.position)
        return taken

    def _apply(self, position: int, body: memoryview) -> None:
        self._change(on_any_stack(lambda: decode(body)))

    def _change(self, change: Change) -> None:
        slots = self.slots
        if isinstance(change, Replace):
            others = {name: slot for name, slot in slots.items() if name != change.new}
            self.slots = others | {change.old: slots[change.new]}
        elif isinstance(change, Drop):
            self.slots = {name: slot for name, slot in slots.items() if name != change.name}
        elif isinstance(change, Put) and change.made is not None:
            slot = Slot(empty_index(change.made), change.index)
            self._put(slot, change)
            self.slots = slots | {change.made.name: slot}
        else:
            self._in_one(change)

    def _in_one(self, change: Put | Delete) -> None:
        slot = next((one for one in self.slots.values() if one.number == change.index), None)
        if slot is None:  # dropped or replaced later
            return
        slot.note_change()
        if isinstance(change, Put):
            self._put(slot, change)
        else:
            slot.index.remove(*change.ids)

    def _put(self, slot: Slot, change: Put) -> None:
        slot.index.update([Criterion.from_json(bytes(one)) for one in change.criteria])
