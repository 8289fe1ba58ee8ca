"""Order the nodes of a flow graph so that loops hang together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

Node = TypeVar("Node")

_DEEPEST = 40
"""The depth below which nested loops are not told apart. Deeper ones only take more time to run."""


def ordered(nodes: Sequence[Node], targets: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """Order the nodes of a flow graph: each stands before those after it, and loops hang together.

    The first node is the entry. A loop stands as its head, then the rest of it, ordered by the same rule.
    """
    found: list[Node] = []
    work: list[tuple[list[Node], int]] = [(list(nodes), 0)]
    while work:
        group, depth = work.pop()
        if len(group) == 1 or depth > _DEEPEST:
            found += group
            continue
        for head, *rest in reversed(_components(group, targets)):
            if rest:
                work.append((rest, depth + 1))
            work.append(([head], depth))
    return found


def _components(nodes: Sequence[Node], targets: Mapping[Node, Sequence[Node]]) -> list[list[Node]]:
    """Return the strongly connected components of a part of a graph in topological order (Tarjan's algorithm).

    Each has its nodes in the order in which a search from the first node meets them.
    """
    within = set(nodes)
    number: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    done: set[Node] = set()
    open_: list[Node] = []
    places: dict[Node, int] = {}
    components: list[list[Node]] = []
    for root in nodes:
        path = [] if root in number else [(root, iter(targets[root]))]
        while path:
            node, ways = path[-1]
            if node not in number:
                number[node] = lowest[node] = len(number)
                places[node] = len(open_)
                open_.append(node)
            target = next((way for way in ways if way in within and way not in done), None)
            if target is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == number[node]:
                    components.append(open_[places[node] :])
                    done.update(components[-1])
                    del open_[places[node] :]
            elif target in number:
                lowest[node] = min(lowest[node], number[target])
            else:
                path.append((target, iter(targets[target])))
    return components[::-1]
