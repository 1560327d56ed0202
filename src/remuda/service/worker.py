"""One worker as a process: `python -m remuda.service.worker`, told its part as JSON."""

from __future__ import annotations

import sys

import msgspec

from remuda.errors import RemudaError
from remuda.service.workers import Part, work

if __name__ == "__main__":
    try:
        work(msgspec.json.decode(sys.argv[1], type=Part))
    except RemudaError as error:
        sys.exit(str(error))
