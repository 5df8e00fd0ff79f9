"""A network on a graph, with a sparse adjacency matrix as buffer, trains as in PyTorch."""

import copy
import io

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
NODES = 30


def network(f, layout):
    random = np.random.default_rng(0)
    edges = np.maximum(*[(m := random.random((NODES, NODES)) < 0.1), m.T]) + np.eye(NODES)
    weights = (edges / edges.sum(1, keepdims=True)).astype(np.float32)
    index = np.stack(np.nonzero(weights))
    adjacency = f.sparse_coo_tensor(
        f.from_numpy(index), f.from_numpy(weights[tuple(index)]), (NODES, NODES), check_invariants=True
    )

    class Convolution(f.nn.Module):
        def __init__(self, inside, outside):
            super().__init__()
            self.linear = f.nn.Linear(inside, outside)
            self.register_buffer("adjacency", adjacency.to_sparse(layout=getattr(f, layout)))

        def forward(self, x):
            return self.adjacency @ self.linear(x)

    f.manual_seed(0)
    model = f.nn.Sequential(Convolution(8, 16), f.nn.ReLU(), f.nn.Dropout(0.5), Convolution(16, 3))
    features = f.from_numpy(random.standard_normal((NODES, 8)).astype(np.float32))
    return model, features, f.from_numpy(random.integers(0, 3, NODES))


def losses(f, layout):
    model, features, labels = network(f, layout)
    optimizer = f.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    found = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = f.nn.functional.cross_entropy(model(features), labels)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_it_trains_as_in_pytorch(layout):
    assert np.allclose(losses(pellucid, layout), losses(torch, layout), atol=1e-5)


def test_sparse_buffers_are_copied_converted_and_saved():
    model, features, _ = network(pellucid, "sparse_coo")
    model.eval()
    expected = model(features)
    assert pellucid.equal(copy.deepcopy(model)(features), expected)
    file = io.BytesIO()
    pellucid.save(model.state_dict(), file)
    file.seek(0)
    other, _, _ = network(pellucid, "sparse_coo")
    with pellucid.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other.load_state_dict(pellucid.load(file))
    assert pellucid.equal(other.eval()(features), expected)
    assert model.double()(features.double()).dtype is pellucid.float64
