"""The trees of an index, and how the manifests of versions and segments name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from remuda.model.hierarchies import Hierarchies, Hierarchy
from remuda.model.values import is_text


def named_trees(hierarchies: Hierarchies | None) -> dict[str, Hierarchy]:
    """The trees by their names, looked at once."""
    for name, tree in (hierarchies or {}).items():
        if not isinstance(name, str) or not name or not is_text(name):
            raise ValueError(f"the name of a tree is a text that is not empty, not {name!r}")
        if not isinstance(tree, Hierarchy):
            raise TypeError(f"the tree {name!r} is no Hierarchy; Hierarchy.of() makes one")
    return dict(hierarchies or {})


def listed_trees(hierarchies: Hierarchies) -> dict[str, list[Any]]:
    """The trees as lists of pairs, which JSON has."""
    return {name: [*map(list, hierarchies[name].pairs())] for name in sorted(hierarchies)}


def trees_of(listed: Mapping[str, Iterable[Any]]) -> dict[str, Hierarchy]:
    """The trees that were listed."""
    return {name: Hierarchy.of(pairs) for name, pairs in listed.items()}


def written_trees(hierarchies: Hierarchies) -> dict[str, Any]:
    """What a version says of its trees; nothing where it has none."""
    return {"hierarchies": listed_trees(hierarchies)} if hierarchies else {}


def read_trees(facts: Mapping[str, Any]) -> dict[str, Hierarchy]:
    """The trees of a version."""
    return trees_of(facts.get("hierarchies", {}))


def tree_digests(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a segment says of the trees of the version that it is written for."""
    digests = {name: tree.digest for name, tree in read_trees(facts).items()}
    return {"trees": digests} if digests else {}


def has_trees(hierarchies: Hierarchies, segment: Mapping[str, Any]) -> bool:
    """Whether these are the trees that a segment was made with; it may lack some."""
    digests = segment.get("trees", {})
    return all(
        name in hierarchies and hierarchies[name].digest == digest
        for name, digest in digests.items()
    )
