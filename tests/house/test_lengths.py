"""Files stay under 600 lines and functions under 60, docstring aside: longer ones hold more than one idea."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [path for part in ("pellucid", "tests", "benchmarks") for path in sorted((ROOT / part).rglob("*.py"))]
FORBIDDEN = {"utils.py", "helpers.py", "common.py", "misc.py"}
PYTORCH_NAMES = {"pellucid/nn/modules/utils.py", "pellucid/distributions/utils.py"}


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = function.body[1 if ast.get_docstring(function) is not None and len(function.body) > 1 else 0]
    return function.end_lineno - first.lineno + 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_and_function_lengths(path):
    text = path.read_text()
    lines = text.count("\n")
    assert lines <= 600, f"{path} has {lines} lines; split it by idea"
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [f"{node.name} (line {node.lineno}): {body_lines(node)}" for node in functions if body_lines(node) > 60]
    assert not long, f"{path}: functions over 60 lines: {long}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_names_say_what_is_inside(path):
    ours = str(path.relative_to(ROOT)) not in PYTORCH_NAMES
    assert not (ours and path.name in FORBIDDEN), f"{path}: name the file after what it holds"


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if "pellucid" in path.parts and path.stat().st_size],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_module_says_what_it_holds(path):
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path} has no docstring"
