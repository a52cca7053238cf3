"""Share of the time that a function spends in dense matrix products."""

import os
import re
import time
from collections.abc import Callable

from torch.profiler import ProfilerActivity, profile

from clipgnn.bench.timing import synchronize

_OPERATORS = {
    f"aten::{name}"
    for name in ("mm", "addmm", "addmm_", "bmm", "baddbmm", "baddbmm_", "mv", "addmv")
}
_KERNELS = re.compile("gemm|gemv|xmma|cutlass|nvjet|splitk", re.IGNORECASE)


def product_share(run: Callable[[], object], device: str = "cpu") -> float:
    """Return the share of dense matrix products in the time of a call, after one warm-up call.

    On the CPU this is their share of the duration, and on a GPU of the time of all kernels. Kernels
    that compute products among other things are not included.
    """
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler logs its start and end
    activities = [ProfilerActivity.CPU if device == "cpu" else ProfilerActivity.CUDA]
    run()
    synchronize(device)
    with profile(activities=activities) as profiled:
        start = time.perf_counter()
        run()
        synchronize(device)
        seconds = time.perf_counter() - start
    events = profiled.key_averages()
    if device == "cpu":
        products = sum(event.self_cpu_time_total for event in events if event.key in _OPERATORS)
        return float(products) / 1e6 / seconds
    kernels = [event for event in events if event.device_type.name == "CUDA"]
    total = sum(event.self_device_time_total for event in kernels)
    products = sum(event.self_device_time_total for event in kernels if _KERNELS.search(event.key))
    return float(products) / total
