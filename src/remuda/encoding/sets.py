"""Many sets against one list: the sets that a list relates to, by counting shared elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from remuda.model.conditions import Related, Relation
from remuda.model.values import key


@dataclass(slots=True)
class SetIndex:
    """Set conditions by their elements, each with the space that says yes."""

    sizes: list[int] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    spaces: list[int] = field(default_factory=list)
    having: dict[Hashable, list[int]] = field(default_factory=dict)
    empty: list[int] = field(default_factory=list)  # supersets of nothing: every list

    def add(self, condition: Related, space: int) -> None:
        position = len(self.sizes)
        self.sizes.append(len(condition.keys))
        self.relations.append(condition.relation)
        self.spaces.append(space)
        for element in condition.keys:
            self.having.setdefault(element, []).append(position)
        if not condition.keys and condition.relation is Relation.SUPERSET:
            self.empty.append(space)

    def matching(self, values: list[Any]) -> list[int]:
        """The spaces of the sets that the list, which is not empty, relates to as they ask."""
        if not self.sizes:
            return []
        elements = set(map(key, values))
        shared = Counter(
            position for element in elements for position in self.having.get(element, ())
        )
        return self.empty + [
            self.spaces[position]
            for position, n_shared in shared.items()
            if self._related(position, n_shared, len(elements))
        ]

    def _related(self, position: int, n_shared: int, n_elements: int) -> bool:
        match self.relations[position]:
            case Relation.SUBSET:
                return n_shared == n_elements
            case Relation.SUPERSET:
                return n_shared == self.sizes[position]
            case Relation.EQUALSET:
                return n_shared == n_elements == self.sizes[position]
            case Relation.OVERLAPS:
                return True
