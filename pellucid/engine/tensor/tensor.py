"""The `Tensor` class: what a tensor is asked about itself, its data, its gradient. Operators are rows of the family
mixins.
"""

from __future__ import annotations

import importlib
import warnings
import weakref
from typing import Any

import numpy as np

from pellucid.engine.core import backward as engine
from pellucid.engine.core import graph
from pellucid.engine.core.batching import UNREADABLE, detached_sample
from pellucid.engine.core.data import INFERENCE, Classes, TensorData, shallow
from pellucid.engine.core.device import CPU, META, device
from pellucid.engine.core.dtypes import dtype
from pellucid.engine.core.errors import user_level
from pellucid.engine.core.meta import Size
from pellucid.engine.core.modes import state
from pellucid.engine.core.storage import Version
from pellucid.engine.tensor.activation import ActivationMethods
from pellucid.engine.tensor.arithmetic import ArithmeticMethods
from pellucid.engine.tensor.bitwise import BitwiseMethods
from pellucid.engine.tensor.comparison import ComparisonMethods
from pellucid.engine.tensor.complex import ComplexMethods
from pellucid.engine.tensor.contraction import ContractionMethods
from pellucid.engine.tensor.conversion import ConversionMethods
from pellucid.engine.tensor.copying import deep_copy
from pellucid.engine.tensor.decompositions import DecompositionMethods
from pellucid.engine.tensor.exponential import ExponentialMethods
from pellucid.engine.tensor.facts import FactMethods
from pellucid.engine.tensor.indexing import IndexingMethods
from pellucid.engine.tensor.joining import JoiningMethods
from pellucid.engine.tensor.legacy import LegacyMethods
from pellucid.engine.tensor.linalg import MatrixProductMethods
from pellucid.engine.tensor.normalization import NormalizationMethods
from pellucid.engine.tensor.norms import NormMethods
from pellucid.engine.tensor.overridable_methods import TensorMeta, prepare_subclass
from pellucid.engine.tensor.overrides import add_plain, default_torch_function, disabled_torch_dispatch
from pellucid.engine.tensor.printing import tensor_repr
from pellucid.engine.tensor.random import RandomMethods
from pellucid.engine.tensor.ranges import CreationMethods
from pellucid.engine.tensor.reduction import ReductionMethods
from pellucid.engine.tensor.search import SearchMethods
from pellucid.engine.tensor.selection import SelectionMethods
from pellucid.engine.tensor.shape import ShapeMethods
from pellucid.engine.tensor.solvers import SolverMethods
from pellucid.engine.tensor.sorting import SortingMethods
from pellucid.engine.tensor.sparse_methods import SparseMethods
from pellucid.engine.tensor.special import SpecialMethods
from pellucid.engine.tensor.spectrogram import SpectrogramMethods
from pellucid.engine.tensor.splitting import SplittingMethods
from pellucid.engine.tensor.statistics import StatisticsMethods
from pellucid.engine.tensor.storages import StorageMethods
from pellucid.engine.tensor.trigonometry import TrigonometryMethods
from pellucid.engine.tensor.view_copies import ViewCopyMethods


class TensorMethods(
    ActivationMethods,
    ArithmeticMethods,
    BitwiseMethods,
    ComparisonMethods,
    ComplexMethods,
    ContractionMethods,
    ConversionMethods,
    CreationMethods,
    DecompositionMethods,
    ExponentialMethods,
    FactMethods,
    IndexingMethods,
    JoiningMethods,
    LegacyMethods,
    MatrixProductMethods,
    NormMethods,
    NormalizationMethods,
    RandomMethods,
    ReductionMethods,
    SearchMethods,
    SelectionMethods,
    ShapeMethods,
    SolverMethods,
    SortingMethods,
    SparseMethods,
    SpecialMethods,
    SpectrogramMethods,
    SplittingMethods,
    StatisticsMethods,
    StorageMethods,
    TrigonometryMethods,
    ViewCopyMethods,
    TensorData,
):
    """All that a tensor can do, as raw functions: nothing here asks for `__torch_function__`."""

    __slots__ = ()
    __array_priority__ = 1000  # NumPy leaves `array + tensor` to the tensor

    # -- copying and pickling ----------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return deep_copy(self, memo)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # By name: file formats stand above tensors, and most programs never pickle one.
        return importlib.import_module("pellucid.engine.export.tensors").reduce_tensor(self)

    # -- facts -----------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """Its size along each dimension."""
        return self._meta.shape

    @property
    def dtype(self) -> dtype:
        """Its elements' type."""
        return self._meta.dtype

    @property
    def device(self) -> device:
        """Where its data is."""
        return self._meta.device

    @property
    def ndim(self) -> int:
        """Its number of dimensions."""
        return self._meta.ndim

    def dim(self) -> int:
        """Its number of dimensions."""
        return self._meta.ndim

    ndimension = dim

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._meta.dtype.itemsize

    def element_size(self) -> int:
        """Bytes of an element."""
        return self._meta.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        if self._meta.is_sparse:
            raise RuntimeError(
                "nbytes is not defined for sparse tensors. If you want the size of the constituent tensors, add the"
                " nbytes of the indices and values; of the equivalent dense tensor, numel() * element_size()"
            )
        return self._meta.nbytes

    def storage_offset(self) -> int:
        """How many elements of the storage lie before the first one."""
        return self._offset

    @property
    def is_meta(self) -> bool:
        """Whether it has shape and dtype but no data."""
        return self._meta.device is META

    @property
    def is_cpu(self) -> bool:
        """Whether its data is in main memory."""
        return self._meta.device is CPU

    @property
    def _version(self) -> int:
        if self._counter is INFERENCE:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._counter.count

    def is_inference(self) -> bool:
        """Whether it was made under `inference_mode`."""
        return self._counter is INFERENCE

    def __len__(self) -> int:
        if not self._meta.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._meta.shape[0]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return tensor_repr(self)

    def __hash__(self) -> int:
        return id(self)

    # -- values ----------------------------------------------------------------------------------------------------

    def _data_array(self, what: str) -> np.ndarray:
        if self._meta.is_sparse:
            return self.to_dense()._array
        if self._array is UNREADABLE:
            raise RuntimeError(
                "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on "
                "a "
                "Tensor, please try to rewrite what you're doing with other operations: inside vmap it stands for many."
            )
        if self._array is None:
            raise RuntimeError(f"{what} cannot be called on meta tensors: they have a shape and a dtype, but no data")
        return self._array

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number."""
        if self._meta.numel != 1:
            raise RuntimeError(
                f"a Tensor with {self._meta.numel} elements cannot be converted to Scalar (shape "
                f"{list(self._meta.shape)})"
            )
        value = self._data_array("Tensor.item()").reshape(()).item()
        return float(value) if self._meta.dtype.is_floating_point else value

    def tolist(self) -> Any:
        """The values as nested Python lists; a number for a zero-dim tensor."""
        if self._array is None:
            raise NotImplementedError("Cannot copy out of meta tensor; no data! (Tensor.tolist)")
        if self._meta.is_sparse:
            raise RuntimeError(
                "Cannot access data pointer of Tensor that doesn't have storage: tolist() of a sparse tensor; call"
                " .to_dense() first"
            )
        array = self._array
        if self._meta.dtype.itemsize < 4 and self._meta.dtype.is_floating_point:
            array = array.astype(np.float32)
        return array.tolist()

    def __bool__(self) -> bool:
        if self._meta.numel == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        if self._meta.numel > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        if self._array is UNREADABLE:
            raise RuntimeError(
                "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
                "support that yet: inside vmap it stands for many; use torch.where."
            )
        return bool(self.item())

    def _only_element(self) -> Any:
        if self._meta.numel != 1:
            raise ValueError(
                f"only one element tensors can be converted to Python scalars (this one has shape {list(self.shape)})"
            )
        return self.item()

    def __int__(self) -> int:
        return int(self._only_element())

    def __float__(self) -> float:
        value = self._only_element()
        if isinstance(value, complex):
            if value.imag:
                raise RuntimeError("value cannot be converted to type double without overflow")
            value = value.real
        return float(value)

    def __complex__(self) -> complex:
        return complex(self._only_element())

    def __index__(self) -> int:
        if self._meta.dtype.category > 1 or self._meta.ndim and self._meta.numel != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    # -- gradient --------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operators on it are recorded for `backward`."""
        return graph.requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Switch recording on or off for a leaf; returns the tensor."""
        if not requires_grad and graph.grad_fn_of(self) is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                "variable in a subgraph that"
                " doesn't require differentiation use var_no_grad = var.detach()."
            )
        if requires_grad and state.transforms:
            raise RuntimeError(
                "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* "
                "APIs) "
                "inside of a function being transformed by a functorch transform. This is unsupported, please attempt "
                "to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() "
                "outside of a function being transformed instead."
            )
        if requires_grad and self._meta.dtype.category < 2:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients (this one is "
                f"{self._meta.dtype})"
            )
        if requires_grad and self._counter is INFERENCE and not state.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        self._needs_grad = bool(requires_grad)
        return self

    @property
    def grad_fn(self) -> Any:
        """The graph node that made it, None for a leaf."""
        return graph.grad_fn_of(self)

    @property
    def is_leaf(self) -> bool:
        """Whether it was not made by a recorded operator."""
        return graph.grad_fn_of(self) is None

    @property
    def output_nr(self) -> int:
        """Which output of its `grad_fn` it is."""
        return self._output_nr

    @property
    def grad(self) -> Any:
        """The gradient that `backward` added up, None before; a warning where it never will, since the tensor was
        computed.
        """
        if self._grad is None and self._grad_fn is not None and not self._retains:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
                "attribute won't be populated during"
                " autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                "Tensor, use .retain_grad() on the"
                " non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
                "Tensor instead.",
                UserWarning,
                stacklevel=user_level(),
            )
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            self._check_grad(value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def _check_grad(self, value: Any) -> None:
        if not isinstance(value, TensorData):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        mine, given = self._meta, value._meta
        if given.dtype is not mine.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{given.dtype}' to a tensor with grad_dtype "
                f"'{mine.dtype}'."
                " The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype)."
            )
        if given.device is not mine.device:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{given.device.type}' to a tensor with "
                f"device type '{mine.device.type}'. Please ensure that the gradient and the tensor are on the "
                "same device"
            )
        if given.shape != mine.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(given.shape)}' to a tensor of size "
                f"'{list(mine.shape)}'. Please ensure that"
                " the gradient and the tensor are the same size"
            )

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Add the gradients of this tensor (weighed by `gradient`) to the `.grad` of the leaves it depends on."""
        if state.transforms:
            raise RuntimeError(
                "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
                "functorch.vjp instead or call backward() outside of functorch transforms."
            )
        engine.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def detach(self) -> Any:
        """The same data cut from the graph; a write to either is seen, and counted, by both."""
        return shallow(self) if self._array is not UNREADABLE else detached_sample(self)

    def detach_(self) -> Any:
        """Cut this tensor from the graph; it becomes a leaf that requires no gradient."""
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
                "(DDP) for training, set"
                " gradient_as_bucket_view=False"
            )
        self._grad_fn, self._output_nr, self._needs_grad = None, 0, False
        return self

    @property
    def data(self) -> Any:
        """The same data cut from the graph; writes through it are not seen by the version counter."""
        out = shallow(self)
        out._counter = Version()
        return out

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, TensorData):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if value._meta.layout != self._meta.layout:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor"
                f" type. (Layouts torch.{self._meta.layout} and torch.{value._meta.layout}: use .to_dense() or "
                ".to_sparse().)"
            )
        if (self._needs_grad or self._grad_fn is not None) and value._meta.dtype.category < 2:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex dtype, not "
                f"{value.dtype}"
            )
        own = self._counter is self._storage
        self._array, self._meta, self._storage, self._offset = value._array, value._meta, value._storage, value._offset
        if own:
            version = Version()
            version.count = self._counter.count
            self._counter = version

    def _is_view(self) -> bool:
        return self._base is not None

    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that is not a leaf in its `.grad` too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        node = graph.grad_fn_of(self)
        if node is None or self._retains:
            return
        self._retains = True
        if node.retained is None:
            node.retained = {}
        node.retained[self._output_nr] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on a tensor that is not a leaf."""
        return self._retains

    def register_hook(self, hook: Any) -> graph.RemovableHandle:
        """Call `hook(grad)` whenever this tensor's gradient is complete; what it returns replaces it."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        edge = graph.gradient_edge(self)
        assert edge is not None
        node, number = edge
        if self._hooks is None:
            self._hooks = node  # a leaf's accumulator lives as long as its hooks
        if node.tensor_hooks is None:
            node.tensor_hooks = {}
        return graph.RemovableHandle(node.tensor_hooks.setdefault(number, {}), hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> graph.RemovableHandle:
        """Call `hook(tensor)` after the gradient of a leaf was added to its `.grad`."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._post_hooks is None:
            self._post_hooks = {}
        return graph.RemovableHandle(self._post_hooks, hook)


class Tensor(TensorMethods, metaclass=TensorMeta):
    """An array of numbers of one dtype on one device, which can remember how it was computed.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward(); x.grad
    tensor([2., 4.])
    """

    __slots__ = ()
    __torch_dispatch__ = disabled_torch_dispatch

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        prepare_subclass(cls)

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run `func` as for plain tensors, and give its results the class `cls`; NotImplemented where another class
        takes part.
        """
        return default_torch_function(cls, func, types, args, kwargs or {})


Classes.tensor = Tensor
add_plain(Tensor)
