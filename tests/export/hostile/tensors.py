"""Pickles that describe tensors, arrays and parameters that cannot be."""

from __future__ import annotations

from collections.abc import Iterator

from .build import Case, archive, name, number, numpy_array, numpy_type, pickled, storage, tensor, unicode

_OD = name("collections", "OrderedDict") + b")R"
_OS = unicode("os")


_BIG, _MINUS = number(1 << 60), number(-1)
BODIES = {
    "2**60 elements": tensor(storage(numel=_BIG)),
    "minus one element": tensor(storage(numel=_MINUS)),
    "numel True": tensor(storage(numel=b"\x88")),
    "five elements for four": tensor(storage(numel=number(5))),
    "three elements for four": tensor(storage(numel=number(3))),
    "numel of 2**100": tensor(storage(numel=number(1 << 100))),
    "numel a string": tensor(storage(numel=_OS)),
    "numel a float": tensor(storage(numel=b"G" + bytes(8))),
    "unknown key": tensor(storage(key=unicode("7"))),
    "key that climbs": tensor(storage(key=unicode("../data.pkl"))),
    "key None": tensor(storage(key=b"N")),
    "location None": tensor(storage(location=b"N")),
    "type a string": tensor(storage().replace(name("torch", "FloatStorage"), _OS)),
    "type a dtype": tensor(storage().replace(name("torch", "FloatStorage"), name("torch", "float32"))),
    "unknown storage class": tensor(storage("EvilStorage")),
    "double for float": tensor(storage("DoubleStorage")),
    "identity too short": tensor(b"(" + unicode("storage") + b"tQ"),
    "size of 2**60": tensor(size=_BIG + b"\x85"),
    "size of 2**100": tensor(size=number(1 << 100) + b"\x85"),
    "negative size": tensor(size=_MINUS + b"\x85"),
    "five of four": tensor(size=b"K\x05\x85"),
    "negative stride": tensor(stride=_MINUS + b"\x85"),
    "stride of 2**62": tensor(stride=number(1 << 62) + b"\x85"),
    "offset of one": tensor(offset=number(1)),
    "negative offset": tensor(offset=_MINUS),
    "offset of 2**62": tensor(offset=number(1 << 62)),
    "size a list of strings": tensor(size=_OS + b"\x85"),
    "size a number": tensor(size=b"K\x04"),
    "size None": tensor(size=b"N"),
    "two strides for one size": tensor(stride=b"K\x01K\x01\x86"),
    "float size": tensor(size=b"G" + bytes(8) + b"\x85"),
    "a hundred thousand dimensions": tensor(
        size=b"(" + b"K\x01" * 100_000 + b"t", stride=b"(" + b"K\x01" * 100_000 + b"t"
    ),
    "empty with a huge dimension": tensor(size=b"K\x00" + number(1 << 100) + b"\x86", stride=b"K\x01K\x01\x86"),
    "storage None": tensor(b"N"),
    "storage a tensor": tensor(tensor()),
    "dtype a string": tensor(storage("UntypedStorage", numel=number(16)), more=_OS, function="_rebuild_tensor_v3"),
    "dtype None": tensor(storage("UntypedStorage", numel=number(16)), more=b"N", function="_rebuild_tensor_v3"),
    "v3 with too large a dtype": tensor(
        storage("UntypedStorage", numel=number(16)),
        size=b"K\x03\x85",
        more=name("torch", "float64"),
        function="_rebuild_tensor_v3",
    ),
    "unknown flags": tensor(more=b"}" + unicode("evil") + b"\x88s"),
    "flags that are a list": tensor(more=b"](K\1e"),
    "expanded and conjugated": tensor(
        size=number(1 << 40) + b"\x85", stride=b"K\0\x85", more=b"}" + unicode("conj") + b"\x88s"
    ),
    "too few arguments": name("torch._utils", "_rebuild_tensor_v2") + b")R",
    "a gradient flag for integers": tensor(storage("IntStorage"), grad=b"\x88"),
    "a parameter of a string": name("torch._utils", "_rebuild_parameter") + b"(" + _OS + b"\x88" + _OD + b"tR",
    "a parameter of nothing": name("torch.nn.parameter", "Parameter") + b")R",
    "attributes that hide methods": name("torch._tensor", "_rebuild_from_type_v2")
    + b"("
    + name("torch._utils", "_rebuild_tensor")
    + name("torch", "Tensor")
    + b"("
    + storage()
    + number(0)
    + b"K\4\x85K\1\x85t}"
    + unicode("backward")
    + b"NstR",
    "attributes that replace the storage": name("torch._tensor", "_rebuild_from_type_v2")
    + b"("
    + name("torch._utils", "_rebuild_tensor")
    + name("torch", "Tensor")
    + b"("
    + storage()
    + number(0)
    + b"K\4\x85K\1\x85t}"
    + unicode("_storage")
    + b"NstR",
    "a subclass nobody allowed": name("torch._tensor", "_rebuild_from_type_v2")
    + b"("
    + name("torch._utils", "_rebuild_tensor")
    + name("torch", "float32")
    + b"("
    + storage()
    + number(0)
    + b"K\4\x85K\1\x85t}tR",
    "a size of strings": name("torch", "Size") + b"(" + _OS + b"t\x85R",
    "a size of 2**40": name("torch", "Size") + number(1 << 40) + b"\x85R",
    "an unknown device": name("torch", "device") + unicode("evil") + b"\x85R",
    "a layout called os": name("torch.serialization", "_get_layout") + _OS + b"\x85R",
    "a quantized tensor": name("torch._utils", "_rebuild_qtensor") + b")R",
    "a sparse tensor of nothing": name("torch._utils", "_rebuild_sparse_tensor") + b"NN\x86R",
    "a meta tensor of a string": name("torch._utils", "_rebuild_meta_tensor_no_storage") + b"(" + _OS + b"))\x89tR",
    "an array of objects": numpy_array(b"X\x02\0\0\0O8", b"B\x08\0\0\0" + bytes(8)),
    "an array of a billion bytes each": numpy_array(unicode("V1000000000"), b"C\0"),
    "a string type of 2**31": numpy_array(unicode("S2147483647"), b"C\0"),
    "an array shorter than its shape": numpy_array(unicode("f8"), b"C\x08" + bytes(8), size=number(2)),
    "an array of 2**60": numpy_array(unicode("f8"), b"C\x08" + bytes(8), size=number(1 << 60)),
    "a scalar of objects": name("numpy._core.multiarray", "scalar")
    + numpy_type(unicode("O8"))
    + b"C\x08"
    + bytes(8)
    + b"\x86R",
    "a scalar of the wrong size": name("numpy._core.multiarray", "scalar")
    + numpy_type(unicode("f8"))
    + b"C\x04"
    + bytes(4)
    + b"\x86R",
    "a dtype with fields": numpy_type(unicode("f8"))
    + b"(K\3"
    + unicode("<")
    + b"N"
    + b"("
    + unicode("a")
    + b"t"
    + b"}"
    + b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb",
    "an array type that is a tensor": name("numpy._core.multiarray", "_reconstruct")
    + name("torch", "Tensor")
    + b"K\0\x85C\1b\x87R",
}


def impossible_tensors() -> Iterator[Case]:
    for label, body in BODIES.items():
        yield Case(f"impossible: {label}", archive(pickled(body, 4)))
