# Tries: to use system calls that it may make for what they can do besides: by their commands, options and flags.
# Ends: completed []
import fcntl, mmap, resource
libc.mmap.restype = ctypes.c_long
none = ctypes.create_string_buffer(256)
ends = (ctypes.c_int * 2)()
reader, writer = os.pipe()
left, right = socket.socketpair()
# The kernel cuts an argument of 32 bits, and the filter compares all 64.
WIDE = 1 << 32
def refused(answer):
    return answer == -1 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS, errno.EACCES)
def call(function, *arguments):
    ctypes.set_errno(0)
    return not refused(function(*arguments))
def flushes(number, arm_number):
    # A pipe has nothing to flush: only the kernel itself says so.
    return syscall(number, arm_number, reader) and ctypes.get_errno() == errno.EINVAL
def opens(path):
    return lambda: os.open(path, os.O_RDWR | os.O_NOCTTY)
requests = {"SIOCBRADDBR": 0x89A0, "SIOCGIFVLAN": 0x8982, "SIOCGIFCONF": 0x8912, "SIOCUNIXFILE": 0x89E0, "TIOCSTI": 0x5412, "TIOCSETD": 0x5423, "TIOCLINUX": 0x541C, "TIOCCONS": 0x541D, "FIOASYNC": 0x5452, "FS_IOC_SETFLAGS": 0x40086602, "PIDFD_GET_INFO": 0xC048FF0B}
options = {"SO_ATTACH_FILTER": 26, "SO_ATTACH_BPF": 50, "SO_PASSCRED": 16, "SO_PASSPIDFD": 76, "SO_BUSY_POLL": 46, "SO_RCVBUFFORCE": 33}
questions = {"SO_PEERCRED": 17, "SO_PEERSEC": 31, "SO_PEERGROUPS": 59, "SO_PEERPIDFD": 77, "SO_GET_FILTER": 26}
processes = {"seccomp": 22, "mm": 35, "core scheduling": 62, "ptracer": 0x59616D61, "merging": 67, "speculation": 53, "io flusher": 57, "dispatch": 59}
settle(done({
    **{f"pair {family}": lambda family=family: call(libc.socketpair, family, 1, 0, ends) for family in range(0, 46) if family != 1},
    "wide pair": lambda: syscall(53, 199, WIDE + 40, 1, 0, ends),
    **{name: lambda number=number: syscall(16, 29, left.fileno(), number, none) for name, number in requests.items()},
    **{f"wide {name}": lambda number=number: syscall(16, 29, left.fileno(), WIDE + number, none) for name, number in requests.items()},
    **{name: lambda number=number: call(libc.setsockopt, left.fileno(), 1, number, none, 16) for name, number in options.items()},
    **{name: lambda number=number: call(libc.getsockopt, left.fileno(), 1, number, none, ctypes.byref(ctypes.c_uint(64))) for name, number in questions.items()},
    **{name: lambda number=number: call(libc.prctl, number, 0, 0, 0, 0) for name, number in processes.items()},
    "size of a pipe": lambda: fcntl.fcntl(writer, 1031, 1 << 20),
    "size of the bridge": lambda: fcntl.fcntl(4, 1031, 1 << 20),
    "lease": lambda: fcntl.fcntl(os.open("/etc/passwd", os.O_RDONLY), 1024, 0),
    "owner": lambda: fcntl.fcntl(writer, 8, 1),
    "huge pages": lambda: call(libc.mmap, None, ctypes.c_size_t(2 << 20), 3, 0x40022, -1, ctypes.c_size_t(0)),
    "merged pages": lambda: call(libc.madvise, None, ctypes.c_size_t(4096), 12),
    "fsync": lambda: flushes(74, 82),
    "fdatasync": lambda: flushes(75, 83),
    "inotify": lambda: syscall(294, 26, 0),
    "timer": lambda: call(libc.timer_create, 1, None, none),
    "queued signal": lambda: syscall(129, 138, 1, 34, none),
    "terminal": opens("/dev/ptmx"),
    "terminals": opens("/dev/pts/ptmx"),
    "queue": lambda: os.open("/dev/mqueue/own", os.O_CREAT | os.O_RDWR),
}))
