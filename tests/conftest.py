"""Fixtures that all tests share."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from strategies import ALL, SOAK

# the matcher gpu runs in Numba's simulator, unless NUMBA_ENABLE_CUDASIM=0 says that there is a
# device; Numba looks at it once
os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


settings.register_profile(
    "remuda",
    deadline=None,  # compiling a kernel takes longer than any example
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not SOAK,
)
settings.load_profile("remuda")
if not SOAK:
    # Hypothesis also draws constants of the modules that happen to be imported, so that what is
    # drawn would depend on which tests ran before
    providers._get_local_constants = lambda: providers._local_constants


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
    outside = [item for item in items if item.get_closest_marker("outside") and not ALL]
    if outside:
        config.hook.pytest_deselected(items=outside)
        items[:] = [item for item in items if item not in set(outside)]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests in files or folders named for Spark share a session, so one worker runs them all.

    The mark xdist_group is for this, but pytest 9.2 and pytest-xdist 3.8 ignore it together.
    """
    from xdist.scheduler import LoadScopeScheduling

    class OneWorkerForSpark(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if "spark" in nodeid.split("::", 1)[0] else nodeid

    return OneWorkerForSpark(config, log)


@pytest.fixture(autouse=True)
def simulated(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where the matcher gpu is simulated, a thread a thread, they take turns often."""
    before = sys.getswitchinterval()
    if "gpu" in request.node.nodeid or "Device" in request.node.nodeid:
        sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[dict[str, str]]:
    """A server that speaks S3's protocol on loopback; what the environment must say to reach it."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "remuda",
        "AWS_SECRET_ACCESS_KEY": "remuda",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    server.stop()


@pytest.fixture
def bucket(s3_server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of an empty bucket."""
    import s3fs

    for name, value in s3_server.items():
        monkeypatch.setenv(name, value)
    name = f"test-{uuid.uuid4().hex[:12]}"
    s3fs.S3FileSystem().mkdir(name)
    return f"s3://{name}"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one session of all tests, started by the first that asks for it."""
    from remuda.spark.starting import session

    conf = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    started = session("local[2]", **conf)
    yield started
    started.stop()
