"""The log: what was acknowledged comes back; what a crash cut short does not; damage is named."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from remuda.engine import log as module
from remuda.engine.log import Log, replay
from remuda.errors import StorageError


def contents(directory: Path, since: int = 0) -> tuple[list[bytes], int]:
    found: list[bytes] = []
    end = replay(directory, since, lambda _, body: found.append(bytes(body)))
    return found, end


def written(directory: Path, *bodies: bytes, end: int = 0) -> list[int]:
    """Append and wait, one by one; the positions behind each."""
    log = Log(directory, end)
    positions = []
    for body in bodies:
        positions.append(log.append(body))
        log.wait(positions[-1])
    log.close()
    return positions


def only_file(directory: Path) -> Path:
    (path,) = directory.glob("*.log")
    return path


PATIENCE = 240.0  # seconds after which something hangs

BODIES = (b'{"a":1}', b"", b"x" * 5_000, '{"é":"日本"}'.encode())


def test_records_come_back_in_order(tmp_path: Path) -> None:
    positions = written(tmp_path, *BODIES)
    assert contents(tmp_path) == (list(BODIES), positions[-1])


def test_a_log_that_is_opened_again_goes_on(tmp_path: Path) -> None:
    (end,) = written(tmp_path, b"first")
    written(tmp_path, b"second", end=end)
    assert contents(tmp_path)[0] == [b"first", b"second"]


def test_where_there_is_no_log_there_is_nothing(tmp_path: Path) -> None:
    assert contents(tmp_path / "log") == ([], 0)


def test_a_torn_tail_is_cut_off_wherever_it_tore(tmp_path: Path) -> None:
    *_, before, end = written(tmp_path, *BODIES)
    path = only_file(tmp_path)
    whole = path.read_bytes()
    for size in range(before, end):
        path.write_bytes(whole[:size])
        assert contents(tmp_path) == (list(BODIES[:-1]), before)
        written(tmp_path, b"next", end=before)
        assert contents(tmp_path)[0] == [*BODIES[:-1], b"next"]


def test_a_flipped_bit_is_named_with_its_place(tmp_path: Path) -> None:
    first, second, _ = written(tmp_path, b"one", b"two", b"three")
    path = only_file(tmp_path)
    whole = path.read_bytes()
    for at in range(first, second):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(StorageError, match=f"damaged at byte {first}:") as caught:
            contents(tmp_path)
        assert caught.value.path == str(path)


def test_a_flipped_bit_in_the_last_record_looks_torn(tmp_path: Path) -> None:
    first, _ = written(tmp_path, b"one", b"two")
    path = only_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert contents(tmp_path) == ([b"one"], first)


def test_records_that_no_one_was_told_of_may_be_torn_in_the_middle(tmp_path: Path) -> None:
    # a power cut may keep the pages of a later record and lose those of an earlier one
    log = Log(tmp_path, 0)
    first = log.append(b"acknowledged")
    log.wait(first)
    log.append(b"lost")
    log.append(b"kept in vain")
    log.close()
    path = only_file(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"lost", b"\0\0\0\0"))
    assert contents(tmp_path) == ([b"acknowledged"], first)


def test_files_follow_one_another(tmp_path: Path) -> None:
    log = Log(tmp_path, 0)
    for body in BODIES:
        log.append(body)
        log.rotate()
    end = log.append(b"last")
    log.wait(end)
    assert contents(tmp_path) == ([*BODIES, b"last"], end)
    log.forget(log.base)
    assert contents(tmp_path, since=log.base) == ([b"last"], end)
    log.close()


@pytest.mark.parametrize("which", [0, 1])
def test_a_missing_file_is_noticed(tmp_path: Path, which: int) -> None:
    log = Log(tmp_path, 0)
    for body in (b"one", b"two"):
        log.append(body)
        log.rotate()
    log.close()
    sorted(tmp_path.glob("*.log"))[which].unlink()
    with pytest.raises(StorageError, match="are missing"):
        contents(tmp_path)


def test_no_file_at_all_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="position 13 on are missing"):
        contents(tmp_path, since=13)


def test_a_torn_file_with_another_behind_it_is_damaged(tmp_path: Path) -> None:
    log = Log(tmp_path, 0)
    log.append(b"one")
    path = log.path
    log.rotate()
    log.close()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StorageError, match="damaged") as caught:
        contents(tmp_path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize(
    ("preface", "reason"),
    [(b"remuda log 99\n", "format 99"), (b"remuda dog 1\n", "damaged at byte 0"), (b"", "byte 0")],
)
def test_another_preface_is_refused(tmp_path: Path, preface: bytes, reason: str) -> None:
    written(tmp_path, b"one")
    path = only_file(tmp_path)
    path.write_bytes(preface)
    with pytest.raises(StorageError, match=reason):
        contents(tmp_path)


def test_threads_share_the_syncing(tmp_path: Path, monkeypatch) -> None:
    syncs, appended = [], threading.Semaphore(0)

    def slow(file: int) -> None:
        syncs.append(file)
        if len(syncs) == 1:  # which lasts until each thread has something to be synced
            assert all(appended.acquire(timeout=PATIENCE) for _ in range(8))

    log = Log(tmp_path, 0)
    monkeypatch.setattr(module, "_flush", slow)

    def work(number: int) -> None:
        for i in range(50):
            position = log.append(b"%d %d" % (number, i))
            appended.release()
            log.wait(position)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found, _ = contents(tmp_path)
    assert sorted(found) == sorted(b"%d %d" % (n, i) for n in range(8) for i in range(50))
    for number in range(8):  # each thread's in its order
        own = [body for body in found if body.startswith(b"%d " % number)]
        assert own == [b"%d %d" % (number, i) for i in range(50)]
    assert len(syncs) < 400  # one each would be 400
    log.close()


def test_after_a_failed_sync_nothing_more_is_taken(tmp_path: Path, monkeypatch) -> None:
    def broken(file: int) -> None:
        raise OSError(5, "Input/output error")

    log = Log(tmp_path, 0)
    monkeypatch.setattr(module, "_flush", broken)
    with pytest.raises(StorageError, match="Input/output error"):
        log.wait(log.append(b"one"))
    monkeypatch.undo()
    assert log.failed
    for again in (lambda: log.append(b"two"), log.rotate, lambda: log.wait(log.end)):
        with pytest.raises(StorageError, match="Input/output error") as caught:
            again()
        assert caught.value.path == str(log.path)
    log.close()


def test_who_waits_is_told_of_a_failed_sync(tmp_path: Path, monkeypatch) -> None:
    failing, go_on = threading.Event(), threading.Event()

    def broken(file: int) -> None:
        failing.set()
        go_on.wait(PATIENCE)
        raise OSError(28, "No space left on device")

    log = Log(tmp_path, 0)
    monkeypatch.setattr(module, "_flush", broken)
    told: list[StorageError] = []

    def work() -> None:
        with pytest.raises(StorageError) as caught:
            log.wait(log.append(b"one"))
        told.append(caught.value)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    assert failing.wait(PATIENCE)
    go_on.set()
    for one in threads:
        one.join(PATIENCE)
    assert [one.reason.count("No space left") for one in told] == [1, 1, 1]
    log.close()


STOPPED = {
    "disk full": (OSError(28, "No space left on device"), StorageError),
    "Ctrl-C": (KeyboardInterrupt(), KeyboardInterrupt),
}


@pytest.mark.parametrize("what", STOPPED)
@pytest.mark.parametrize("n_blocks", [1, 2, 3], ids=["half a head", "half a record", "all of it"])
def test_a_record_that_was_cut_short_is_written_over(
    tmp_path: Path, monkeypatch, what: str, n_blocks: int
) -> None:
    error, raised = STOPPED[what]
    log = Log(tmp_path, 0)
    first = log.append(b"one")
    log.wait(first)
    write = module.os.pwritev

    def stopped(file: int, blocks: list[memoryview], at: int) -> int:
        write(file, [block[: 10 * n_blocks] for block in blocks[:n_blocks]], at)
        raise error

    for then in (lambda: None, log.rotate):
        monkeypatch.setattr(module.os, "pwritev", stopped)
        with pytest.raises(raised):
            log.append(b"a record that is cut short")
        monkeypatch.undo()
        then()
        log.wait(log.append(b"two"))
    log.close()
    assert contents(tmp_path) == ([b"one", b"two", b"two"], log.end)


NO_ROOM = {
    "no descriptor": ("open", 0, OSError(24, "Too many open files")),
    "one descriptor": ("open", 1, OSError(24, "Too many open files")),
    "disk full": ("fsync", 0, OSError(28, "No space left on device")),
    "directory full": ("rename", 0, OSError(28, "No space left on device")),
}


@pytest.mark.parametrize("what", NO_ROOM)
def test_where_no_new_file_can_be_begun_the_old_one_goes_on(
    tmp_path: Path, monkeypatch, what: str
) -> None:
    name, nth, error = NO_ROOM[what]
    log = Log(tmp_path, 0)
    log.append(b"one")
    calls = []

    def failing(call):
        def fail(*arguments, **more):
            calls.append(name)
            if len(calls) > nth:
                raise error
            return call(*arguments, **more)

        return fail

    owner = Path if name == "rename" else module.os
    monkeypatch.setattr(owner, name, failing(getattr(owner, name)))
    with pytest.raises(StorageError, match=error.strerror):
        log.rotate()
    monkeypatch.undo()
    log.wait(log.append(b"two"))
    assert contents(tmp_path)[0] == [b"one", b"two"]
    log.rotate()
    log.wait(log.append(b"three"))
    log.close()
    assert contents(tmp_path) == ([b"one", b"two", b"three"], log.end)
    assert len(list(tmp_path.iterdir())) == 2


def test_two_files_never_go_on_from_one_position(tmp_path: Path, monkeypatch) -> None:
    log = Log(tmp_path, 0)
    end = log.append(b"one")
    sync, calls = module.os.fsync, []

    def broken(file: int) -> None:
        calls.append(file)
        if len(calls) > 1:  # the new file has its name, but that is not durable
            raise OSError(5, "Input/output error")
        sync(file)

    monkeypatch.setattr(module.os, "fsync", broken)
    for again in (log.rotate, lambda: log.append(b"two")):
        with pytest.raises(StorageError, match="Input/output error"):
            again()
    monkeypatch.undo()
    log.close()
    found, after = contents(tmp_path)
    assert found == [b"one"]
    assert after > end


def test_the_system_may_take_less_than_was_given(tmp_path: Path, monkeypatch) -> None:
    write = module.os.pwritev

    def sparing(file: int, blocks: list[memoryview], at: int) -> int:
        return write(file, [blocks[0][:3]], at)

    monkeypatch.setattr(module.os, "pwritev", sparing)
    positions = written(tmp_path, *BODIES)
    assert contents(tmp_path) == (list(BODIES), positions[-1])


def test_a_closed_log_says_so(tmp_path: Path) -> None:
    log = Log(tmp_path, 0)
    log.close()
    log.close()
    with pytest.raises(StorageError, match="closed"):
        log.append(b"one")


def test_a_flipped_bit_in_the_last_group_takes_no_more_than_the_group(tmp_path: Path) -> None:
    log = Log(tmp_path, 0)
    first = log.append(b"first")
    log.wait(first)
    group = [log.append(b"in a group %d" % i) for i in range(3)]
    log.wait(group[-1])  # synced together, and none of them knows it
    log.close()
    path = only_file(tmp_path)
    whole = path.read_bytes()
    for at in range(len(b"remuda log 1\n"), len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        if at < first:
            with pytest.raises(StorageError, match="damaged at byte"):
                contents(tmp_path)
        else:
            n_left = sum(position <= at for position in group)
            assert contents(tmp_path)[0] == [
                b"first",
                *(b"in a group %d" % i for i in range(n_left)),
            ]


def test_a_file_that_is_no_longer_needed_is_not_read(tmp_path: Path) -> None:
    """A writer removes it when it has published a checkpoint; a reader may have listed it."""
    written(tmp_path, b"one")
    log = Log(tmp_path, contents(tmp_path)[1])
    log.rotate()
    since = log.base
    log.append(b"two")
    log.close()
    first = min(tmp_path.iterdir())
    first.unlink()
    first.symlink_to(tmp_path / "nowhere")  # listed, and gone when it is opened
    assert contents(tmp_path, since)[0] == [b"two"]
