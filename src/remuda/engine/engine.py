"""Engines: many indexes under their names, in memory or in a directory that outlives a crash."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from functools import partial, wraps
from inspect import Parameter, signature
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from msgspec import Raw

from remuda.engine import aside, changes
from remuda.engine.aside import SetAside, described, readable, warn
from remuda.engine.checkpoints import Checkpoints, Names, Uploads, undisturbed
from remuda.engine.following import Follower
from remuda.engine.home import Home
from remuda.engine.snapshots import Snapshot, snapshot
from remuda.engine.store import Slot, Store, opened
from remuda.errors import (
    CriterionNotFound,
    DuplicateCriterion,
    IndexExists,
    IndexNotFound,
    StorageError,
)
from remuda.index.files import is_local, local
from remuda.index.forking import in_child
from remuda.index.index import Index
from remuda.index.question import Now, Question, Tags
from remuda.index.trees import listed_trees, named_trees
from remuda.index.trial import Tried, try_out
from remuda.language import json_form
from remuda.language.criterion import Criterion
from remuda.model.hierarchies import Hierarchies
from remuda.model.values import is_text
from remuda.proof.ratifying import ratify
from remuda.proof.similarity import similarity

P = ParamSpec("P")
T = TypeVar("T")

Criteria = Criterion | Iterable[Criterion]

LOG_LIMIT = 1 << 26  # bytes of log after which a checkpoint is made

_logger = logging.getLogger("remuda.engine")


def _of_index(ask: Callable[Concatenate[Index, P], T]) -> Callable[Concatenate[Engine, str, P], T]:
    """The method of an engine that asks the index under a name, as it is at that moment."""

    @wraps(ask)
    def method(self: Engine, name: str, *arguments: P.args, **named: P.kwargs) -> T:
        return ask(self._slot(name).index, *arguments, **named)

    own = signature(ask)
    named = [Parameter(one, Parameter.POSITIONAL_OR_KEYWORD) for one in ("self", "name")]
    rest = list(own.parameters.values())[1:]
    method.__signature__ = own.replace(parameters=[*named, *rest])  # type: ignore[attr-defined]
    return method  # type: ignore[return-value]  # it has names that P could have


class Engine:
    """Named indexes. Many threads may search and change them.

    With a path, a change is durable when the call returns; a search may see it a moment earlier.
    One process at a time opens a directory to write. With `read_only`, others open what its
    checkpoints have published; `refresh` takes over what was published since, `follow` also what
    is only in the log. With `checkpoints`, a URI such as s3://bucket/engine, they are published
    there, and readers open that; an engine in a new directory goes on from it. A forked process
    searches on; what it changes is refused. New indexes are made with its matcher, live or not,
    scalars and hierarchies, and keep them.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        matcher: str = "auto",
        live: bool = False,
        scalars: Iterable[str] = (),
        hierarchies: Hierarchies | None = None,
        read_only: bool = False,
        checkpoints: str | PathLike[str] | None = None,
        log_limit: int = LOG_LIMIT,
    ) -> None:
        self._scalars, self._hierarchies = tuple(scalars), named_trees(hierarchies)
        # the matcher and the attributes are looked at now, not with the first index
        self._matcher = Index(matcher=matcher, live=live, scalars=self._scalars).matcher
        self._slots: dict[str, Slot] = {}  # never changed, only followed by another
        self._next_index, self._log_limit = 1, log_limit
        self._alone()
        self._store: Store | None = None
        self._home: Home | None = None  # only where it is read and not written
        self._reading: Checkpoints | None = None  # likewise
        self._published: Names | None = None
        self._follower: Follower | None = None
        self._unread: list[SetAside] = []
        if path is None:
            if read_only or checkpoints is not None:
                raise ValueError(
                    "an engine in memory has no checkpoints to read or write: give a path"
                )
        elif read_only:
            self._home = Home.at(local(path)) if is_local(path) else None
            self._reading = self._home.checkpoints if self._home else Uploads.at(fspath(path))
            self.refresh()
        else:
            self._store = Store(_own(path), checkpoints)
            self._slots, self._next_index = self._store.slots, self._store.next_index
        in_child(self, Engine._fork)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, name: object) -> bool:
        return name in self._slots

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def names(self) -> list[str]:
        """The names of the indexes, in code-point order."""
        return sorted(self._slots)

    def add(self, name: str, criteria: Criteria) -> None:
        """Add one criterion or many, all or none; makes the index if there is none.

        DuplicateCriterion if an id is taken.
        """
        self._put(name, changes.several(criteria), Index.add, _none_taken)

    def update(self, name: str, criteria: Criteria) -> None:
        """Put one criterion or many in the place of those with their ids, or add them."""
        self._put(name, changes.several(criteria), Index.update, _anything)

    def delete(self, name: str, *ids: str) -> None:
        """Delete criteria, all or none; CriterionNotFound if there is no such one."""
        self._check_writable()
        gone = list(dict.fromkeys(ids))
        done = False
        while not done:
            slot = self._slot(name)
            change = changes.Delete(slot.number, gone)
            done = self._change(name, slot, change, gone, _all_there, _remove)

    def enable(self, name: str, *ids: str) -> None:
        """Switch criteria on, all or none; CriterionNotFound if there is no such one."""
        self._switch(name, ids, enabled=True)

    def disable(self, name: str, *ids: str) -> None:
        """Switch criteria off, all or none: they stay, and hold for no event."""
        self._switch(name, ids, enabled=False)

    def get(self, name: str, id: str) -> Criterion:
        """One criterion; CriterionNotFound if there is no such one."""
        return self._slot(name).index[id]

    def index(self, name: str) -> Index:
        """The index as it is at this moment; what is done to it does not reach the engine."""
        return copy(self._slot(name).index)

    def hierarchies(self, name: str) -> Hierarchies:
        """The trees of an index, or those that it would be made with."""
        return self._trees(self._slots.get(name))

    def search(self, name: str, event: Any, *, tags: Tags = None, now: Now = None) -> list[str]:
        """The ids of the criteria that the event satisfies, in insertion order."""
        return self._slot(name).index.match(event, tags=tags, now=now)

    # What is asked of the index with a name: parameters and answers are those of `Index`.
    match_many = _of_index(Index.match_many)
    top = _of_index(Index.top)
    possible = _of_index(Index.possible)
    certain = _of_index(Index.certain)
    undecided = _of_index(Index.undecided)
    nearest = _of_index(Index.nearest)
    explain = _of_index(Index.explain)
    stats = _of_index(Index.stats)
    ratify = _of_index(ratify)
    similarity = _of_index(similarity)

    def scan(self, name: str, event: Any, *, tags: Tags = None, now: Now = None) -> list[str]:
        """What `search` finds, by plain evaluation of one criterion after the other."""
        question = Question.of(now, tags)
        return [
            criterion.id
            for criterion in self._criteria(name)
            if question.admits(criterion) and criterion.holds(event, now=question.now)
        ]

    def replace(self, old: str, new: str) -> None:
        """Give the index `new` the name `old`, in one step; what had that name is dropped.

        Nothing changes if there is no index `new`; there need be none called `old`.
        """
        self._check_writable()
        _check_name(old)
        with self._naming:
            slot = self._slot(new)
            if old == new:
                return
            gone = self._slots.get(old)
            others = {name: one for name, one in self._slots.items() if name != new}
            with slot.lock, gone.lock if gone is not None else nullcontext():
                renamed = others | {old: slot}
                position = self._logged(
                    changes.encode(changes.Replace(old, new)), partial(self._name, renamed)
                )
        self._settle(position)

    def drop(self, name: str) -> None:
        """Remove an index with all its criteria."""
        self._check_writable()
        with self._naming, self._slot(name).lock:
            others = {other: one for other, one in self._slots.items() if other != name}
            position = self._logged(changes.encode(changes.Drop(name)), partial(self._name, others))
        self._settle(position)

    def export(self, name: str, *, mustang: bool = False) -> str:
        """The criteria as a JSON array; with `mustang`, refuse what Mustang lacks."""
        written = [one.to_json(mustang=mustang) for one in self._criteria(name)]
        return json_form.encode(written).decode()

    def load(self, name: str, text: str | bytes) -> None:
        """Make an index of a JSON array of criteria, ours or Mustang's; the name must be free."""
        self._check_writable()
        if name in self._slots:
            raise IndexExists(name)
        found = try_out(changes.several(changes.criteria_in(text)), self._hierarchies)
        if not self._make(name, found, self._texts(found)):
            raise IndexExists(name)

    def snapshot(self, name: str) -> Snapshot:
        """How large the index is: its dimensions, their spaces, its clusters."""
        return snapshot(name, self._slot(name).index)

    def checkpoint(self) -> None:
        """Save what has changed, so that opening has nothing to make good, and shorten the log.

        It happens by itself when the log has grown, and on closing. Searches and changes go on.
        """
        self._check_writable()
        store = self._store
        if store is None:
            return
        with self._checkpointing:
            if store.current():
                return
            store.log.rotate()
            saved, failures = store.save(self._slots)
            with self._naming:
                slots, position, next_index = self._slots, store.log.end, self._next_index
            store.publish(slots, position, next_index, complete=not failures)
            store.clean(saved)
        if failures:
            raise failures[0]

    def set_aside(self) -> list[SetAside]:
        """What could not be applied when the engine was opened, or not be read since, and why.

        It stands in set-aside.jsonl in the engine's directory, until that file is removed.
        """
        home = self._store.home if self._store is not None else self._home
        written = aside.read(home.set_aside) if home is not None else []
        return written + [one for one in self._unread if one not in written]

    def refresh(self) -> bool:
        """Take over what the writer's checkpoints have published since; whether there was any."""
        published = self._reading
        if published is None:
            raise StorageError("refresh", "only an engine that was opened read_only can refresh")
        if self._follower is not None:
            return self.follow()
        with self._naming:
            return undisturbed(published, partial(self._take_over, published))

    def follow(self) -> bool:
        """Take over all that the writer has done since, its log included; whether there was any.

        What it has acknowledged is there then; what it is about to may be.
        """
        if self._home is None:
            reason = "only an engine that was opened read_only in a directory has a log to follow"
            raise StorageError("follow", reason)
        with self._naming:
            if self._follower is None:
                self._follower = Follower(self._home)
            moved = self._follower.advance()
            self._slots = self._follower.slots
        return moved

    @property
    def position(self) -> int:
        """How far in the log of changes it is; an engine that has followed to it has seen them.

        In memory, and without `follow`, it stays 0.
        """
        if self._store is not None:
            return self._store.log.end
        return 0 if self._follower is None else self._follower.position

    @property
    def log_size(self) -> int:
        """The bytes that were logged since the last checkpoint; 0 where nothing is logged."""
        return 0 if self._store is None else self._store.log.size

    def age(self, name: str) -> float:
        """The seconds since an index was changed, or opened."""
        return time.time() - self._slot(name).changed

    def close(self) -> None:
        """Save what has changed and let another process write; without it nothing is lost."""
        store = self._store
        if store is None:
            return
        if self._background is not None and self._background.is_alive():
            self._background.join()
        try:
            if not store.log.failed:
                self.checkpoint()
        finally:
            with self._checkpointing:  # another thread's must not go on when others may write
                store.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _slot(self, name: str) -> Slot:
        slot = self._slots.get(name)
        if slot is None:
            raise IndexNotFound(name)
        return slot

    def _criteria(self, name: str) -> Sequence[Criterion]:
        """The criteria of an index; one that cannot be read does not hide the others."""
        index = self._slot(name).index
        try:
            return list(index)
        except Exception:
            criteria, unread = readable(index, name)
        new = [one for one in unread if one not in self._unread]
        self._unread = self._unread + new
        if self._store is not None and not self._store.log.closed:
            self._store.set_aside(new)
        else:
            warn(new)
        return criteria

    def _trees(self, slot: Slot | None) -> Hierarchies:
        return self._hierarchies if slot is None else slot.index.hierarchies

    def _check_writable(self) -> None:
        """Raise where nothing can be changed."""
        if self._reading is not None:
            raise StorageError(str(self._reading), "it was opened read_only: nothing can change")
        if self._store is not None:
            self._store.log.check()

    def _texts(self, criteria: Tried) -> list[Raw]:
        """The criteria as the log has them, tried before: what is in the log must not fail."""
        return [] if self._store is None else changes.documents(criteria)

    def _put(
        self,
        name: str,
        criteria: Sequence[Criterion],
        put: Callable[[Index, Sequence[Criterion]], None],
        check: Callable[[Index, Sequence[Criterion]], None],
    ) -> None:
        self._check_writable()
        done = False
        while not done:
            slot = self._slots.get(name)
            tried = try_out(criteria, self._trees(slot))
            texts = self._texts(tried)
            if slot is None:
                done = self._make(name, tried, texts)
            else:
                done = self._change(name, slot, changes.Put(slot.number, texts), tried, check, put)

    def _make(self, name: str, criteria: Sequence[Criterion], texts: list[Raw]) -> bool:
        """Make an index of the criteria; whether the name was free."""
        _check_name(name)
        how: dict[str, Any] = {"matcher": self._matcher, "scalars": list(self._scalars)}
        index = Index.build(criteria, hierarchies=self._hierarchies, **how)
        settings = changes.Made(name, hierarchies=listed_trees(self._hierarchies), **how)
        with self._naming:
            if name in self._slots:
                return False
            since = self._store.log.end if self._store is not None else 0
            slot = Slot(index, self._next_index, since=since, n_changes=1)
            slots = self._slots | {name: slot}
            body = changes.encode(changes.Put(slot.number, texts, settings))
            position = self._logged(body, partial(self._name, slots))
        self._settle(position)
        return True

    def _change(
        self,
        name: str,
        slot: Slot,
        change: changes.Change,
        given: Sequence[T],
        check: Callable[[Index, Sequence[T]], None],
        apply: Callable[[Index, Sequence[T]], None],
    ) -> bool:
        """Log the change, then make it; whether the slot still had the name."""
        body = changes.encode(change) if self._store is not None else b""
        with slot.lock:
            if self._slots.get(name) is not slot:
                return False
            if self._store is not None:
                check(slot.index, given)  # what is in the log must not fail
            slot.note_change()
            position = self._logged(body, partial(apply, slot.index, given))
        self._settle(position)
        return True

    def _switch(self, name: str, ids: Sequence[str], *, enabled: bool) -> None:
        """Update the criteria as they are while no other change is made."""
        self._check_writable()
        done = False
        while not done:
            slot = self._slot(name)
            with slot.lock:
                done = self._slots.get(name) is slot
                if done:
                    there = [slot.index[one] for one in dict.fromkeys(ids)]
                    changed = [replace(one, enabled=enabled) for one in there]
                    switched = try_out(changed, slot.index.hierarchies)
                    body = changes.encode(changes.Put(slot.number, self._texts(switched)))
                    slot.note_change()
                    position = self._logged(body, partial(slot.index.update, switched))
        self._settle(position)

    def _logged(self, body: bytes, make: Callable[[], None]) -> int:
        """Log a change, then make it; the position behind it.

        What stops it between the two, such as Ctrl-C, ends the writing. That is noted without a
        call, into which another Ctrl-C could fall.
        """
        if self._store is None:
            make()
            return 0
        log, position = self._store.log, 0
        try:
            position = log.append(body)
            make()
        except StorageError as error:
            if position:  # else nothing is in the log
                log.cut_by = error.__class__
            raise
        except BaseException as error:
            log.cut_by = error.__class__
            raise
        return position

    def _name(self, slots: dict[str, Slot]) -> None:
        """Let the slots have these names."""
        self._next_index = max([self._next_index, *(one.number + 1 for one in slots.values())])
        self._slots = slots

    def _alone(self) -> None:
        """No other thread changes anything, or makes a checkpoint."""
        self._naming = threading.Lock()  # taken before any slot's lock
        self._checkpointing = threading.Lock()
        self._background: threading.Thread | None = None

    def _fork(self) -> None:
        """Go on in a process that was forked from the one which opened the engine."""
        self._alone()
        for slot in self._slots.values():
            slot.lock = threading.Lock()
        if self._store is not None:
            self._store.abandon()

    def _settle(self, position: int) -> None:
        """Wait until the log is durable up to the position; see to it that it stays short."""
        if self._store is None:
            return
        self._store.log.wait(position)
        if self._store.log.size > self._log_limit:
            with self._naming:
                if self._background is None or not self._background.is_alive():
                    self._background = threading.Thread(target=self._tidy, daemon=True)
                    self._background.start()

    def _tidy(self) -> None:
        """Make a checkpoint; where it fails, the log has everything, and the next may do better."""
        try:
            self.checkpoint()
        except Exception as error:
            _logger.warning("a checkpoint failed, and the log grows on: %s", described(error))

    def _take_over(self, published: Checkpoints, names: Names) -> bool:
        """Have the published indexes, unless we do; those that we have are kept."""
        if names == self._published:
            return False
        known = {(slot.number, slot.version): slot for slot in self._slots.values()}
        self._slots = {
            name: known.get((entry.index, entry.version)) or opened(published, entry)
            for name, entry in names.names.items()
        }
        self._published = names
        return True


def _own(path: str | PathLike[str]) -> Path:
    """The directory of an engine that is written."""
    if not is_local(path):
        reason = "the log is in a directory: name one, and this URI as its `checkpoints`"
        raise StorageError(fspath(path), reason)
    return local(path)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name or not is_text(name):
        raise ValueError(f"the name of an index is a text that is not empty, not {name!r}")


def _none_taken(index: Index, criteria: Sequence[Criterion]) -> None:
    for one in criteria:
        if one.id in index:
            raise DuplicateCriterion(one.id)


def _anything(index: Index, criteria: Sequence[Criterion]) -> None:
    """An update is refused by no index."""


def _all_there(index: Index, ids: Sequence[str]) -> None:
    for one in ids:
        if one not in index:
            raise CriterionNotFound(one)


def _remove(index: Index, ids: Sequence[str]) -> None:
    index.remove(*ids)
