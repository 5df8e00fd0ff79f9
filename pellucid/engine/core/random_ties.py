"""The order of equal keys in PyTorch's `topk`, which `multinomial` without replacement inherits.

PyTorch selects with `std::partial_sort` or `std::nth_element` and `std::sort`; none of them is stable, so with equal
keys the result depends on the exchanges of the algorithm itself. This is the selection of the GNU C++ library:
D. Musser (1997), "Introspective sorting and selection algorithms". Needed only where keys tie, hence plain Python.
"""

from __future__ import annotations

import numpy as np

_INSERTION_LIMIT = 16


def smallest_first(keys: np.ndarray, count: int) -> np.ndarray:
    """Indices of the `count` smallest of one row of keys, in ascending order, equal keys as PyTorch leaves them."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order[: count + 1]]
    if not (ranked[1:] == ranked[:-1]).any():
        return order[:count]
    selection = _Selection(keys)
    if count * 64 <= len(keys):
        selection.partial_sort(0, count, len(keys))
    else:
        selection.nth_element(count - 1)
        selection.sort(0, count - 1)
    return np.array(selection.items[:count])


class _Selection:
    """A list of indices that is rearranged by the keys they stand for."""

    def __init__(self, keys: np.ndarray) -> None:
        self.keys: list[float] = keys.tolist()
        self.items = list(range(len(self.keys)))

    def _less(self, i: int, j: int) -> bool:
        return self.keys[self.items[i]] < self.keys[self.items[j]]

    def _swap(self, i: int, j: int) -> None:
        items = self.items
        items[i], items[j] = items[j], items[i]

    def nth_element(self, nth: int) -> None:
        first, last = 0, len(self.items)
        depth = 2 * (last.bit_length() - 1)
        while last - first > 3:
            if depth == 0:
                self._heap_select(first, nth + 1, last)
                self._swap(first, nth)
                return
            depth -= 1
            cut = self._partition(first, last)
            if cut <= nth:
                first = cut
            else:
                last = cut
        self._insertion_sort(first, last)

    def sort(self, first: int, last: int) -> None:
        if first == last:
            return
        self._sort_loop(first, last, 2 * ((last - first).bit_length() - 1))
        start = min(first + _INSERTION_LIMIT, last)
        self._insertion_sort(first, start)
        for position in range(start, last):
            self._insert(position)

    def _sort_loop(self, first: int, last: int, depth: int) -> None:
        while last - first > _INSERTION_LIMIT:
            if depth == 0:
                self.partial_sort(first, last, last)
                return
            depth -= 1
            cut = self._partition(first, last)
            self._sort_loop(cut, last, depth)
            last = cut

    def _partition(self, first: int, last: int) -> int:
        """Moves the median of three to `first` and parts the rest by it; returns where the upper part starts."""
        self._median_to(first, first + 1, first + (last - first) // 2, last - 1)
        keys, items = self.keys, self.items
        pivot, low = keys[items[first]], first + 1
        while True:
            while keys[items[low]] < pivot:
                low += 1
            last -= 1
            while pivot < keys[items[last]]:
                last -= 1
            if low >= last:
                return low
            items[low], items[last] = items[last], items[low]
            low += 1

    def _median_to(self, result: int, a: int, b: int, c: int) -> None:
        if self._less(a, b):
            median = b if self._less(b, c) else c if self._less(a, c) else a
        else:
            median = a if self._less(a, c) else c if self._less(b, c) else b
        self._swap(result, median)

    def _insertion_sort(self, first: int, last: int) -> None:
        for position in range(first + 1, last):
            if self._less(position, first):
                self.items.insert(first, self.items.pop(position))
            else:
                self._insert(position)

    def _insert(self, position: int) -> None:
        keys, items = self.keys, self.items
        item = items[position]
        while keys[item] < keys[items[position - 1]]:
            items[position] = items[position - 1]
            position -= 1
        items[position] = item

    def partial_sort(self, first: int, middle: int, last: int) -> None:
        self._heap_select(first, middle, last)
        for end in range(middle - 1, first, -1):
            self._pop_heap(first, end, end)

    def _heap_select(self, first: int, middle: int, last: int) -> None:
        length = middle - first
        for parent in range((length - 2) // 2, -1, -1):
            self._sift(first, parent, length, self.items[first + parent])
        for position in range(middle, last):
            if self._less(position, first):
                self._pop_heap(first, middle, position)

    def _pop_heap(self, first: int, last: int, result: int) -> None:
        item = self.items[result]
        self.items[result] = self.items[first]
        self._sift(first, 0, last - first, item)

    def _sift(self, first: int, hole: int, length: int, item: int) -> None:
        """Lets the hole sink to a leaf along the larger children, then the item rise from there."""
        keys, items, top = self.keys, self.items, hole
        child = hole
        while child < (length - 1) // 2:
            child = 2 * (child + 1)
            if self._less(first + child, first + child - 1):
                child -= 1
            items[first + hole] = items[first + child]
            hole = child
        if length % 2 == 0 and child == (length - 2) // 2:
            child = 2 * child + 1
            items[first + hole] = items[first + child]
            hole = child
        parent = (hole - 1) // 2
        while hole > top and keys[items[first + parent]] < keys[item]:
            items[first + hole] = items[first + parent]
            hole = parent
            parent = (hole - 1) // 2
        items[first + hole] = item
