"""Schedules are PyTorch's, alone, chained, in sequence and resumed; their states are the same dictionaries."""

import copy
import warnings

import pytest

import pellucid

from .comparison import FRAMEWORKS, assert_same, convert, torch


class Warmup:
    """A callable object, whose attributes a scheduler saves."""

    def __init__(self, length):
        self.length = length

    def __call__(self, epoch):
        return min(1.0, (epoch + 1) / self.length)


# Each takes the framework's lr_scheduler module and an optimizer with two groups.
SCHEDULES = {
    "LambdaLR": lambda S, o: S.LambdaLR(o, lambda epoch: 0.95**epoch),
    "LambdaLR of objects": lambda S, o: S.LambdaLR(o, [Warmup(4), lambda epoch: 1 / (1 + epoch)]),
    "MultiplicativeLR": lambda S, o: S.MultiplicativeLR(o, lambda epoch: 0.9 + 0.01 * (epoch % 3)),
    "StepLR": lambda S, o: S.StepLR(o, step_size=3, gamma=0.5),
    "MultiStepLR": lambda S, o: S.MultiStepLR(o, milestones=[3, 7, 7, 12], gamma=0.3),
    "ConstantLR": lambda S, o: S.ConstantLR(o, factor=0.4, total_iters=6),
    "LinearLR": lambda S, o: S.LinearLR(o, start_factor=0.25, end_factor=0.9, total_iters=8),
    "ExponentialLR": lambda S, o: S.ExponentialLR(o, gamma=0.9),
    "PolynomialLR": lambda S, o: S.PolynomialLR(o, total_iters=9, power=1.7),
    "CosineAnnealingLR": lambda S, o: S.CosineAnnealingLR(o, T_max=7, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda S, o: S.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2, eta_min=0.01),
    "CyclicLR": lambda S, o: S.CyclicLR(o, base_lr=0.01, max_lr=[0.2, 0.3], step_size_up=4),
    "CyclicLR triangular2": lambda S, o: S.CyclicLR(o, 0.01, 0.2, step_size_up=2, step_size_down=3, mode="triangular2"),
    "CyclicLR exp_range": lambda S, o: S.CyclicLR(o, 0.01, 0.2, 3, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "CyclicLR own": lambda S, o: S.CyclicLR(o, 0.01, 0.2, 3, scale_fn=Warmup(6), scale_mode="iterations"),
    "OneCycleLR": lambda S, o: S.OneCycleLR(o, max_lr=[0.5, 0.3], total_steps=22),
    "OneCycleLR three": lambda S, o: S.OneCycleLR(
        o, max_lr=0.5, epochs=4, steps_per_epoch=6, pct_start=0.2, anneal_strategy="linear", three_phase=True
    ),
    "SequentialLR": lambda S, o: S.SequentialLR(
        o, [S.LinearLR(o, 0.1, total_iters=4), S.CosineAnnealingLR(o, T_max=12), S.StepLR(o, 2)], milestones=[4, 13]
    ),
    "SequentialLR of one": lambda S, o: S.SequentialLR(o, [S.ExponentialLR(o, 0.9)], milestones=[]),
    "SequentialLR from 0": lambda S, o: S.SequentialLR(
        o, [S.ConstantLR(o, 0.1), S.ExponentialLR(o, 0.9)], milestones=[0]
    ),
    "ChainedScheduler": lambda S, o: S.ChainedScheduler(
        [S.ConstantLR(o, factor=0.1, total_iters=3), S.ExponentialLR(o, gamma=0.9)]
    ),
    "ChainedScheduler cosine": lambda S, o: S.ChainedScheduler(
        [S.LinearLR(o, 0.2, total_iters=6), S.CosineAnnealingLR(o, T_max=5, eta_min=0.001)], optimizer=o
    ),
    "Chained in SequentialLR": lambda S, o: S.SequentialLR(
        o,
        [S.ChainedScheduler([S.ConstantLR(o, 0.5), S.StepLR(o, 2)]), S.CosineAnnealingLR(o, T_max=6)],
        milestones=[5],
    ),
}


def optimizer_for(framework, name="SGD", lr=0.1, **settings):
    if name == "SGD":
        settings.setdefault("momentum", 0.9)
    params = [framework.zeros(2).requires_grad_() for _ in range(2)]
    groups = [{"params": params[:1], "lr": lr * 2}, {"params": params[1:]}]
    return getattr(framework.optim, name)(groups, lr=lr, **settings)


def rates(optimizer):
    """What a schedule may move: the rates, and the momenta or first betas."""
    return [
        (float(group["lr"]), float(group["betas"][0] if "betas" in group else group["momentum"]))
        for group in optimizer.param_groups
    ]


def follow(optimizer, scheduler, steps):
    """The rates after each of some steps, with the scheduler's own opinion of them."""
    path = []
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        path.extend(rates(optimizer))
        path.append(tuple(float(rate) for rate in scheduler.get_last_lr()))
    return path


def close(ours, theirs):
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(other, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("optimizer_name", ["SGD", "Adam"])
@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_rates_and_states_are_pytorchs(name, optimizer_name):
    paths, states = [], []
    for framework in FRAMEWORKS:
        optimizer = optimizer_for(framework, optimizer_name)
        scheduler = SCHEDULES[name](framework.optim.lr_scheduler, optimizer)
        first = rates(optimizer)
        paths.append(first + follow(optimizer, scheduler, 20))
        states.append((scheduler.state_dict(), optimizer.state_dict()["param_groups"]))
    close(*paths)
    assert_same(states[0], states[1], 1e-9)


@pytest.mark.parametrize("name", sorted(set(SCHEDULES) - {"CyclicLR", "OneCycleLR", "LambdaLR of objects"}))
def test_a_tensor_rate_is_written_into(name):
    paths = []
    for framework in FRAMEWORKS:
        rate = framework.tensor(0.25, dtype=framework.float64)
        param = framework.zeros(2).requires_grad_()
        optimizer = framework.optim.SGD([param, framework.ones(1).requires_grad_()], lr=rate, momentum=0.9)
        scheduler = SCHEDULES[name](framework.optim.lr_scheduler, optimizer)
        paths.append(follow(optimizer, scheduler, 12))
        assert optimizer.param_groups[0]["lr"] is rate
    close(*paths)


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_a_resumed_schedule_is_the_uninterrupted_one(name):
    def both():
        optimizer = optimizer_for(pellucid)
        return optimizer, SCHEDULES[name](pellucid.optim.lr_scheduler, optimizer)

    optimizer, scheduler = both()
    whole = follow(optimizer, scheduler, 20)
    optimizer, scheduler = both()
    first = follow(optimizer, scheduler, 8)
    saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
    optimizer, scheduler = both()
    optimizer.load_state_dict(saved[0])
    scheduler.load_state_dict(saved[1])
    close(first + follow(optimizer, scheduler, 12), whole)


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_a_state_of_pytorch_goes_on_here_and_back(name):
    theirs = optimizer_for(torch)
    their_scheduler = SCHEDULES[name](torch.optim.lr_scheduler, theirs)
    follow(theirs, their_scheduler, 6)
    ours = optimizer_for(pellucid)
    our_scheduler = SCHEDULES[name](pellucid.optim.lr_scheduler, ours)
    ours.load_state_dict(convert(copy.deepcopy(theirs.state_dict()), pellucid))
    our_scheduler.load_state_dict(copy.deepcopy(their_scheduler.state_dict()))
    close(follow(ours, our_scheduler, 5), follow(theirs, their_scheduler, 5))
    theirs.load_state_dict(convert(copy.deepcopy(ours.state_dict()), torch))
    their_scheduler.load_state_dict(copy.deepcopy(our_scheduler.state_dict()))
    close(follow(ours, our_scheduler, 5), follow(theirs, their_scheduler, 5))


@pytest.mark.parametrize("name", ["StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR"])
def test_an_epoch_given_to_step_takes_the_closed_form(name):
    paths = []
    for framework in FRAMEWORKS:
        optimizer = optimizer_for(framework)
        scheduler = SCHEDULES[name](framework.optim.lr_scheduler, optimizer)
        path = []
        for epoch in (1, 5, 9, 3, 30):
            optimizer.step()
            with pytest.warns(UserWarning, match="The epoch parameter"):
                scheduler.step(epoch)
            path.extend(rates(optimizer))
        paths.append(path)
    close(*paths)


def test_warm_restarts_take_fractions_of_epochs():
    paths = []
    for framework in FRAMEWORKS:
        optimizer = optimizer_for(framework)
        scheduler = framework.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=4, T_mult=3)
        path = []
        for epoch in (0.5, 3.9, 4.0, 7.25, 16.0, 40.5, 1.5):
            scheduler.step(epoch)
            path.extend(rates(optimizer) + [(scheduler.T_cur, scheduler.T_i, scheduler.last_epoch)])
        scheduler.step()
        paths.append(path + rates(optimizer))
        with pytest.raises(ValueError, match="non-negative epoch"):
            scheduler.step(-1)
    close(*paths)


@pytest.mark.parametrize(
    "settings",
    [
        {"patience": 2},
        {"patience": 1, "factor": 0.3, "mode": "max", "cooldown": 2, "threshold": 0.1, "threshold_mode": "abs"},
        {"patience": 0, "min_lr": [0.05, 0.01], "threshold": 0.2},
        {"patience": 0, "mode": "max", "min_lr": 0.001},
        {"patience": 0, "threshold_mode": "abs", "threshold": 0.5, "eps": 0.06},
    ],
)
def test_plateau_is_pytorchs(settings):
    metrics = [3.0, 2.9, 2.95, float("nan"), 2.0, 2.0, 2.0, 2.0, float("inf"), 1.0, 1.2, 1.3, 0.99, 0.98, 5.0, 6.0, 7.0]
    paths, states = [], []
    for framework in FRAMEWORKS:
        optimizer = optimizer_for(framework)
        scheduler = framework.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **settings)
        path = []
        for index, metric in enumerate(metrics):
            optimizer.step()
            scheduler.step(framework.tensor(metric) if index % 2 else metric)
            path.extend(rates(optimizer) + [(scheduler.num_bad_epochs, scheduler.cooldown_counter)])
        paths.append(path)
        states.append(scheduler.state_dict())
    close(*paths)
    assert_same(states[0], states[1], 1e-6)


def test_plateau_drops_on_the_same_call_when_resumed():
    def drops(save_after):
        optimizer = pellucid.optim.SGD([pellucid.zeros(1).requires_grad_()], lr=1.0)
        scheduler = pellucid.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
        seen = []
        for call in range(6):
            scheduler.step(1.0 + call)
            seen.append(scheduler.get_last_lr()[0])
            if call == save_after:
                state = scheduler.state_dict()
                scheduler = pellucid.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
                scheduler.load_state_dict(state)
        return seen

    assert drops(None) == drops(1) == drops(3) == [1, 1, 1, 0.1, 0.1, 0.1]


def test_plateau_follows_new_groups():
    optimizer = pellucid.optim.SGD([pellucid.zeros(1).requires_grad_()], lr=1.0)
    scheduler = pellucid.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    strict = pellucid.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.1])
    optimizer.add_param_group({"params": pellucid.zeros(1).requires_grad_()})
    for _ in range(2):
        scheduler.step(1.0)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.1]
    strict.step(1.0)
    with pytest.raises(RuntimeError, match="number of param groups"):
        strict.step(1.0)


def cosine_run(framework=pellucid, **settings):
    optimizer = framework.optim.SGD([framework.zeros(1).requires_grad_()], lr=1.0)
    settings = settings or {"T_max": 10}
    return optimizer, framework.optim.lr_scheduler.CosineAnnealingLR(optimizer, **settings)


def test_cosine_annealing_resumes_from_its_own_state_alone():
    optimizer, scheduler = cosine_run()
    for _ in range(5):
        optimizer.step()
        scheduler.step()
    again, resumed = cosine_run()
    resumed.load_state_dict(scheduler.state_dict())
    again.step()
    resumed.step()
    assert again.param_groups[0]["lr"] == pytest.approx(0.3454915, abs=1e-7)


def test_cosine_annealing_after_its_end_comes_back_up():
    optimizer, scheduler = cosine_run(T_max=3)
    seen = [scheduler.get_last_lr()[0]]
    for _ in range(6):
        optimizer.step()
        scheduler.step()
        seen.append(scheduler.get_last_lr()[0])
    assert seen == pytest.approx([1, 0.75, 0.25, 0, 0.25, 0.75, 1], abs=1e-12)


def test_cosine_annealing_does_not_drift():
    optimizer, scheduler = cosine_run(T_max=10)
    for _ in range(20_000):
        scheduler._step_count += 1
        scheduler._update_lr()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(1.0, abs=1e-10)


def test_a_resumed_sequence_gives_the_cosine_its_rate():
    def sequence():
        optimizer = pellucid.optim.SGD([pellucid.zeros(1).requires_grad_()], lr=1.0)
        S = pellucid.optim.lr_scheduler
        members = [S.LinearLR(optimizer, 0.1, total_iters=3), S.CosineAnnealingLR(optimizer, T_max=10)]
        return optimizer, S.SequentialLR(optimizer, members, milestones=[3])

    optimizer, scheduler = sequence()
    for _ in range(8):
        optimizer.step()
        scheduler.step()
    again, resumed = sequence()
    resumed.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    for owner, member in ((optimizer, scheduler), (again, resumed)):
        owner.step()
        member.step()
    assert again.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"] == pytest.approx(0.3454915, abs=1e-7)


def test_two_schedulers_on_one_optimizer_multiply_as_in_pytorch():
    paths = []
    for framework in FRAMEWORKS:
        optimizer = optimizer_for(framework)
        S = framework.optim.lr_scheduler
        cosine = S.CosineAnnealingLR(optimizer, T_max=5, eta_min=0.01)
        others = [S.ExponentialLR(optimizer, 0.9), S.ReduceLROnPlateau(optimizer, patience=3)]
        path = []
        for _ in range(14):
            optimizer.step()
            cosine.step()
            others[0].step()
            others[1].step(1.0)
            path.extend(rates(optimizer))
        paths.append(path)
    close(*paths)


def test_a_users_own_scheduler():
    def path(framework):
        class Own(framework.optim.lr_scheduler._LRScheduler):
            def __init__(self, optimizer, length, last_epoch=-1):
                self.length = length
                super().__init__(optimizer, last_epoch)

            def get_lr(self):
                return [base * (1 - self.last_epoch / self.length) for base in self.base_lrs]

        optimizer = optimizer_for(framework)
        scheduler = Own(optimizer, 40)
        return follow(optimizer, scheduler, 10), scheduler.state_dict()

    ours, theirs = path(pellucid), path(torch)
    close(ours[0], theirs[0])
    assert_same(ours[1], theirs[1], 1e-9)


def test_resuming_by_last_epoch_needs_initial_rates():
    for framework in FRAMEWORKS:
        optimizer = optimizer_for(framework)
        with pytest.raises(KeyError, match="'initial_lr' is not specified in param_groups"):
            framework.optim.lr_scheduler.StepLR(optimizer, 3, last_epoch=2)
    paths = []
    for framework in FRAMEWORKS:
        optimizer = optimizer_for(framework)
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
            group["lr"] *= 0.5
        path = []
        for make in ("StepLR", "ExponentialLR", "LinearLR", "PolynomialLR", "LambdaLR", "CosineAnnealingWarmRestarts"):
            twin = copy.deepcopy(optimizer)
            S = framework.optim.lr_scheduler
            arguments = {
                "StepLR": (2,),
                "ExponentialLR": (0.9,),
                "LambdaLR": (lambda epoch: 0.9**epoch,),
                "CosineAnnealingWarmRestarts": (8,),
            }.get(make, ())
            path.extend(follow(twin, getattr(S, make)(twin, *arguments, last_epoch=1), 4))
        paths.append(path)
    close(*paths)


def bad_schedules(S, o, other):
    yield lambda: S.StepLR("no optimizer", 3)
    yield lambda: S.ReduceLROnPlateau("no optimizer")
    yield lambda: S.CyclicLR("no optimizer", 0.1, 0.2)
    yield lambda: S.OneCycleLR("no optimizer", 0.1, 10)
    yield lambda: S.LambdaLR(o, [lambda epoch: 1.0])
    yield lambda: S.MultiplicativeLR(o, [lambda epoch: 1.0])
    yield lambda: S.MultiplicativeLR(o, 0.5)
    yield lambda: S.ConstantLR(o, factor=1.5)
    yield lambda: S.LinearLR(o, start_factor=0.0)
    yield lambda: S.LinearLR(o, end_factor=1.5)
    yield lambda: S.ReduceLROnPlateau(o, factor=1.0)
    yield lambda: S.ReduceLROnPlateau(o, mode="other")
    yield lambda: S.ReduceLROnPlateau(o, threshold_mode="other")
    yield lambda: S.ReduceLROnPlateau(o, min_lr=[0.1])
    yield lambda: S.CyclicLR(o, 0.1, [0.2])
    yield lambda: S.CyclicLR(o, 0.1, 0.2, mode="other")
    yield lambda: S.CyclicLR(other, 0.1, 0.2)
    yield lambda: S.OneCycleLR(other, 0.1, 10)
    yield lambda: S.OneCycleLR(o, 0.1)
    yield lambda: S.OneCycleLR(o, 0.1, total_steps=-1)
    yield lambda: S.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=1)
    yield lambda: S.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=1.5)
    yield lambda: S.OneCycleLR(o, 0.1, 10, pct_start=2.0)
    yield lambda: S.OneCycleLR(o, 0.1, 10, anneal_strategy="other")
    yield lambda: S.CosineAnnealingWarmRestarts(o, T_0=0)
    yield lambda: S.CosineAnnealingWarmRestarts(o, T_0=2, T_mult=0)
    yield lambda: S.CosineAnnealingWarmRestarts(o, T_0=2, eta_min="0")
    yield lambda: S.SequentialLR(o, [], [])
    yield lambda: S.SequentialLR(o, [S.StepLR(o, 3)], [1])
    yield lambda: S.SequentialLR(o, ["no scheduler"], [])
    yield lambda: S.SequentialLR(o, [S.StepLR(other, 3)], [])
    yield lambda: S.SequentialLR(o, [S.ReduceLROnPlateau(o)], [])
    yield lambda: S.ChainedScheduler([])
    yield lambda: S.ChainedScheduler([S.ReduceLROnPlateau(o)])
    yield lambda: S.ChainedScheduler([S.StepLR(o, 3), S.StepLR(other, 3)])


def test_errors_are_pytorchs():
    makers = [bad_schedules(f.optim.lr_scheduler, optimizer_for(f), optimizer_for(f, "Adagrad")) for f in FRAMEWORKS]
    for ours, theirs in zip(*makers, strict=True):
        with pytest.raises(Exception) as expected:
            theirs()
        with pytest.raises(expected.type) as raised:
            ours()
        assert str(expected.value).rstrip(".")[:60] in str(raised.value)


def test_one_cycle_ends():
    optimizer = optimizer_for(pellucid)
    scheduler = pellucid.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=3)
    follow(optimizer, scheduler, 3)
    with pytest.raises(ValueError, match="Tried to step 4 times"):
        scheduler.step()


def test_get_lr_outside_of_step_warns():
    optimizer = optimizer_for(pellucid)
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        pellucid.optim.lr_scheduler.StepLR(optimizer, 3).get_lr()


class TestOrderOfCalls:
    """The warning about the wrong order comes in the one loop that is wrong."""

    def warned(self, loop):
        optimizer = optimizer_for(pellucid)
        scheduler = pellucid.optim.lr_scheduler.StepLR(optimizer, 3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                loop(optimizer, scheduler)
        return [str(warning.message) for warning in caught]

    def test_scheduler_first(self):
        messages = self.warned(lambda optimizer, scheduler: (scheduler.step(), optimizer.step()))
        assert len(messages) == 1 and "before `optimizer.step()`" in messages[0]

    def test_optimizer_first(self):
        assert not self.warned(lambda optimizer, scheduler: (optimizer.step(), scheduler.step()))

    def test_several_optimizer_steps_an_epoch(self):
        assert not self.warned(lambda optimizer, scheduler: (optimizer.step(), optimizer.step(), scheduler.step()))

    def test_a_step_that_a_scaler_skipped(self):
        def loop(optimizer, scheduler):
            optimizer._step_attempts += 1
            scheduler.step()

        assert not self.warned(loop)

    def test_a_step_replaced_on_the_instance(self):
        def loop(optimizer, scheduler):
            optimizer.step = lambda: None
            optimizer.step()
            scheduler.step()

        assert not self.warned(loop)

    def test_a_subclass_with_its_own_step(self):
        class Own(pellucid.optim.SGD):
            def step(self, closure=None):
                return None

        optimizer = Own([pellucid.zeros(1).requires_grad_()], lr=0.1)
        scheduler = pellucid.optim.lr_scheduler.StepLR(optimizer, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            optimizer.step()
            scheduler.step()

    def test_a_wrapper_that_is_an_optimizer_in_name_only(self):
        class Wrapper(pellucid.optim.Optimizer):
            def __init__(self, inner):
                self.inner, self.param_groups, self.defaults = inner, inner.param_groups, inner.defaults

            def step(self, closure=None):
                return self.inner.step(closure)

        optimizer = Wrapper(optimizer_for(pellucid))
        scheduler = pellucid.optim.lr_scheduler.StepLR(optimizer, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            optimizer.step()
            scheduler.step()

    def test_a_chain_that_begins_a_sequence(self):
        optimizer = optimizer_for(pellucid)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scheduler = SCHEDULES["Chained in SequentialLR"](pellucid.optim.lr_scheduler, optimizer)
            follow(optimizer, scheduler, 8)

    def test_steps_before_the_scheduler_was_made_do_not_count(self):
        optimizer = optimizer_for(pellucid)
        optimizer.step()
        scheduler = pellucid.optim.lr_scheduler.StepLR(optimizer, 3)
        with pytest.warns(UserWarning, match="before `optimizer.step"):
            scheduler.step()


def test_all_names_of_pytorch_are_there():
    missing = set(torch.optim.lr_scheduler.__all__) - set(pellucid.optim.lr_scheduler.__all__)
    assert not missing
    assert not set(torch.optim.__all__) - set(pellucid.optim.__all__)
