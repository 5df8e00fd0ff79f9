"""The number of threads: read, set, refused; and the matrix product is the same whatever it is."""

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def same_number_afterwards():
    before = pellucid.get_num_threads()
    yield
    pellucid.set_num_threads(before)


@pytest.mark.parametrize("number", [1, 2])
def test_what_is_set_is_read(number):
    pellucid.set_num_threads(number)
    assert pellucid.get_num_threads() == number


@pytest.mark.parametrize("number", [0, -1, "2", 1.0, True, None])
def test_what_is_no_number_is_refused_as_in_pytorch(number):
    with pytest.raises(RuntimeError) as theirs:
        torch.set_num_threads(number)
    with pytest.raises(RuntimeError) as ours:
        pellucid.set_num_threads(number)
    assert str(ours.value).startswith(str(theirs.value))


def test_products_do_not_depend_on_it():
    a = np.random.default_rng(0).standard_normal((70, 90), dtype=np.float32)
    products = []
    for number in (1, 2):
        pellucid.set_num_threads(number)
        products.append((pellucid.from_numpy(a) @ pellucid.from_numpy(a).T).numpy())
    np.testing.assert_allclose(*products, rtol=1e-5, atol=1e-5)


def test_an_unknown_library_is_said(monkeypatch):
    from pellucid.engine.core import threads

    monkeypatch.setattr(threads._Found, "library", None)
    monkeypatch.setattr(threads._Found, "looked", True)
    assert pellucid.get_num_threads() == 1
    with pytest.warns(UserWarning, match="OMP_NUM_THREADS"):
        pellucid.set_num_threads(2)
