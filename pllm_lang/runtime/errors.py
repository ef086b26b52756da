"""What the kernels say when they cannot do what was asked, and when they do it slower than one may expect."""


class NativeKernelError(ValueError):
    """An argument that a kernel refuses, or kernels that cannot be had as they were asked for."""


class KernelWarning(RuntimeWarning):
    """Something works, but not as well as it could: the text says what, why, and what to do."""
