"""`torch.utils._pytree`: nested containers as leaves and a structure.

The containers, and registering more of them, are in `_pytree_nodes.py`.
"""

from __future__ import annotations

import functools
import importlib
import json
import types
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from pellucid.utils._pytree_nodes import (
    BUILTIN_TYPES,
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    ConstantNode,
    GetAttrKey,
    MappingKey,
    NodeDef,
    SequenceKey,
    _deregister_pytree_node,
    _private_register_pytree_node,
    _register_namedtuple,
    is_constant_class,
    is_namedtuple_class,
    is_structseq_class,
    node_type,
    register_constant,
    register_dataclass,
    register_pytree_node,
)

__all__ = [
    "SUPPORTED_NODES", "Context", "FlattenFn", "GetAttrKey", "KeyPath", "LeafSpec", "MappingKey", "NodeDef", "PyTree",
    "PyTreeSpec", "SequenceKey", "TreeSpec", "UnflattenFn", "_broadcast_to_and_flatten", "_deregister_pytree_node",
    "_private_register_pytree_node", "_register_namedtuple", "arg_tree_leaves", "is_constant_class", "is_namedtuple",
    "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance",
    "key_get", "keystr", "map_only", "register_constant", "register_dataclass", "register_pytree_node", "tree_all",
    "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter",
    "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_",
    "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dict", "treespec_dumps", "treespec_leaf",
    "treespec_loads", "treespec_pprint", "treespec_tuple",
]  # fmt: skip

PyTree = Any
Context = Any
FlattenFn = Callable[[Any], tuple[list[Any], Any]]
UnflattenFn = Callable[[Iterable[Any], Any], Any]
KeyPath = tuple[Any, ...]
IsLeaf = Callable[[Any], bool] | None


def is_namedtuple(obj: Any) -> bool:
    """Whether `obj` is a named tuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether `obj` is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether `obj` is a C struct sequence or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj: Any) -> bool:
    """Whether `obj` is a C struct sequence."""
    return is_structseq_class(type(obj))


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `tree` is no container, or one that `is_leaf` does not want opened.

    >>> from pellucid.utils._pytree import tree_is_leaf
    >>> tree_is_leaf(None), tree_is_leaf([]), tree_is_leaf([1], is_leaf=lambda each: isinstance(each, list))
    (True, False, True)
    """
    return is_leaf is not None and is_leaf(tree) or node_type(tree) not in SUPPORTED_NODES


# -- structures -------------------------------------------------------------------------------------------------------


class TreeSpec:
    """The structure of a nested container: the type of the outer one (None for a leaf), what it needs besides its
    entries, and the structures of these.
    """

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    type: Any
    num_nodes: int
    num_leaves: int
    num_children: int

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        if type is None and (context is not None or children_specs):
            raise AssertionError("leaf node should not have a context or children")
        self.type, self._context, self._children = type, context, children_specs
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in children_specs)

    @property
    def context(self) -> Any:
        """What the outer container needs besides its entries: a dictionary's keys, for example."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures of the entries: an older spelling of `children()`."""
        warnings.warn(
            "`treespec.children_specs` is deprecated. Use `treespec.child(index)` to access a single child, or "
            "`treespec.children()` to get all children.",
            FutureWarning,
            stacklevel=2,
        )
        return self._children

    def is_leaf(self) -> bool:
        """Whether it stands for a leaf."""
        return self.num_nodes == 1 and self.num_leaves == 1

    def children(self) -> list[TreeSpec]:
        """The structures of the entries."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The structure of one entry."""
        return self._children[index]

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        indent += 2
        parts = [child.__repr__(indent) for child in self._children]
        return f"TreeSpec({self.type.__name__}, {self._context}, [{(',' + chr(10) + ' ' * indent).join(parts)}])"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        alike = str(self.type) == str(other.type) and self._context == other._context
        return bool(alike and self._children == other._children)

    def __hash__(self) -> int:
        context = self._context
        if self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        elif self.type in STANDARD_DICT_TYPES:
            context = tuple(context)
        elif isinstance(context, ConstantNode):
            context = context.value
        elif self.type is not None and self.type not in BUILTIN_TYPES:
            context = None  # a program's own need not be hashable
        return hash((self.type, context, tuple(self._children)))

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of `tree` that stand where this structure has its leaves; ValueError where it differs above."""
        if self.is_leaf():
            return [tree]
        found: list[Any] = []
        for entry, child in zip(_entries_like(self, tree), self._children, strict=True):
            found += child.flatten_up_to(entry)
        return found

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The nested container with these leaves; ValueError unless there are as many as it holds."""
        leaves = leaves if isinstance(leaves, list | tuple) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return _built(self, iter(leaves))


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a leaf: an older spelling of `treespec_leaf()`."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF_SPEC = LeafSpec()


def _built(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    if spec.is_leaf():
        return next(leaves)
    entries = [_built(child, leaves) for child in spec._children]
    return SUPPORTED_NODES[spec.type].unflatten_fn(entries, spec._context)


def _entries_like(spec: TreeSpec, tree: Any) -> list[Any]:
    """A container's entries, in the order in which `spec` has them."""
    kind = node_type(tree)
    own = spec.type not in BUILTIN_TYPES
    dictionaries = spec.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
    if kind is not spec.type and not dictionaries:
        word = "Type" if own else "Node type"
        raise ValueError(f"{word} mismatch; expected {spec.type!r}, but got {kind!r}.")
    entries, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(entries) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(entries)}.")
    if dictionaries:
        keys = spec._context[1] if spec.type is defaultdict else spec._context
        if set(keys) != set(tree):
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            raise ValueError(f"Node keys mismatch; missing key(s): {missing}; extra key(s): {extra}.")
        return [tree[key] for key in keys]
    if kind is not deque and context != spec._context:
        if own:
            raise ValueError(f"Node context mismatch for custom node type {spec.type!r}.")
        raise ValueError(
            f"Node context mismatch for node type {spec.type!r}; expected {spec._context!r}, but got {context!r}."
        )
    return list(entries)


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple whose entries have these structures."""
    children = list(iterable)
    if any(not isinstance(child, TreeSpec) for child in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(mapping: Mapping[Any, TreeSpec] | Iterable[Any] = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dictionary whose values have these structures."""
    found = dict(mapping, **kwargs)
    if any(not isinstance(child, TreeSpec) for child in found.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {found!r}.")
    return TreeSpec(dict, list(found), list(found.values()))


def _need_spec(treespec: Any) -> TreeSpec:
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec


# -- leaves -----------------------------------------------------------------------------------------------------------


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the structure that puts them together again.

    >>> from pellucid.utils._pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten({"a": 1, "b": (2, [3])})
    >>> leaves, tree_unflatten([10, 20, 30], spec)
    ([1, 2, 3], {'a': 10, 'b': (20, [30])})
    """
    leaves: list[Any] = []
    return leaves, _spec_of(tree, is_leaf, leaves)


def _spec_of(tree: Any, is_leaf: IsLeaf, leaves: list[Any]) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF_SPEC
    kind = node_type(tree)
    entries, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_spec_of(each, is_leaf, leaves) for each in entries])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The nested container of a structure with these leaves; the two may be given in either order."""
    if not isinstance(treespec, TreeSpec) and isinstance(leaves, TreeSpec):
        leaves, treespec = treespec, leaves
    return _need_spec(treespec).unflatten(leaves)


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Iterate over the leaves."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for each in SUPPORTED_NODES[node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(each, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves from left to right."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure without the leaves.

    >>> from pellucid.utils._pytree import tree_structure
    >>> tree_structure((1, [2]))
    TreeSpec(tuple, None, [*,
      TreeSpec(list, None, [*])])
    """
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of a call's arguments."""
    return [leaf for each in (*args, *kwargs.values()) for leaf in tree_iter(each)]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The same structure with `func` applied to every leaf, together with what the other trees have there.

    >>> from pellucid.utils._pytree import tree_map
    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call `func` on every leaf for its effect; returns `tree` itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for each in zip(leaves, *[spec.flatten_up_to(rest) for rest in rests], strict=True):
        func(*each)
    return tree


def _predicate(chosen: Any) -> Callable[[Any], bool]:
    if isinstance(chosen, type | tuple | types.UnionType):
        return lambda value: isinstance(value, chosen)
    if callable(chosen):
        return chosen  # type: ignore[no-any-return]
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Make a function of some types (or of what a predicate accepts) one that returns everything else as it is."""
    wanted = _predicate(type_or_types_or_pred)

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def chosen_only(value: Any) -> Any:
            return func(value) if wanted(value) else value

        return chosen_only

    return decorate


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map` on the leaves of some types only; the others stay.

    >>> from pellucid.utils._pytree import tree_map_only
    >>> tree_map_only(int, lambda x: -x, [1, "a", (2,)])
    [-1, 'a', (-2,)]
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map_` on the leaves of some types only."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for every leaf."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for some leaf."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for every leaf of some types."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for some leaf of some types."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """One entry of `tree` per leaf of the structure: one counts for all below it. None where they do not fit."""
    full = treespec.unflatten([0] * treespec.num_leaves)
    found: list[Any] = []
    try:
        tree_map_(
            lambda each, below: found.extend([each] * len(tree_leaves(below, is_leaf))), tree, full, is_leaf=is_leaf
        )
    except ValueError:
        return None
    return found


# -- paths ------------------------------------------------------------------------------------------------------------


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with the steps that lead to it."""
    return list(_with_paths((), tree, is_leaf))


def _with_paths(path: KeyPath, tree: Any, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = node_type(tree)
    flatten = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if flatten is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, each in flatten(tree)[0]:
        yield from _with_paths((*path, key), each, is_leaf)


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """`tree_flatten` with the steps that lead to each leaf."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map` of a function that takes the path first.

    >>> from pellucid.utils._pytree import keystr, tree_map_with_path
    >>> tree_map_with_path(lambda path, x: f"{keystr(path)} is {x}", {"a": [1]})
    {'a': ["['a'][0] is 1"]}
    """
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*each, *more) for each, *more in zip(found, *others, strict=True)])


def keystr(kp: KeyPath) -> str:
    """A path as Python would write it: "['a'][0].weight"."""
    return "".join([str(key) for key in kp])


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# -- structures as text -----------------------------------------------------------------------------------------------


class _EnumEncoder(json.JSONEncoder):
    def default(self, o: Any) -> Any:
        if isinstance(o, Enum):
            return {"__enum__": True, "fqn": f"{type(o).__module__}:{type(o).__qualname__}", "name": o.name}
        return super().default(o)


def _enum_from(found: dict[str, Any]) -> Any:
    if "__enum__" not in found:
        return found
    module, _, path = found["fqn"].partition(":")
    owner: Any = importlib.import_module(module)
    for name in path.split("."):
        owner = getattr(owner, name)
    return owner[found["name"]]


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON, which `treespec_loads` reads; a type of yours needs a `serialized_type_name`.

    >>> from pellucid.utils import _pytree as pytree
    >>> spec = pytree.tree_structure([1, (2,)])
    >>> pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    True
    """
    spec = _need_spec(treespec)
    if protocol not in (None, 1):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return json.dumps((1, _to_json(spec)), cls=_EnumEncoder)


def _to_json(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_NODES.get(spec.type)
    if node is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if node.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your register_pytree_node call "
            "with a `serialized_type_name` kwarg."
        )
    if node.to_dumpable_context is not None:
        context = node.to_dumpable_context(spec._context)
    else:
        try:
            context = json.dumps(spec._context, cls=_EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
                "using register_pytree_node."
            ) from error
    children = [_to_json(child) for child in spec._children]
    return {"type": node.serialized_type_name, "context": context, "children_spec": children}


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote."""
    protocol, found = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _from_json(found)


def _from_json(found: dict[str, Any]) -> TreeSpec:
    if found["type"] is None and found["context"] is None and not found["children_spec"]:
        return _LEAF_SPEC
    if found["type"] not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {found['type']} in pytree is not registered.")
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE[found["type"]]
    read = SUPPORTED_NODES[kind].from_dumpable_context
    context = read(found["context"]) if read else json.loads(found["context"], object_hook=_enum_from)
    return TreeSpec(kind, context, [_from_json(child) for child in found["children_spec"]])


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as the container with a star for every leaf."""
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))
