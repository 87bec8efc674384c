# Tries: to give itself more files and larger cores than it was given.
# Ends: completed []
import resource
settle(done({
    "files": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)),
    "core": lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30)),
    "priority": lambda: os.nice(-5),
    "realtime": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
}))
