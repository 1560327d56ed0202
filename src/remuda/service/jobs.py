"""Jobs: long work in the background, one after the other, with progress."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from remuda.errors import RemudaError
from remuda.service.bodies import Status
from remuda.service.problems import Refused

Progress = Callable[[int, int], None]  # how much is done, and of how much; 0: not known
Work = Callable[[Progress], Any]

_KEPT = 100  # jobs that have ended and can still be asked for

_logger = logging.getLogger("remuda.service")


class Cancelled(Exception):
    """Nobody wants the result any more."""


@dataclass(slots=True, eq=False)
class Job:
    """Work under way, waiting or done."""

    kind: str
    index: str
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    status: Status = "waiting"
    done: int = 0
    of: int | None = None  # None: not known
    began: float = field(default_factory=time.time)
    ended: float | None = None
    result: Any = None
    error: str | None = None
    unwanted: bool = False

    def note(self, done: int, of: int) -> None:
        """Note how far it is; raises where nobody wants it."""
        if self.unwanted:
            raise Cancelled
        self.done, self.of = done, of or None


class Jobs:
    """The jobs of a service; so many may wait or run at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "remuda-job")

    def start(self, kind: str, index: str, work: Work) -> Job:
        """A job that does the work when those before it are done."""
        job = Job(kind, index)
        with self._lock:
            if sum(one.ended is None for one in self._jobs.values()) >= self._most:
                raise Refused(503, f"{self._most} jobs wait or run; try again later")
            ended = [known.id for known in self._jobs.values() if known.ended is not None]
            for one in ended[: max(0, len(ended) - _KEPT)]:
                del self._jobs[one]
            self._jobs[job.id] = job
        self._thread.submit(_run, job, work)
        return job

    def get(self, id: str) -> Job:
        """A job by its id."""
        job = self._jobs.get(id)
        if job is None:
            raise Refused(404, f"there is no job {id!r}; jobs are forgotten when the service ends")
        return job

    def all(self) -> list[Job]:
        """All jobs that are known, the oldest first."""
        return list(self._jobs.values())

    def close(self) -> None:
        """End all jobs."""
        for job in self.all():
            job.unwanted = True
        self._thread.shutdown(wait=False, cancel_futures=True)


def _run(job: Job, work: Work) -> None:
    try:
        job.note(0, 0)
        job.status = "running"
        job.result = work(job.note)
        job.status = "done"
    except Cancelled:
        job.status = "cancelled"
    except Exception as error:
        job.status, job.error = "failed", str(error) or type(error).__name__
        if not isinstance(error, RemudaError):
            _logger.exception("job %s failed", job.id)
    job.ended = time.time()
