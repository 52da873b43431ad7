"""A stand-in for the few tensor operations that the PyTorch adapter uses, where torch is not installed.

Reverse-mode differentiation over NumPy arrays. It is not PyTorch: the same tests run on the real one with
``make test-torch``.
"""

from __future__ import annotations

import numpy as np


class Tensor:
    def __init__(self, data, parents=()):
        self.data = np.asarray(data, float)
        self.grad = None
        self._parents = parents  # (tensor, from the gradient here to the gradient there)

    @property
    def shape(self):
        return self.data.shape

    def new_tensor(self, values):
        return Tensor(values)

    def __mul__(self, other):
        other = other if isinstance(other, Tensor) else Tensor(other)
        one, two = self.data, other.data
        return Tensor(one * two, ((self, lambda g: _fit(g * two, one)), (other, lambda g: _fit(g * one, two))))

    def __sub__(self, other):
        return Tensor(
            self.data - other.data, ((self, lambda g: _fit(g, self.data)), (other, lambda g: _fit(-g, other.data)))
        )

    def __truediv__(self, number):
        return self * (1.0 / number)

    def sum(self):
        return Tensor(self.data.sum(), ((self, lambda g: np.broadcast_to(g, self.shape)),))

    def mean(self, axis=None):
        count = self.data.size if axis is None else self.shape[axis]
        spread = (lambda g: g) if axis is None else (lambda g: np.expand_dims(g, axis))
        return Tensor(self.data.mean(axis), ((self, lambda g: np.broadcast_to(spread(g) / count, self.shape)),))

    def reshape(self, *shape):
        return Tensor(self.data.reshape(shape), ((self, lambda g: g.reshape(self.shape)),))

    def item(self):
        return self.data.item()

    def tolist(self):
        return self.data.tolist()

    def backward(self, gradient=1.0):
        gradient = np.broadcast_to(np.asarray(gradient, float), self.shape)
        self.grad = gradient if self.grad is None else self.grad + gradient
        for parent, back in self._parents:
            parent.backward(back(gradient))


def _fit(gradient, data):
    """Sum a broadcast gradient back to the shape it belongs to."""
    while gradient.ndim > data.ndim:
        gradient = gradient.sum(0)
    for axis, size in enumerate(data.shape):
        if size == 1 and gradient.shape[axis] != 1:
            gradient = gradient.sum(axis, keepdims=True)
    return gradient


class SGD:
    def __init__(self, parameters, lr):
        self.parameters, self.lr = list(parameters), lr

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad = None

    def step(self):
        for parameter in self.parameters:
            parameter.data = parameter.data - self.lr * parameter.grad


def collate(rows):
    inputs, targets = zip(*rows, strict=True)
    return Tensor(np.array(inputs)), Tensor(np.array(targets))
