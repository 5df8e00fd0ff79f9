"""What every operator means. One file per family; a block is: meaning, meta, one gradient rule per input, onnx."""

from pellucid.engine.ops import arithmetic, comparison, error_function, exponential, indexing, joining, linalg, memory, normalization, random, ranges, reduce, scan, selection, shape, strided

__all__ = ["arithmetic", "comparison", "error_function", "exponential", "indexing", "joining", "linalg", "memory", "normalization", "random", "ranges", "reduce", "scan", "selection", "shape", "strided"]
