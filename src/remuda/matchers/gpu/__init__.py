"""The matcher `gpu`: clauses in clusters, column by column, matched by a device that CUDA reaches.

layout.py arranges the clauses on the host, kernels.py is what the device runs, device.py leads to
it, lanes.py brings events there and answers back, matcher.py is the class. kernels.py alone imports
numba.cuda, and is itself imported when a matcher is first asked, by device.py.
"""

from remuda.matchers.gpu.matcher import Gpu

__all__ = ["Gpu"]
