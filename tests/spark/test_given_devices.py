"""The device that Spark gives a task is the one that its worker uses."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from remuda import cuda
from remuda.errors import DeviceError
from remuda.matchers.gpu import Gpu, device, lanes
from remuda.spark import tasks


@pytest.mark.parametrize(
    ("address", "visible", "number"),
    {
        "all are seen": ("2", None, 2),
        "an empty list": ("2", "", 2),
        "one of some": ("6", "4, 6", 1),
        "by its name": ("GPU-b", "GPU-a,GPU-b", 1),
        "the only one that is seen": ("3", "GPU-c", 0),
    }.values(),
    ids=["all are seen", "an empty list", "one of some", "by its name", "the only one"],
)
def test_a_device_has_the_number_that_the_process_has_for_it(address, visible, number) -> None:
    assert tasks.device_number(address, visible) == number


def test_a_name_that_nobody_knows_is_refused() -> None:
    with pytest.raises(DeviceError, match="gave the task the device 'GPU-x', which is no number"):
        tasks.device_number("GPU-x", None)


@pytest.fixture
def given(monkeypatch):
    """Says what Spark gives the task of this process."""

    def give(**resources: list[str]) -> None:
        held = {name: SimpleNamespace(addresses=own) for name, own in resources.items()}
        context = SimpleNamespace(resources=lambda: held)
        monkeypatch.setattr(tasks.TaskContext, "get", lambda: context)

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    yield give
    cuda._Chosen.of_process = 0


def test_a_task_uses_what_it_is_given(given) -> None:
    tasks.use_given_device()  # outside of a task
    given(fpga=["9"])
    tasks.use_given_device()
    given(gpu=["0"])
    tasks.use_given_device()
    assert cuda.chosen() == 0
    n = len(cuda.api().gpus)
    given(gpu=[str(n)])
    with pytest.raises(DeviceError, match=f"no CUDA device {n}: this process sees {n}"):
        tasks.use_given_device()


def test_with_another_device_clauses_and_lanes_are_new(given, monkeypatch) -> None:
    from matchers.tables import random_case
    from matchers.test_contract import rows_of

    selected = []
    found = cuda._found()
    monkeypatch.setattr(cuda, "_found", lambda: _Two(found, selected))
    monkeypatch.setattr(device, "_RESIDENTS", device._Residents())
    monkeypatch.setattr(lanes, "_lanes", lanes.Lanes())
    case = random_case(1)
    matcher = Gpu.build(case.table)
    for number in (0, 1, 1, 0):
        given(gpu=[str(number)])
        tasks.use_given_device()
        assert rows_of(matcher.match(case.events)) == case.expected()
        assert lanes._lanes._number == device._RESIDENTS._number == number
        assert len(device._RESIDENTS._placed) == 1
    assert selected == [1, 0]


class _Two:
    """CUDA with two devices, which are one."""

    gpus = (0, 1)

    def __init__(self, found, selected: list[int]) -> None:
        self._found, self.select_device = found, selected.append

    def __getattr__(self, name: str):
        return getattr(self._found, name)
