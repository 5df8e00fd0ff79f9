"""Every function and layer of the catalogue, called with a subclass and under a mode: the classes of the results, and
the functions that are seen, are PyTorch's.
"""

import warnings

import pytest

import pellucid
from tests.catalogue.running import Builder, find

torch = pytest.importorskip("torch")

from tests.catalogue.samples import CASES, LAYERS  # noqa: E402 (needs torch)
from tests.catalogue.table import Make  # noqa: E402

# What a tensor is asked about itself: PyTorch's layers ask more often, for the sake of backends that are not here.
FACTS = {"dim", "size", "numel", "dtype", "device", "shape", "is_nested", "is_cuda", "ndim", "stride", "is_meta"}
# Layers that go other ways to the same end: zeros made by other functions, masks joined inside the function.
OTHER_STEPS = ("nn.RNN", "nn.LSTM", "nn.GRU", "nn.AdaptiveLogSoftmax", "nn.Lazy", "nn.MultiheadAttention")
# `batch_sizes` is computed from the lengths, which need not be tensors.
OTHER_CLASSES = ("nn.utils.rnn.pack_padded_sequence", "nn.utils.rnn.pack_sequence")
FAMILIES = sorted({case.name[0] if "." not in case.name else case.name.rpartition(".")[0] for case in CASES})


def classes_in(value):
    if isinstance(value, (tuple, list)) and not isinstance(value, (torch.Size, pellucid.Size)):
        return [classes_in(each) for each in value]
    return type(value).__name__


def as_subclass(value, cls):
    if isinstance(value, (tuple, list)):
        return type(value)(as_subclass(each, cls) for each in value)
    return value.as_subclass(cls) if hasattr(value, "as_subclass") else value


def subclass_of(framework):
    return type("Sub", (framework.Tensor,), {})


def mode_of(framework, log):
    class Logging(framework.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(framework.overrides.resolve_name(func) or func.__name__)
            return func(*args, **(kwargs or {}))

    return Logging()


def with_a_subclass(framework, cls, name, sample):
    """The classes of what a call returns when all its tensors are of a subclass; None where it is an error."""
    args, kwargs = Builder(framework).sample(sample)
    args = [as_subclass(each, cls) for each in args]
    kwargs = {key: as_subclass(value, cls) for key, value in kwargs.items()}
    framework.manual_seed(0)
    try:
        return classes_in(find(framework, name)(*args, **kwargs))
    except Exception:
        return None


@pytest.mark.parametrize("family", FAMILIES)
def test_results_are_of_the_subclass(family):
    classes = {each: subclass_of(each) for each in (pellucid, torch)}
    different = []
    for case in CASES:
        if (case.name[0] if "." not in case.name else case.name.rpartition(".")[0]) != family:
            continue
        if case.name in OTHER_CLASSES:
            continue
        samples = list(case.samples(Make(case.label, case.dtypes[0])))[:2]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for sample in samples:
                mine, theirs = [with_a_subclass(each, classes[each], case.name, sample) for each in (pellucid, torch)]
                if theirs is not None and mine != theirs:
                    different.append((case.label, mine, theirs))
    assert different == []


def seen_in_forward(framework, layer, sample):
    """The functions that a mode sees in a layer's forward pass, without questions to tensors about themselves."""
    builder = Builder(framework)
    module = find(framework, layer.name)(
        *builder.value(layer.args), **{k: builder.value(v) for k, v in layer.kwargs.items()}
    )
    args, kwargs = builder.sample(sample)
    log = []
    with mode_of(framework, log):
        module(*args, **kwargs)
    return [name for name in log if name.removesuffix(".__get__").rpartition(".")[2] not in FACTS]


@pytest.mark.parametrize("letter", sorted({layer.name[3] for layer in LAYERS}))
def test_a_mode_sees_the_same_in_layers(letter):
    different = []
    for layer in LAYERS:
        if layer.name[3] != letter or layer.name.startswith(OTHER_STEPS):
            continue
        if "return_indices" in layer.kwargs:  # PyTorch shows another function then: max_pool2d_with_indices
            continue
        sample = next(iter(layer.inputs(Make(layer.label, "float32"))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mine, theirs = [seen_in_forward(each, layer, sample) for each in (pellucid, torch)]
        if mine != theirs:
            different.append((layer.label, mine, theirs))
    assert different == []
