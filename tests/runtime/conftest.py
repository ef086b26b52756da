import pytest

from tests.runtime.backends import BACKENDS, kernels_of, using


@pytest.fixture(params=BACKENDS)
def backend(request):
    """Runs the test on numpy, and on C++ where `system` tests run."""
    with using(kernels_of(request.param)):
        yield request.param
