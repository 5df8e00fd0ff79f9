"""The import directions of ARCHITECTURE.md: a layer imports itself and what stands to its left."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pellucid"
ENGINE = ["core", "ops", "tensor", "compiler", "backends", "export"]
SURFACE, APPLICATIONS = len(ENGINE), len(ENGINE) + 1
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def layer(module: str) -> int:
    _, part, *rest = [*module.split("."), ""]
    if part == "engine":
        return ENGINE.index(rest[0]) if rest[0] in ENGINE else 0
    return APPLICATIONS if part in {"vision", "audio", "text", "diagnose", "cli", "compat", "__main__"} else SURFACE


def imports(node: ast.AST, module: str, path: Path) -> Iterator[tuple[str, int]]:
    """Every module that `node` imports, with its line; what only type checkers see is left out."""
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        return
    if isinstance(node, ast.Import):
        yield from ((name.name, node.lineno) for name in node.names)
    elif isinstance(node, ast.ImportFrom):
        package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
        start = package[: len(package) - node.level + 1] if node.level else []
        origin = ".".join([*start, *filter(None, [node.module])])
        for name in node.names:  # `from pellucid.engine import ops` imports a module; most name something in one
            yield (f"{origin}.{name.name}" if f"{origin}.{name.name}" in MODULES else origin), node.lineno
    for child in ast.iter_child_nodes(node):
        yield from imports(child, module, path)


def found_imports(module: str) -> list[tuple[str, int]]:
    return list(imports(ast.parse(MODULES[module].read_text()), module, MODULES[module]))


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_to_the_left(module):
    wrong = [
        f"line {line}: {target}"
        for target, line in found_imports(module)
        if target.split(".")[0] == "pellucid" and layer(target) > layer(module)
    ]
    assert not wrong, f"{module} imports to its right: {wrong}"


@pytest.mark.parametrize("module", MODULES)
def test_the_package_never_imports_pytorch(module):
    wrong = [line for target, line in found_imports(module) if target.split(".")[0] in {"torch", "torchvision"}]
    assert not wrong, f"{module} imports PyTorch in lines {wrong}; it is for tests only"


@pytest.mark.parametrize("module", [name for name in MODULES if layer(name) == SURFACE])
def test_the_surface_knows_no_backend(module):
    wrong = [line for target, line in found_imports(module) if target.startswith("pellucid.engine.backends")]
    assert not wrong, f"{module} imports a backend in lines {wrong}; operators reach one by the device's name"


def test_the_rule_can_fail():
    path = Path("pellucid/engine/core/x.py")
    found = dict(imports(ast.parse("def f():\n    from ...nn import Module"), "pellucid.engine.core.x", path))
    assert found == {"pellucid.nn": 2} and layer("pellucid.nn") > layer("pellucid.engine.core.x")
