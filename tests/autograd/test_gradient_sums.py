"""A sum of gradients that several places share is not added to in place."""

import pellucid


def test_a_sum_passed_on_to_two_inputs_stays_what_it_was():
    x = pellucid.tensor([1.0, 2.0], requires_grad=True)
    y = x.sin()
    view = y.squeeze()
    total = x + y  # hands its gradient, a sum of two, to x and to y alike
    ones = pellucid.ones(2)
    pellucid.autograd.backward([total, total.relu(), view], [ones, ones.clone(), pellucid.full((2,), 10.0)])
    expected = 2 + (2 + 10) * pellucid.cos(x.detach())
    assert pellucid.allclose(x.grad, expected)


def test_the_gradient_of_a_leaf_is_not_changed_by_later_arrivals():
    x = pellucid.tensor([3.0], requires_grad=True)
    y = x * 1.0
    z = x + y
    (z + z + y * 5).sum().backward()
    assert x.grad.tolist() == [2.0 + 2.0 + 5.0]
