"""`torch.utils._pytree` against PyTorch's: leaves, structures, maps, paths, texts, registered types, errors."""

import dataclasses
import os
from collections import OrderedDict, defaultdict, deque, namedtuple
from enum import Enum

import pytest

from pellucid.utils import _pytree as pytree

torch = pytest.importorskip("torch")
theirs = torch.utils._pytree

Point = namedtuple("Point", ["x", "y"])
TREES = [
    1,
    None,
    [],
    (),
    {},
    [1, 2],
    (1, (2, [3, None])),
    {"a": 1, "b": {"c": [2]}},
    OrderedDict(z=1, a=(2,)),
    Point(1, [2]),
    defaultdict(list, {"k": [1, 2]}),
    deque([1, 2], maxlen=3),
    [Point({"a": 1}, ()), deque(), "text", {1, 2}],
    {"b": 1, "a": 2},
    [[[[1]]]],
    os.stat("/"),
]


def seen(run):
    try:
        return run()
    except Exception as error:
        return type(error), str(error).split(";")[0].split(". ")[0].replace(
            "_register_pytree_node", "register_pytree_node"
        )


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_leaves_structures_and_paths(tree):
    leaves, spec = pytree.tree_flatten(tree)
    their_leaves, their_spec = theirs.tree_flatten(tree)
    assert leaves == their_leaves == pytree.tree_leaves(tree) == list(pytree.tree_iter(tree))
    assert repr(spec) == repr(their_spec) and spec == pytree.tree_structure(tree)
    counts = [(each.num_nodes, each.num_leaves, each.num_children, each.is_leaf()) for each in (spec, their_spec)]
    assert counts[0] == counts[1] and hash(spec) == hash(pytree.tree_structure(tree))
    assert pytree.treespec_pprint(spec) == theirs.treespec_pprint(their_spec)
    rebuilt = spec.unflatten(leaves)
    assert rebuilt == tree and type(rebuilt) is type(tree)
    mine = [(pytree.keystr(path), leaf) for path, leaf in pytree.tree_leaves_with_path(tree)]
    assert mine == [(theirs.keystr(path), leaf) for path, leaf in theirs.tree_leaves_with_path(tree)]
    assert all(pytree.key_get(tree, path) is leaf for path, leaf in pytree.tree_leaves_with_path(tree))
    assert seen(lambda: pytree.treespec_dumps(spec)) == seen(lambda: theirs.treespec_dumps(their_spec))


@pytest.mark.parametrize("tree", [tree for tree in TREES if "Point" not in repr(tree)], ids=str)
def test_structures_as_text_go_both_ways(tree):
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_loads(theirs.treespec_dumps(theirs.tree_structure(tree))) == spec
    assert theirs.treespec_loads(pytree.treespec_dumps(spec)) == theirs.tree_structure(tree)


@pytest.mark.parametrize("first", TREES, ids=str)
def test_maps_over_two_trees(first):
    for second in TREES:
        mine = seen(lambda: pytree.tree_map(lambda *each: each, first, second))  # noqa: B023
        assert mine == seen(lambda: theirs.tree_map(lambda *each: each, first, second))  # noqa: B023
        spec, their_spec = pytree.tree_structure(second), theirs.tree_structure(second)
        spread = pytree._broadcast_to_and_flatten(first, spec)
        assert spread == theirs._broadcast_to_and_flatten(first, their_spec)


def test_maps_of_some_types_and_predicates():
    tree = {"a": [1, 2.5], "b": (True, "x")}
    for module in (pytree, theirs):
        assert module.tree_map_only(int, lambda x: -x, tree) == {"a": [-1, 2.5], "b": (-1, "x")}
        assert module.tree_map_only((str, float), repr, tree) == {"a": [1, "2.5"], "b": (True, "'x'")}
        assert module.tree_map_only(lambda x: x == 1, lambda x: "one", tree) == {"a": ["one", 2.5], "b": ("one", "x")}
        assert module.tree_all_only(int, lambda x: x < 3, tree) and not module.tree_any_only(str, str.isupper, tree)
        assert not module.tree_all(lambda x: x is None, tree) and module.tree_any(lambda x: x == "x", tree)
        assert module.tree_leaves(tree, is_leaf=lambda x: isinstance(x, list)) == [[1, 2.5], True, "x"]
        assert module.tree_map_with_path(lambda p, x, y: (len(p), x, y), [1, [2]], [3, [4]]) == [(1, 1, 3), [(2, 2, 4)]]
        assert module.arg_tree_leaves([1], k=(2, {"a": 3})) == [1, 2, 3]
        changed = [[1], [2]]
        assert module.tree_map_(lambda x: None, changed) is changed
    with pytest.raises(TypeError, match="must be a type"):
        pytree.map_only(3)


def test_wrong_leaves_and_structures():
    spec = pytree.tree_structure([1, 2])
    with pytest.raises(ValueError, match="has length 1 but the spec refers to a pytree that holds 2 items"):
        spec.unflatten([1])
    with pytest.raises(TypeError, match="Expected `treespec` to be an instance of PyTreeSpec"):
        pytree.tree_unflatten([1], [2])
    assert pytree.tree_unflatten(spec, [3, 4]) == [3, 4]
    assert spec != pytree.tree_structure((1, 2)) and spec.children() == [pytree.treespec_leaf()] * 2
    assert pytree.treespec_tuple([spec]) == pytree.tree_structure(([1, 2],))
    assert pytree.treespec_dict(a=spec) == pytree.tree_structure({"a": [1, 2]})
    with pytest.raises(ValueError, match="Unknown protocol"):
        pytree.treespec_dumps(spec, protocol=7)


class Colour(Enum):
    RED = 1


class Box:
    def __init__(self, *parts, label=None):
        self.parts, self.label = parts, label


@pytest.fixture
def box():
    pytree.register_pytree_node(
        Box, lambda each: (list(each.parts), each.label), lambda parts, label: Box(*parts, label=label),
        serialized_type_name="tests.Box",
    )  # fmt: skip
    yield Box
    pytree._deregister_pytree_node(Box)


def test_a_registered_type(box):
    tree = [box(1, [2], label=Colour.RED)]
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2] and pytree.tree_map(str, tree)[0].parts == ("1", ["2"])
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec and isinstance(hash(spec), int)
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(box, None, None)
    with pytest.raises(ValueError, match="flatten_with_keys_fn"):
        pytree.tree_leaves_with_path(tree)
    with pytest.raises(ValueError, match="context mismatch for custom node type"):
        pytree.tree_map(lambda a, b: a, box(1), box(2, label=3))


def test_dataclasses_constants_and_named_tuples():
    @dataclasses.dataclass
    class Pair:
        a: int
        b: object = None

    @dataclasses.dataclass(frozen=True)
    class Setting:
        name: str

    pytree.register_dataclass(Pair, serialized_type_name="tests.Pair")
    pytree.register_constant(Setting)
    try:
        tree = [Pair(1), Pair(2, [3]), Setting("x")]
        assert pytree.tree_leaves(tree) == [1, 2, 3] and pytree.tree_map(lambda x: x, tree) == tree
        assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(tree)] == ["[0].a", "[1].a", "[1].b[0]"]
        assert pytree.is_constant_class(Setting) and not pytree.is_constant_class(Pair)
        spec = pytree.tree_structure(tree[:2])
        assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
        with pytest.raises(ValueError, match="does not include all dataclass fields"):
            pytree.register_dataclass(Pair, field_names=["a"])
    finally:
        pytree._deregister_pytree_node(Pair)
        pytree._deregister_pytree_node(Setting)
    with pytest.raises(NotImplementedError, match="_register_namedtuple"):
        pytree.treespec_dumps(pytree.tree_structure(Point(1, 2)))
    pytree._register_namedtuple(Point, serialized_type_name="tests.Point")
    spec = pytree.tree_structure(Point(1, 2))
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    assert (
        pytree.is_namedtuple(Point) and pytree.is_namedtuple_instance(Point(1, 2)) and pytree.is_structseq(os.stat("/"))
    )
    pytree._deregister_pytree_node(Point)


def test_results_with_names_are_containers():
    import pellucid

    found = pellucid.ones(2, 2).max(0)
    leaves, spec = pytree.tree_flatten(found)
    assert len(leaves) == 2 and type(spec.unflatten(leaves)) is type(found)
