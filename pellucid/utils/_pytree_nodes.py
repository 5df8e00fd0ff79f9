"""Which containers a pytree is made of: how each is taken apart, put together, and written to text."""

from __future__ import annotations

import dataclasses
import importlib
import threading
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pellucid.engine.tensor import return_types

Flatten = Callable[[Any], tuple[list[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]
NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"


class NodeDef(NamedTuple):
    """What is registered for a container type."""

    type: Any
    flatten_fn: Flatten
    unflatten_fn: Unflatten
    flatten_with_keys_fn: Any
    serialized_type_name: str
    to_dumpable_context: Callable[[Any], Any] | None
    from_dumpable_context: Callable[[Any], Any] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()
_lock = threading.RLock()


# -- steps from a container to an entry -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """The step to an entry of a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True, slots=True)
class MappingKey:
    """The step to an entry of a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The step to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


# -- registering ------------------------------------------------------------------------------------------------------


def register_pytree_node(
    cls: Any,
    flatten_fn: Flatten,
    unflatten_fn: Unflatten,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Make a type of yours a container: `flatten_fn(x)` gives its entries and a context, `unflatten_fn(entries,
    context)` the container again. ValueError for a type that is one already.

    >>> from pellucid.utils import _pytree as pytree
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> pytree.register_pytree_node(Pair, lambda pair: ([pair.a, pair.b], None), lambda parts, context: Pair(*parts))
    >>> pytree.tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(
        cls, flatten_fn, unflatten_fn, serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context, from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )  # fmt: skip


def _private_register_pytree_node(
    cls: Any,
    flatten_fn: Flatten,
    unflatten_fn: Unflatten,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    with _lock:
        if cls in SUPPORTED_NODES:
            warnings.warn(
                f"{cls} is already registered as pytree node. Overwriting the previous registration.", stacklevel=3
            )
        name = serialized_type_name or NO_SERIALIZED_TYPE_NAME_FOUND
        SUPPORTED_NODES[cls] = NodeDef(
            cls, flatten_fn, unflatten_fn, flatten_with_keys_fn, name, to_dumpable_context, from_dumpable_context
        )
        SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def _deregister_pytree_node(cls: Any) -> None:
    with _lock:
        node = SUPPORTED_NODES.pop(cls)
        SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(node.serialized_type_name, None)
        CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make a dataclass a container of its fields; fields that are None are no leaves.

    >>> from dataclasses import dataclass
    >>> from pellucid.utils import _pytree as pytree
    >>> @dataclass
    ... class Point:
    ...     x: int
    ...     y: int
    >>> pytree.register_dataclass(Point)
    >>> pytree.tree_map(lambda each: each + 1, Point(1, 2))
    Point(x=2, y=3)
    """
    names = _fields_of(cls, field_names, drop_field_names or [])

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        held = [name for name in names if getattr(obj, name) is not None]
        return [getattr(obj, name) for name in held], [held, [name for name in names if name not in held]]

    def flatten_with_keys(obj: Any) -> tuple[list[Any], Any]:
        values, (held, _) = flatten(obj)
        return [(GetAttrKey(name), value) for name, value in zip(held, values, strict=True)], held

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        held, absent = context
        return cls(**dict(zip(held, values, strict=True)), **dict.fromkeys(absent))

    _private_register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )


def _fields_of(cls: type, field_names: list[str] | None, dropped: list[str]) -> list[str]:
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a "
                "dataclass."
            )
        return field_names
    own = [field.name for field in dataclasses.fields(cls) if field.init]
    if field_names is None:
        return own
    expected = set(own) - set(dropped)
    if expected != set(field_names):
        missing, unexpected = expected - set(field_names), set(field_names) - expected
        raise ValueError(
            "field_names does not include all dataclass fields.\n"
            + (
                f"Missing fields in `field_names`: {missing}; add them there or to `drop_field_names`.\n"
                if missing
                else ""
            )
            + (f"Unexpected fields in `field_names`: {unexpected}; take them away.\n" if unexpected else "")
        )
    return field_names


@dataclasses.dataclass(frozen=True, slots=True)
class ConstantNode:
    """The context of a constant: the value itself."""

    value: Any


def register_constant(cls: type) -> None:
    """Make instances of a type part of the structure, with no leaves; they need `__eq__` and `__hash__`.

    >>> from dataclasses import dataclass
    >>> from pellucid.utils import _pytree as pytree
    >>> @dataclass(frozen=True)
    ... class Setting:
    ...     name: str
    >>> pytree.register_constant(Setting)
    >>> pytree.tree_leaves([Setting("fast"), 1])
    [1]
    """
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")

    def flatten(value: Any) -> tuple[list[Any], Any]:
        return [], ConstantNode(value)

    _private_register_pytree_node(cls, flatten, lambda values, context: context.value, flatten_with_keys_fn=flatten)
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: Any) -> bool:
    """Whether instances of `cls` are part of the structure."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


# -- the containers of Python -----------------------------------------------------------------------------------------


def is_namedtuple_class(cls: Any) -> bool:
    """Whether `cls` was made by `namedtuple` or derives from such a class."""
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(type(field) is str for field in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_structseq_class(cls: Any) -> bool:
    """Whether `cls` is a C struct sequence, such as `os.stat_result`."""
    counts = [getattr(cls, name, None) for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields")]
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(count, int) for count in counts)
        and not cls.__flags__ & 1 << 10  # may not be subclassed
    )


def node_type(value: Any) -> Any:
    """The type under which a value's kind of container is registered: all named tuples are one kind."""
    kind = type(value)
    return namedtuple if is_namedtuple_class(kind) else kind


def _by_position(values: Any) -> tuple[list[Any], Any]:
    return [(SequenceKey(index), value) for index, value in enumerate(values)], None


def _by_key(mapping: Any) -> tuple[list[Any], Any]:
    return [(MappingKey(key), value) for key, value in mapping.items()], list(mapping)


def _by_field(value: Any) -> tuple[list[Any], Any]:
    return [(GetAttrKey(name), each) for name, each in zip(value._fields, value, strict=True)], type(value)


def _namedtuple_name(context: Any) -> str:
    node = SUPPORTED_NODES.get(context)
    if node is None or node.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a "
            "serializated_type_name. Please register using `_register_namedtuple`."
        )
    return node.serialized_type_name


def _namedtuple_class(name: str) -> Any:
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {name} because we couldn't find a serializated name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[name]


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Give a named tuple class the name by which structures with it are written to text."""
    _private_register_pytree_node(
        cls, lambda value: (list(value), type(value)), lambda values, context: context(*values),
        serialized_type_name=serialized_type_name, to_dumpable_context=_namedtuple_name,
        from_dumpable_context=_namedtuple_class, flatten_with_keys_fn=_by_field,
    )  # fmt: skip


def _factory_to_text(context: Any) -> dict[str, Any]:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _factory_from_text(text: dict[str, Any]) -> list[Any]:
    module = importlib.import_module(text["default_factory_module"])
    return [getattr(module, text["default_factory_name"]), text["dict_context"]]


_private_register_pytree_node(
    tuple, lambda value: (list(value), None), lambda values, context: tuple(values),
    serialized_type_name="builtins.tuple", flatten_with_keys_fn=_by_position,
)  # fmt: skip
_private_register_pytree_node(
    list, lambda value: (value, None), lambda values, context: list(values),
    serialized_type_name="builtins.list", flatten_with_keys_fn=_by_position,
)  # fmt: skip
_private_register_pytree_node(
    dict, lambda value: (list(value.values()), list(value)),
    lambda values, context: dict(zip(context, values, strict=True)),
    serialized_type_name="builtins.dict", flatten_with_keys_fn=_by_key,
)  # fmt: skip
_private_register_pytree_node(
    namedtuple, lambda value: (list(value), type(value)), lambda values, context: context(*values),
    serialized_type_name="collections.namedtuple", to_dumpable_context=_namedtuple_name,
    from_dumpable_context=_namedtuple_class, flatten_with_keys_fn=_by_field,
)  # fmt: skip
_private_register_pytree_node(
    OrderedDict, lambda value: (list(value.values()), list(value)),
    lambda values, context: OrderedDict(zip(context, values, strict=True)),
    serialized_type_name="collections.OrderedDict", flatten_with_keys_fn=_by_key,
)  # fmt: skip
_private_register_pytree_node(
    defaultdict, lambda value: (list(value.values()), [value.default_factory, list(value)]),
    lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
    serialized_type_name="collections.defaultdict", to_dumpable_context=_factory_to_text,
    from_dumpable_context=_factory_from_text, flatten_with_keys_fn=_by_key,
)  # fmt: skip
_private_register_pytree_node(
    deque, lambda value: (list(value), value.maxlen), lambda values, context: deque(values, maxlen=context),
    serialized_type_name="collections.deque", flatten_with_keys_fn=_by_position,
)  # fmt: skip


def _register_named_result(kind: Any) -> None:
    """What `torch.max(x, 0)` and its like return."""
    _private_register_pytree_node(
        kind, lambda value: (list(value), None), lambda values, context: kind(values), flatten_with_keys_fn=_by_position
    )


for _found in vars(return_types).values():
    if getattr(_found, "_title", ""):
        _register_named_result(_found)

STANDARD_DICT_TYPES: frozenset[Any] = frozenset((dict, OrderedDict, defaultdict))
BUILTIN_TYPES: frozenset[Any] = frozenset((tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque))
