"""Who may do what: tokens with roles, from a file that is read again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import remuda as rm
from remuda.service import tokens as module
from remuda.service.app import ENDPOINTS
from remuda.service.serving import Exposed, Terms, serve
from remuda.service.tokens import Role, Tokens

WORDS = {role: f"the-token-to-{role.name.lower()}" for role in Role}
HIDDEN = "a-token-that-is-not-in-the-file"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    digest = hashlib.sha256(HIDDEN.encode()).hexdigest()
    lines = ["# ours", "", *(f"{role.name.lower()} {word}" for role, word in WORDS.items())]
    path = tmp_path / "tokens"
    path.write_text("\n".join([*lines, f"read sha256:{digest}"]))
    return path


def bearing(word: str) -> dict[str, str]:
    return {"authorization": f"Bearer {word}"}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: f"{one.method} {one.path}")
def test_every_endpoint_asks_for_its_role(
    engine: rm.Engine, asking: Any, file: Path, endpoint: Any
) -> None:
    http = asking(engine, tokens=Tokens(file))
    path = endpoint.path.replace("{index}", "none").replace("{id}", "none")
    statuses = {
        role: http.request(endpoint.method, path, headers=bearing(word)).status_code
        for role, word in WORDS.items()
    }
    assert {role for role, status in statuses.items() if status in {401, 403}} == {
        role for role in Role if role < endpoint.role
    }
    assert http.request(endpoint.method, path).status_code == 401


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer nobody", "Basic dTpw", f"Bearer {WORDS[Role.READ]}x", "\xff"],
)
def test_strangers_are_told_to_bring_a_token(
    engine: rm.Engine, asking: Any, file: Path, header: str
) -> None:
    http = asking(engine, tokens=Tokens(file))
    found = http.get("/v1/indexes", headers={"authorization": header.encode("latin-1")})
    assert found.status_code == 401
    assert found.headers["www-authenticate"] == "Bearer"


def test_a_token_may_be_kept_as_its_digest(engine: rm.Engine, asking: Any, file: Path) -> None:
    http = asking(engine, tokens=Tokens(file))
    assert http.get("/v1/indexes", headers=bearing(HIDDEN)).status_code == 200


def test_the_description_asks_for_a_token_where_the_service_does(
    engine: rm.Engine, asking: Any, file: Path
) -> None:
    def wanted(http: Any) -> set[bool]:
        paths = http.get("/openapi.json").json()["paths"]
        return {bool(one["security"]) for one in paths["/v1/indexes/{index}"].values()}

    assert wanted(asking(engine)) == {False}
    assert wanted(asking(engine, tokens=Tokens(file))) == {True}


def test_probes_and_the_page_are_open(engine: rm.Engine, asking: Any, file: Path) -> None:
    http = asking(engine, tokens=Tokens(file))
    for path in ("/", "/healthz", "/openapi.json", "/page/script.js", "/page/style.css"):
        assert http.get(path).status_code == 200
    assert http.get("/readyz").status_code == 503  # nothing was compiled yet


def test_the_file_is_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_EVERY", 0.0)
    known = Tokens(file)
    assert known.role(WORDS[Role.ADMIN]) is Role.ADMIN
    file.write_text("write another-token-altogether\n")
    assert known.role(WORDS[Role.ADMIN]) is None
    assert known.role("another-token-altogether") is Role.WRITE
    file.write_text("what is this\n")
    assert known.role("another-token-altogether") is Role.WRITE
    assert "stay valid" in caplog.text
    assert "another-token" not in caplog.text
    file.unlink()
    assert known.role("another-token-altogether") is Role.WRITE


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("owner a-token-that-is-long", "line 1 is not a role"),
        ("\nread", "line 2 is not a role"),
        ("read a-token-that-is-long and more", "line 1 is not a role"),
        ("read short", "16 characters at least"),
        ("read sha256:abc", "64 hex digits"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(rm.StorageError, match=reason):
        Tokens(path)


def test_without_tokens_only_this_machine_is_served(engine: rm.Engine, http: Any) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(Exposed, match="give a file of tokens"):
            serve(engine, Terms(host=host))
    for name in ("evil.example", "127.0.0.1.evil.example:8000", "", "10.0.0.1", "[2001:db8::1]:80"):
        assert http.get("/v1/indexes", headers={"host": name}).status_code == 421
    for name in ("localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000"):
        assert http.get("/v1/indexes", headers={"host": name}).status_code == 200
