"""Storages and the constructors of old programs, against PyTorch."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")


def shared_halves(lib):
    x = lib.arange(6.0)
    return x, x[3:]


STORAGES = {
    "sizes": lambda lib: (
        lib.arange(6.0).untyped_storage().nbytes(),
        lib.arange(6.0)[2:].storage().size(),
        len(lib.ones(2).storage()),
    ),
    "views share": lambda lib: shared_halves(lib)[0].untyped_storage() is shared_halves(lib)[0].untyped_storage(),
    "same handle": lambda lib: (lambda x, y: (x.untyped_storage() is y.untyped_storage(), y.data_ptr() - x.data_ptr()))(
        *shared_halves(lib)
    ),
    "elements": lambda lib: lib.arange(3).t().storage().tolist(),
    "bytes": lambda lib: lib.ones(1).untyped_storage().tolist(),
    "item": lambda lib: lib.arange(3.0).storage()[1],
    "typed slice": lambda lib: lib.arange(3.0).storage()[1:],
    "class": lambda lib: (
        isinstance(lib.ones(1).storage(), lib.FloatStorage),
        isinstance(lib.ones(1).storage(), lib.LongStorage),
    ),
    "from a list": lambda lib: (
        lib.FloatStorage([1, 2]).tolist(),
        lib.LongStorage(2).size(),
        lib.UntypedStorage(8).size(),
    ),
    "set_": lambda lib: lib.empty(0).set_(lib.arange(6.0).untyped_storage(), 1, (2,), (2,)).tolist(),
    "set_ to a tensor": lambda lib: lib.empty(0).set_(lib.arange(6.0)[2:]).tolist(),
    "set_ to another type": lambda lib: lib.empty(0).set_(lib.arange(6)),
    "resize_": lambda lib: (lambda s: (s.resize_(0).nbytes(), s.resize_(8).size()))(lib.arange(3.0).untyped_storage()),
    "meta": lambda lib: (
        lib.ones(2, 3, device="meta").untyped_storage().nbytes(),
        lib.ones(2, device="meta").data_ptr(),
    ),
    "is_storage": lambda lib: (lib.is_storage(lib.ones(1).storage()), lib.is_storage(lib.ones(1))),
    "fill_": lambda lib: (lambda x: (x.storage().fill_(2), x.tolist())[1])(lib.ones(3)),
    "copy_": lambda lib: (lambda x: (x.storage().copy_(lib.arange(3.0).storage()), x.tolist())[1])(lib.ones(3)),
    "frombuffer": lambda lib: lib.frombuffer(bytearray(b"abcdefgh"), dtype=lib.int16, offset=2).tolist(),
    "frombuffer short": lambda lib: lib.frombuffer(bytearray(b"abc"), dtype=lib.int16),
    "names": lambda lib: (lib.ones(1).storage_type().__name__, lib.ones(1).storage().type()),
}

CONSTRUCTORS = {
    "empty": lambda lib: lib.Tensor(),
    "sizes": lambda lib: lib.Tensor(2, 3).zero_(),
    "one size": lambda lib: lib.Tensor(3).zero_(),
    "Size": lambda lib: lib.Tensor(lib.Size([2, 0])),
    "list": lambda lib: lib.Tensor([[1, 2], [3, 4]]),
    "tuple": lambda lib: lib.Tensor((1, 2)),
    "array": lambda lib: lib.Tensor(np.array([1.5, 2.0])),
    "range": lambda lib: lib.Tensor(range(3)),
    "NumPy size": lambda lib: lib.Tensor(np.int64(2)).zero_(),
    "tensor of another type": lambda lib: lib.Tensor(lib.tensor(3)),
    "storage": lambda lib: lib.Tensor(lib.ones(2).storage()),
    "float": lambda lib: lib.Tensor(3.0),
    "bool": lambda lib: lib.Tensor(True),
    "text": lambda lib: lib.Tensor("a"),
    "None": lambda lib: lib.Tensor(None),
    "negative": lambda lib: lib.Tensor(-1),
    "ragged": lambda lib: lib.Tensor([[1], [2, 3]]),
    "keyword": lambda lib: lib.Tensor([1], dtype=lib.int32),
    "long": lambda lib: lib.LongTensor([1.7, 2]),
    "bool list": lambda lib: lib.BoolTensor([1, 0]),
    "wrong type": lambda lib: lib.FloatTensor(lib.ones(2, dtype=lib.float64)),
    "new": lambda lib: lib.ones(2, dtype=lib.int32).new([1, 2]),
    "type": lambda lib: lib.ones(2).type(lib.DoubleTensor),
    "subclass": lambda lib: lib.Tensor._make_subclass(lib.Tensor, lib.ones(2), True),
}


def answer(ask, lib):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ask(lib)
        except Exception as error:
            return type(error)


@pytest.mark.parametrize("name", STORAGES)
def test_storages(name):
    assert answer(STORAGES[name], pellucid) == answer(STORAGES[name], torch)


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructors(name):
    ours, theirs = answer(CONSTRUCTORS[name], pellucid), answer(CONSTRUCTORS[name], torch)
    if isinstance(theirs, type):
        assert ours is theirs
    else:
        assert repr(ours) == repr(theirs)


def test_instances_of_legacy_types():
    x = pellucid.ones(2)
    assert isinstance(x, pellucid.FloatTensor) and not isinstance(x, pellucid.LongTensor)
    assert isinstance(pellucid.nn.Parameter(x), pellucid.FloatTensor) and not isinstance(3, pellucid.FloatTensor)
    assert repr(pellucid.FloatTensor) == repr(torch.FloatTensor)


def test_default_tensor_type():
    pellucid.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert pellucid.Tensor([1]).dtype is pellucid.float64
    finally:
        pellucid.set_default_tensor_type(pellucid.FloatTensor)
    with pytest.raises(TypeError, match="only floating-point types"):
        pellucid.set_default_tensor_type(pellucid.LongTensor)


def test_copies_of_storages_share_with_copies_of_tensors():
    x = pellucid.arange(4.0)
    y, storage = copy.deepcopy((x, x.untyped_storage()))
    assert y.untyped_storage() is storage and storage is not x.untyped_storage()
    assert pickle.loads(pickle.dumps(x.storage())).tolist() == x.tolist()


def test_subclass_instances_keep_their_history():
    class Marked(pellucid.Tensor):
        pass

    x = pellucid.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Marked)
    assert type(y) is Marked and type(Marked([1.0])) is Marked
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(NotImplementedError, match="wrapper subclass"):
        pellucid.Tensor._make_wrapper_subclass(Marked, (2,))


def test_set_beyond_the_storage():
    with pytest.raises(RuntimeError, match="out of bounds"):  # PyTorch enlarges the storage instead
        pellucid.empty(0).set_(pellucid.arange(6.0).storage(), 4, (5,), (1,))
