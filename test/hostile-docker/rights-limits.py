# Tries: to give itself more files and larger cores than it was given, and a core that the machine's own handler of crashes would read.
# Ends: completed []
import resource
CORE = resource.RLIMIT_CORE
limits = (ctypes.c_ulonglong * 2)(0, 1)
settle(done({
    "files": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)),
    "core": lambda: resource.setrlimit(CORE, (1 << 30, 1 << 30)),
    "handler": lambda: resource.getrlimit(CORE) != (1, 1),
    **{f"no core, {high}": lambda high=high: syscall(160, 164, high + CORE, limits) for high in (0, 1 << 32)},
    **{f"no core of {pid}, {high}": lambda pid=pid, high=high: syscall(302, 261, pid, high + CORE, limits, 0) for pid in (0, 1) for high in (0, 1 << 32)},
    "priority": lambda: os.nice(-5),
    "realtime": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
}))
