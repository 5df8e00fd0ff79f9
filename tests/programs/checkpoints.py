"""Checkpoints: saving and loading every kind of thing, in every way."""

import collections
import io
import os
import pathlib
import pickle
import tempfile


def _there_and_back(torch, value, **options):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return torch.load(buffer, **options)


def tensors_of_every_dtype(torch, show):
    for name in "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64 complex128".split():
        show(_there_and_back(torch, torch.tensor([0, 1]).to(getattr(torch, name))))


def shapes_and_strides(torch, show):
    for x in (
        torch.tensor(3),
        torch.zeros(0, 2),
        torch.arange(6).view(2, 3).t(),
        torch.arange(10)[2:8:2],
        torch.ones(1).expand(3),
    ):
        show(_there_and_back(torch, x))


def structures(torch, show):
    value = {"a": [1, 2.5, "text", None, True], "b": (torch.ones(1),), 3: {"deep": torch.zeros(2)}, "set": {1, 2}}
    show(_there_and_back(torch, value))
    show(
        _there_and_back(torch, collections.OrderedDict(x=torch.ones(1))),
        _there_and_back(torch, 5),
        _there_and_back(torch, None),
    )
    show(_there_and_back(torch, [torch.float32, torch.device("cpu"), torch.Size([1, 2]), torch.strided]))
    show(
        _there_and_back(torch, collections.Counter("aab")),
        _there_and_back(torch, collections.defaultdict(int, a=1), weights_only=False),
    )


def shared_memory_stays_shared(torch, show):
    base = torch.arange(4.0)
    loaded = _there_and_back(torch, [base, base[1:], base])
    loaded[0][1] = 50
    show(loaded, loaded[0] is loaded[2])


def parameters_and_gradients(torch, show):
    p = torch.nn.Parameter(torch.ones(2))
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    show(_there_and_back(torch, [p, x]), _there_and_back(torch, x).grad)
    show.raises(lambda: _there_and_back(torch, x * 2).requires_grad)


def modules_whole(torch, show):
    m = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU())
    show.raises(lambda: _there_and_back(torch, m))
    again = _there_and_back(torch, m, weights_only=False)
    show(again, torch.equal(again[0].weight, m[0].weight))
    show.raises(lambda: _there_and_back(torch, m, weights_only=True))


def state_dicts_of_all(torch, show):
    m = torch.nn.BatchNorm1d(2)
    opt = torch.optim.Adam(m.parameters())
    m(torch.randn(3, 2)).sum().backward()
    opt.step()
    loaded = _there_and_back(torch, {"model": m.state_dict(), "opt": opt.state_dict(), "rng": torch.get_rng_state()})
    show(sorted(loaded), list(loaded["model"]), loaded["opt"]["param_groups"], loaded["rng"].dtype)
    show(torch.nn.BatchNorm1d(2).load_state_dict(loaded["model"]), loaded["model"]._metadata)


class _Custom:
    def __init__(self, x):
        self.x = x


def weights_only_refuses_code(torch, show):
    show.raises(lambda: _there_and_back(torch, _Custom(1)))
    show(_there_and_back(torch, _Custom(1), weights_only=False).x)
    show.raises(lambda: _there_and_back(torch, os.system))
    torch.serialization.add_safe_globals([_Custom])
    try:
        show(_there_and_back(torch, _Custom(2)).x, _Custom in torch.serialization.get_safe_globals())
    finally:
        torch.serialization.clear_safe_globals()
    with torch.serialization.safe_globals([_Custom]):
        show(_there_and_back(torch, _Custom(3)).x)
    show.raises(lambda: _there_and_back(torch, _Custom(1)))


def files_and_paths(torch, show):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.pt"
        torch.save(torch.ones(2), path)
        show(torch.load(path), torch.load(str(path)), torch.load(path, mmap=True))
        with open(path, "rb") as file:
            show(torch.load(file))
        show.raises(lambda: torch.load(path.with_name("missing.pt")))
        show.raises(lambda: torch.save(torch.ones(1), pathlib.Path(folder) / "no" / "folder.pt"))


def legacy_files(torch, show):
    buffer = io.BytesIO()
    torch.save({"a": torch.arange(3), "b": torch.ones(2)[1:]}, buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    show(torch.load(buffer))
    buffer.seek(0)
    show(torch.load(buffer, weights_only=False))
    buffer.seek(0)
    show.raises(lambda: torch.load(buffer, mmap=True))


def broken_files(torch, show):
    show.raises(lambda: torch.load(io.BytesIO(b"")))
    show.raises(lambda: torch.load(io.BytesIO(b"not a checkpoint")))
    buffer = io.BytesIO()
    torch.save(torch.ones(100), buffer)
    show.raises(lambda: torch.load(io.BytesIO(buffer.getvalue()[:200])))
    show.raises(lambda: torch.load(3))
    show.raises(lambda: torch.save(torch.ones(1), 3))


def mapping_devices(torch, show):
    for place in ("cpu", torch.device("cpu"), {"cpu": "cpu"}, lambda storage, location: storage, "meta"):
        show(_there_and_back(torch, torch.ones(2), map_location=place))
    show(_there_and_back(torch, torch.ones(2), map_location=lambda storage, location: show(location)))
    show.raises(lambda: _there_and_back(torch, torch.ones(2), map_location="nowhere"))


def other_pickle_protocols(torch, show):
    buffer = io.BytesIO()
    torch.save([torch.ones(1)], buffer, pickle_protocol=4)
    buffer.seek(0)
    show(torch.load(buffer, weights_only=False))
    buffer.seek(0)
    show.raises(lambda: torch.load(buffer, pickle_module=pickle, weights_only=True))


def plain_pickles(torch, show):
    x = torch.arange(3.0, requires_grad=True)
    show(pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps({"p": torch.nn.Parameter(x.detach())})))
    show(pickle.loads(pickle.dumps(torch.float16)), pickle.loads(pickle.dumps(torch.Size([2]))))
    show(
        pickle.loads(pickle.dumps(torch.device("cpu"))),
        pickle.loads(pickle.dumps(torch.Generator().manual_seed(3).get_state())).shape,
    )


def several_in_one_file(torch, show):
    buffer = io.BytesIO()
    torch.save(torch.ones(1), buffer, _use_new_zipfile_serialization=False)
    torch.save(torch.zeros(2), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    show(torch.load(buffer), torch.load(buffer))


def loading_onto_meta(torch, show):
    with torch.device("meta"):
        m = torch.nn.Linear(1, 1)
    show(m.weight)
    m.load_state_dict({"weight": torch.ones(1, 1), "bias": torch.zeros(1)}, assign=True)
    show(m.weight, m(torch.ones(1, 1)))


def storages(torch, show):
    x = torch.arange(4, dtype=torch.int16)
    show(_there_and_back(torch, x.untyped_storage(), weights_only=False).nbytes(), x.untyped_storage().tolist())
    show(x.storage().dtype if hasattr(x.storage(), "dtype") else None, len(x.untyped_storage()))
