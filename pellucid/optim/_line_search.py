"""The line search of L-BFGS: strong Wolfe conditions, by bracketing and zooming with cubic interpolation.

Nocedal and Wright, "Numerical Optimization", algorithms 3.5 and 3.6. A point on the line is its step size, the loss,
the gradient and the slope there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pellucid import Tensor

_SUFFICIENT_DECREASE = 1e-4
_CURVATURE = 0.9
_TOLERANCE_CHANGE = 1e-9


class Point(NamedTuple):
    """Where the search has been: step size, loss, gradient, slope along the direction."""

    t: Any
    loss: float
    gradient: Tensor
    slope: Any


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points with their slopes is least, within the bounds; their middle if nowhere."""
    x1, f1, g1, x2, f2, g2 = a.t, a.loss, a.slope, b.t, b.loss, b.slope
    low, high = bounds if bounds is not None else ((x1, x2) if x1 <= x2 else (x2, x1))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    d2_square = d1**2 - g1 * g2
    if not d2_square >= 0:
        return (low + high) / 2.0
    d2 = d2_square.sqrt()
    if x1 <= x2:
        position = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        position = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(position, low), high)


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Tensor]],
    t: Any,
    direction: Tensor,
    loss: float,
    gradient: Tensor,
    slope: Tensor,
    max_evaluations: int = 25,
) -> tuple[float, Tensor, Any, int]:
    """A step size with sufficient decrease and a flat enough slope, or the best found within the evaluations.

    Returns loss, gradient, step size and the number of evaluations.
    """
    start = Point(0, loss, gradient.clone(), slope)

    def visit(step_size: Any) -> Point:
        value, flat = evaluate(step_size)
        return Point(step_size, value, flat, flat.dot(direction))

    bracket, iterations, evaluations = _bracket(visit, start, t, max_evaluations)
    if len(bracket) == 2:
        extent = direction.abs().max()
        evaluations += _zoom(visit, start, bracket, extent, iterations, max_evaluations)
    best = bracket[0]
    return best.loss, best.gradient, best.t, evaluations


def _decreases_too_little(point: Point, start: Point) -> bool:
    return point.loss > start.loss + _SUFFICIENT_DECREASE * point.t * start.slope


def _is_flat(point: Point, start: Point) -> bool:
    return abs(point.slope) <= -_CURVATURE * start.slope


def _bracket(visit: Callable[[Any], Point], start: Point, t: Any, limit: int) -> tuple[list[Point], int, int]:
    """Goes further until a minimum is passed.

    Returns the two points around it, or one that will do; the iterations; the evaluations.
    """
    previous, point = start, visit(t)
    iterations, evaluations = 0, 1
    while iterations < limit:
        if _decreases_too_little(point, start) or (iterations > 1 and point.loss >= previous.loss):
            return [previous, point], iterations, evaluations
        if _is_flat(point, start):
            return [point], iterations, evaluations
        if point.slope >= 0:
            return [previous, point], iterations, evaluations
        bounds = (point.t + 0.01 * (point.t - previous.t), point.t * 10)
        further = cubic_minimum(previous, point, bounds)
        previous, point = point, visit(further)
        evaluations += 1
        iterations += 1
    return [start, point], iterations, evaluations


def _zoom(
    visit: Callable[[Any], Point], start: Point, bracket: list[Point], extent: Tensor, iterations: int, limit: int
) -> int:
    """Shrinks the bracket until its lower end satisfies both conditions, leaves that end alone in the list.

    Returns the number of evaluations.
    """
    evaluations = 0
    insufficient = False
    low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
    while iterations + evaluations < limit:
        if abs(bracket[1].t - bracket[0].t) * extent < _TOLERANCE_CHANGE:
            break
        t, insufficient = _keep_inside(cubic_minimum(bracket[0], bracket[1]), bracket, insufficient)
        point = visit(t)
        evaluations += 1
        if _decreases_too_little(point, start) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        is_flat = _is_flat(point, start)
        if not is_flat and point.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
        if is_flat:
            break
    if low == 1:
        bracket.reverse()
    del bracket[1:]
    return evaluations


def _keep_inside(t: Any, bracket: list[Point], insufficient: bool) -> tuple[Any, bool]:
    """Moves a point near an end of the bracket inwards, the second time in a row or if it lies outside."""
    least, most = min(bracket[0].t, bracket[1].t), max(bracket[0].t, bracket[1].t)
    margin = 0.1 * (most - least)
    if not min(most - t, t - least) < margin:
        return t, False
    if insufficient or t >= most or t <= least:
        return (most - margin if abs(t - most) < abs(t - least) else least + margin), False
    return t, True
