"""The power is cut at random moments: what was not synced is lost or torn, data and names alike.

A disk is watched while an engine or an index writes: what a file held when it was last synced, and
what names a directory had. A cut makes an image of what may be left, and that must open with all
that was acknowledged.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import remuda as rm
from remuda.engine.engine import Engine
from remuda.index.storage import prune
from strategies import SOAK, count

_BLOCK = 512  # bytes that are written at once or not at all
_SHARE = 0.04  # of the syncs: cuts before it, and as many after it
_CUTS = 25  # of one disk; then another is taken, since this one holds all its files open

pytestmark = pytest.mark.skipif(
    not hasattr(os, "O_PATH"), reason="files are watched by descriptors that only Linux has"
)

Model = dict[str, dict[str, int]]  # by name and id: the value that its criterion asks for


class Disk:
    """A directory of which only that is sure to be left which was synced."""

    def __init__(self, root: Path, rng: random.Random) -> None:
        self.rng, self._lock, self._off = rng, threading.RLock(), threading.local()
        self._held: dict[int, int] = {}  # by inode: a descriptor, lest the number be given again
        self._data: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._base, self._root = str(root), self._hold(root)

    def close(self) -> None:
        for handle in self._held.values():
            os.close(handle)

    @contextmanager
    def watched(self, monkeypatch: pytest.MonkeyPatch, cut: Callable[[], None]) -> Iterator[None]:
        """Note what is synced, and cut the power now and then."""

        def watching(sync: Callable[[int], None]) -> Callable[[int], None]:
            def synced(file: int) -> None:
                if getattr(self._off, "now", False) or not self._has(file):
                    sync(file)
                    return
                with self._lock:
                    self._perhaps(cut)
                    sync(file)
                    self._note(file)
                    self._perhaps(cut)

            return synced

        with monkeypatch.context() as patched:
            for name in ("fsync", "fdatasync"):
                patched.setattr(os, name, watching(getattr(os, name)))
            yield

    def image(self, target: Path) -> None:
        """What may be left: half the time only what is sure, else other things, too."""
        self._copy(self._root, target, sure=self.rng.random() < 0.5)

    def _has(self, file: int) -> bool:
        return str(_here(file).readlink()).startswith(self._base)

    def _perhaps(self, cut: Callable[[], None]) -> None:
        if self.rng.random() < _SHARE:
            self._off.now = True
            try:
                cut()
            finally:
                self._off.now = False

    def _note(self, file: int) -> None:
        inode = self._hold(_here(file), os.O_PATH)
        if stat.S_ISDIR(os.fstat(file).st_mode):
            self._names[inode] = self._children(inode)
        else:
            self._data[inode] = self._now(inode)

    def _hold(self, path: Path, flags: int = os.O_PATH | os.O_NOFOLLOW) -> int:
        handle = os.open(path, flags)
        inode = os.fstat(handle).st_ino
        if inode in self._held:
            os.close(handle)
        else:
            self._held[inode] = handle
        return inode

    def _now(self, inode: int) -> bytes:
        return _here(self._held[inode]).read_bytes()

    def _children(self, inode: int) -> dict[str, int]:
        """The names in a directory; read again where a checkpoint beside us took one away."""
        while True:
            try:
                return {one.name: self._hold(one) for one in _here(self._held[inode]).iterdir()}
            except FileNotFoundError:
                continue

    def _copy(self, inode: int, target: Path, *, sure: bool) -> None:
        if not stat.S_ISDIR(os.fstat(self._held[inode]).st_mode):
            left = self._data.get(inode, b"")
            target.write_bytes(left if sure else self._torn(left, self._now(inode)))
            return
        target.mkdir()
        names = self._names.get(inode, {})
        if not sure and self.rng.random() < 0.5:
            names = self._children(inode)
        for name, child in names.items():
            self._copy(child, target / name, sure=sure)

    def _torn(self, old: bytes, new: bytes) -> bytes:
        """Some blocks of the new, some of the old; a file that grew may have grown in part."""
        kind = self.rng.random()
        if kind < 0.5:
            return old if kind < 0.3 else new
        size = self.rng.choice((len(new), self.rng.randint(*sorted((len(old), len(new))))))
        blocks = []
        for at in range(0, size, _BLOCK):
            block = (old if self.rng.random() < 0.4 else new)[at : at + _BLOCK]
            blocks.append(block.ljust(min(_BLOCK, size - at), b"\0")[: size - at])
        return b"".join(blocks)


def _here(file: int) -> Path:
    return Path(f"/proc/self/fd/{file}")


def criterion(name: str, value: int) -> rm.Criterion:
    return rm.Criterion(name, (rm.attr("a") == value) | (rm.attr("b") == value + 1))


def written(model: Model) -> dict[str, dict[str, rm.Expression]]:
    return {
        name: {one: criterion(one, value).expression for one, value in there.items()}
        for name, there in model.items()
    }


class EngineUnderTest:
    """An engine that changes; a cut must leave what was acknowledged, or one change more."""

    def __init__(self, path: Path, rng: random.Random) -> None:
        self.path, self.rng = path, rng
        self.model: Model = {}
        self.next: Model = {}
        self.n = 0

    def run(self) -> None:
        limit = self.rng.choice((2_000, 20_000, 1 << 26))
        engine = Engine(self.path, matcher="scan", log_limit=limit)
        try:
            for _ in range(self.rng.randrange(1, 80)):
                self.change(engine)
            if self.rng.random() < 0.5:
                engine.close()
        finally:
            if engine._background is not None:
                engine._background.join()
            engine._store.close()  # as a kill does

    def change(self, engine: Engine) -> None:
        rng, name, kind = self.rng, self.rng.choice("xyz"), self.rng.random()
        after = {one: dict(there) for one, there in self.model.items()}
        there = after.get(name, {})
        if kind < 0.05:
            engine.checkpoint()
            return
        if name in after and kind < 0.1:
            del after[name]
            self.next = after
            engine.drop(name)
        elif name in after and kind < 0.15:
            other = rng.choice("xyz".replace(name, ""))
            after[other] = after.pop(name)
            self.next = after
            engine.replace(other, name)
        elif there and kind < 0.35:
            gone = rng.sample(sorted(there), min(len(there), rng.choice((1, 1, 20))))
            after[name] = {one: value for one, value in there.items() if one not in gone}
            self.next = after
            engine.delete(name, *gone)
        else:
            n = rng.choice((1, 1, 1, 5, 200))
            more = {f"c{rng.randrange(300)}": rng.randrange(50) for _ in range(n)}
            after[name] = there | more
            self.next = after
            engine.update(name, [criterion(*pair) for pair in more.items()])
        self.model = after
        self.n += 1

    def check(self, image: Path) -> None:
        engine = Engine(image, matcher="scan")
        found = {
            name: {one.id: one.expression for one in engine.index(name)} for name in engine.names()
        }
        assert engine.set_aside() == []
        engine._store.close()
        assert found in (written(self.model), written(self.next))


class IndexUnderTest:
    """An index that is saved; a cut must leave the version before or the next."""

    def __init__(self, path: Path, rng: random.Random) -> None:
        self.path, self.rng = path, rng
        self.index = rm.Index(matcher="scan")
        self.saved: dict[str, rm.Expression] | None = None
        self.next: dict[str, rm.Expression] = {}
        self.n = 0

    def run(self) -> None:
        rng = self.rng
        for _ in range(rng.randrange(1, 5)):
            values = {
                f"c{rng.randrange(500)}": rng.randrange(50) for _ in range(rng.choice((1, 90)))
            }
            self.index.update([criterion(*pair) for pair in values.items()])
            self.index.remove(*[one.id for one in self.index if rng.random() < 0.05])
        self.next = {one.id: one.expression for one in self.index}
        self.index.save(self.path)
        self.saved = self.next
        self.n += 1
        if rng.random() < 0.3:
            prune(self.path, keep=rng.choice((1, 2)))

    def check(self, image: Path) -> None:
        try:
            found = {one.id: one.expression for one in rm.load(image)}
        except rm.StorageError:
            assert self.saved is None, "a saved index does not open"
        else:
            assert found in (self.saved, self.next)


def test_a_directory_is_read_again_where_a_name_went_meanwhile(tmp_path: Path, monkeypatch) -> None:
    """A checkpoint in the background renames and removes files while an image is made."""
    for name in ("gone", "old", "stays"):
        (tmp_path / name).write_text(name)
    disk, plain = Disk(tmp_path, random.Random(0)), Path.iterdir

    def listed(path: Path) -> list[Path]:
        names = sorted(plain(path))
        if len(names) == 3:
            (tmp_path / "gone").unlink()
            (tmp_path / "old").rename(tmp_path / "new")
        return names

    monkeypatch.setattr(Path, "iterdir", listed)
    names = disk._children(disk._root)
    assert {name: disk._now(inode) for name, inode in names.items()} == {
        "new": b"old",
        "stays": b"stays",
    }
    disk.close()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("subject", "n_cuts"),
    [(EngineUnderTest, count(25, 1_500)), (IndexUnderTest, count(15, 500))],
    ids=["engine", "index"],
)
def test_powercuts(tmp_path: Path, monkeypatch, subject: type, n_cuts: int) -> None:
    seed = random.SystemRandom().randrange(1 << 32) if SOAK else 0
    sys.stdout.write(f"seed {seed}\n")
    rng = random.Random(seed)
    n_done = n_acknowledged = 0
    failures: list[BaseException] = []
    while n_done < n_cuts:
        root = tmp_path / "disk"
        root.mkdir()
        disk, under_test = Disk(root, rng), subject(root / "new" / "and" / "newer", rng)
        cuts: list[int] = []

        def cut(disk=disk, under_test=under_test, cuts=cuts) -> None:
            image = tmp_path / "image"
            disk.image(image)
            try:
                under_test.check(image / "new" / "and" / "newer")
            except BaseException as error:  # a checkpoint in the background would survive it
                failures.append(error)
            cuts.append(len(cuts))
            shutil.rmtree(image)

        with disk.watched(monkeypatch, cut):
            while len(cuts) < min(_CUTS, n_cuts - n_done) and not failures:
                under_test.run()
        for failure in failures:
            raise failure
        n_done, n_acknowledged = n_done + len(cuts), n_acknowledged + under_test.n
        disk.close()
        shutil.rmtree(root)
    sys.stdout.write(f"{n_done} cuts, {n_acknowledged:,} acknowledged changes, all there\n")
