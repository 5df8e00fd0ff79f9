"""Saving and loading by name: what is in a state dict, what loading says when it fails, and that it loads all or
nothing.
"""

import copy
from collections import OrderedDict

import pytest

import pellucid
from pellucid import nn

from .oracle import torch

FRAMEWORKS = [torch, pellucid]


def net(framework=pellucid):
    layers = framework.nn
    return layers.Sequential(
        layers.Linear(2, 3), layers.Sequential(layers.BatchNorm1d(3), layers.Linear(3, 1, bias=False))
    )


def values(module):
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def unchanged(module, before):
    return all(bool((tensor == before[name]).all()) for name, tensor in module.state_dict().items())


def message(call):
    with pytest.raises(RuntimeError) as caught:
        call()
    return str(caught.value)


def test_keys_metadata_and_sharing_are_pytorch_s():
    theirs, mine = net(torch).state_dict(prefix="p."), net().state_dict(prefix="p.")
    assert list(mine) == list(theirs) and isinstance(mine, OrderedDict)
    assert mine._metadata == theirs._metadata
    layer = nn.Linear(1, 1)
    state = layer.state_dict()
    assert not state["weight"].requires_grad
    state["weight"].fill_(7)
    assert float(layer.weight.detach()) == 7
    assert layer.state_dict(keep_vars=True)["weight"] is layer.weight
    destination = {}
    assert layer.state_dict(destination=destination) is destination and len(destination) == 2
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        layer.state_dict(destination)


def test_a_full_load_says_that_all_keys_matched():
    mine, other = net(), net()
    result = mine.load_state_dict(other.state_dict())
    assert str(result) == "<All keys matched successfully>" and result.missing_keys == []
    assert unchanged(mine, other.state_dict())
    assert str(mine.load_state_dict({}, strict=False)).startswith("_IncompatibleKeys(missing_keys=['0.weight',")


def test_messages_have_pytorch_s_phrases():
    texts = []
    for framework in FRAMEWORKS:
        layer = framework.nn.Linear(2, 2)
        given = {"a": framework.ones(1), "weight": framework.ones(3, 2)}
        texts.append(message(lambda layer=layer, given=given: layer.load_state_dict(given)))
    assert texts[1].startswith(texts[0])
    assert "Nothing was loaded" in texts[1]
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like"):
        nn.Linear(1, 1).load_state_dict([1])


def test_a_failed_load_leaves_everything_as_it_was():
    good = values(net())
    for break_it in (
        lambda state: state.update({"1.1.weight": pellucid.ones(5, 5)}),
        lambda state: state.pop("1.1.weight"),
        lambda state: state.update({"2.weight": pellucid.ones(1)}),
        lambda state: state.update({"1.1.weight": "text"}),
    ):
        mine, state = net(), copy.copy(good)
        before = values(mine)
        break_it(state)
        message(lambda mine=mine, state=state: mine.load_state_dict(state))
        assert unchanged(mine, before)


def test_a_shape_mismatch_raises_without_strict_too_and_names_every_key():
    mine = net()
    state = {name: pellucid.ones(9, 9) for name in mine.state_dict()}
    text = message(lambda: mine.load_state_dict(state, strict=False))
    assert all(name in text for name in state)
    assert "size mismatch for 0.weight: copying a param with shape torch.Size([9, 9]) from checkpoint" in text


def wide(count):
    return nn.ModuleDict({f"part{i % 3}": nn.ModuleList([nn.Linear(1, 1) for _ in range(count)]) for i in range(3)})


def test_messages_stay_short_for_hundreds_of_keys():
    big = wide(60)
    state = big.state_dict()
    prefixed = {f"module.{name}": value for name, value in state.items()}
    text = message(lambda: big.load_state_dict(prefixed))
    assert text.count("\n") < 15 and 'pass load_state_dict(..., strip_prefix="module.")' in text
    assert "all 360 missing keys" in text
    assert big.load_state_dict(prefixed, strip_prefix="module.").missing_keys == []
    wrong = {name: pellucid.ones(3, 3) for name in state}
    text = message(lambda: big.load_state_dict(wrong))
    assert text.count("\n") < 15 and all(name in text for name in state)
    assert message(lambda: big.load_state_dict({})).count("\n") < 15


def test_hints_for_other_prefixes_and_misspellings():
    inner = net()
    wrapped = nn.ModuleDict({"module": net()})
    text = message(lambda: wrapped.load_state_dict(inner.state_dict()))
    assert 'model.get_submodule("module").load_state_dict' in text
    renamed = {
        name.replace("1.", "head.", 1) if name.startswith("1.") else name: v for name, v in inner.state_dict().items()
    }
    assert '"head." where the model has "1."' in message(lambda: net().load_state_dict(renamed))
    state = nn.Linear(1, 1).state_dict()
    state["wieght"] = state.pop("weight")
    assert '"wieght" looks like "weight"' in message(lambda: nn.Linear(1, 1).load_state_dict(state))


def test_assign_takes_the_given_tensors():
    layer = nn.Linear(1, 1, device="meta")
    layer.bias.requires_grad_(False)
    weight = pellucid.ones(1, 1)
    layer.load_state_dict({"weight": weight, "bias": pellucid.ones(1)}, assign=True)
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.data_ptr() == weight.data_ptr()
    assert layer.weight.requires_grad and not layer.bias.requires_grad
    state = {"weight": pellucid.ones(1, 1), "bias": pellucid.ones(1)}
    with pytest.warns(UserWarning, match="copying from a non-meta parameter"):
        nn.Linear(1, 1, device="meta").load_state_dict(state)


def test_loading_copies_into_the_parameters_and_casts():
    layer = nn.Linear(1, 1)
    weight = layer.weight
    layer.load_state_dict({"weight": pellucid.full((1, 1), 2.0, dtype=pellucid.float64), "bias": pellucid.zeros(1)})
    assert layer.weight is weight and weight.dtype is pellucid.float32 and float(weight.detach()) == 2
    assert weight.requires_grad and weight.is_leaf


class WithState(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = 1

    def get_extra_state(self):
        return {"value": self.value}

    def set_extra_state(self, state):
        self.value = state["value"]


def test_extra_state_is_saved_and_required():
    module, other = nn.Sequential(WithState()), nn.Sequential(WithState())
    module[0].value = 5
    state = module.state_dict()
    assert state == {"0._extra_state": {"value": 5}}
    other.load_state_dict(state)
    assert other[0].value == 5
    assert "Missing key(s)" in message(lambda: other.load_state_dict({}))
    assert "Unexpected key(s)" in message(lambda: nn.Sequential(nn.ReLU()).load_state_dict(state))
    state["1.weight"] = 3
    state["0._extra_state"] = {"value": 9}
    message(lambda: other.load_state_dict(state))
    assert other[0].value == 5


def test_hooks_of_saving_and_loading_run_in_order():
    log = []
    layer = nn.Linear(1, 1)
    layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: log.append("save pre"))
    layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: log.append("save post"))
    layer.register_load_state_dict_pre_hook(lambda module, *args: log.append(type(module).__name__))
    layer.register_load_state_dict_post_hook(lambda module, keys: log.append(type(keys).__name__))
    layer.load_state_dict(layer.state_dict())
    assert log == ["save pre", "save post", "Linear", "_IncompatibleKeys"]
    layer.register_state_dict_post_hook(lambda *args: {})
    with pytest.raises(RuntimeError, match="post-hook must return None"):
        layer.state_dict()


def test_a_pre_hook_may_rename_and_a_post_hook_may_forgive():
    layer = nn.Linear(1, 1)

    def rename(module, state, prefix, *rest):
        state[prefix + "weight"] = state.pop(prefix + "old")

    layer.register_load_state_dict_pre_hook(rename)
    state = {"old": pellucid.full((1, 1), 4.0)}
    before = values(layer)
    assert "Missing key(s)" in message(lambda: layer.load_state_dict(state)) and unchanged(layer, before)
    seen = []

    def forgive(module, keys):
        seen.append(float(module.weight.detach()))
        keys.missing_keys.clear()

    layer.register_load_state_dict_post_hook(forgive)
    layer.load_state_dict(state)
    assert seen == [4.0] and float(layer.weight.detach()) == 4.0


def test_what_was_loaded_before_a_post_hook_s_verdict_is_taken_back():
    layer = nn.Linear(1, 1)
    layer.register_load_state_dict_post_hook(lambda module, keys: None)
    before = values(layer)
    message(lambda: layer.load_state_dict({"weight": pellucid.full((1, 1), 4.0)}))
    assert unchanged(layer, before)
    message(lambda: layer.load_state_dict({"weight": pellucid.full((1, 1), 4.0)}, assign=True))
    assert unchanged(layer, before)


def test_a_class_with_its_own_loading_still_works():
    class Renamed(nn.Linear):
        def _load_from_state_dict(self, state_dict, prefix, *rest):
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
            super()._load_from_state_dict(state_dict, prefix, *rest)

    module = nn.Sequential(Renamed(1, 1, bias=False))
    module.load_state_dict({"0.w": pellucid.full((1, 1), 3.0)})
    assert float(module[0].weight.detach()) == 3
    error_msgs = []
    module[0]._load_from_state_dict({"w": pellucid.full((1, 1), 5.0)}, "", {}, True, [], [], error_msgs)
    assert float(module[0].weight.detach()) == 5 and error_msgs == []


def test_old_batch_norm_states_have_no_batch_count():
    norm = nn.BatchNorm1d(2)
    state = norm.state_dict()
    del state["num_batches_tracked"]
    state._metadata = OrderedDict()
    assert norm.load_state_dict(state).missing_keys == []
    state._metadata = OrderedDict([("", {"version": 2})])
    assert 'Missing key(s) in state_dict: "num_batches_tracked"' in message(lambda: norm.load_state_dict(state))


def test_old_instance_norm_states_are_refused_with_advice():
    norm = nn.InstanceNorm1d(2)
    text = message(lambda: norm.load_state_dict({"running_mean": pellucid.zeros(2)}))
    assert 'Unexpected running stats buffer(s) "running_mean" for InstanceNorm1d' in text


def test_zero_dim_parameters_take_one_element():
    module = nn.Module()
    module.scale = nn.Parameter(pellucid.tensor(1.0))
    module.load_state_dict({"scale": pellucid.tensor([3.0])})
    assert float(module.scale.detach()) == 3


def test_the_prefix_of_data_parallel_can_be_stripped_from_the_dictionary():
    state = nn.Sequential(OrderedDict(module=nn.Linear(1, 1))).state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["weight", "bias"]
    assert nn.Linear(1, 1).load_state_dict(state).missing_keys == []
