# Stands before each hostile program for python: the bridge as a guest has it, and the kernel as it is, for whoever means harm.
import ctypes, errno, json, os, platform, signal, socket, struct, sys, threading, time

def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]

def say(*frames):
    for frame in frames:
        data = frame.encode()
        write_all(4, struct.pack(">I", len(data)) + data)

def settle(value):
    say('{"kind":"settled","ok":true,"notes":[]}\n' + json.dumps(value, separators=(",", ":")))

def done(attempts):
    """Names of the attempts that were not refused: by an exception, or by a call's own answer."""
    succeeded = []
    for name, attempt in attempts.items():
        try:
            if attempt() is not False:
                succeeded.append(name)
        except Exception:
            pass
    return succeeded

libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"

def syscall(number, arm_number, *arguments):
    """False where the kernel refuses it, whatever it says is wrong. What is allowed but was called wrongly counts as allowed."""
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(arm_number if ARM else number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return not (answer == -1 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS, errno.EACCES))

say('{"kind":"ready","protocol":1,"language":"javascript"}')
os.read(3, 65536)
