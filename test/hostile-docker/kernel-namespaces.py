# Tries: to make namespaces of its own, in which it would be root, and to enter others.
# Ends: completed []
FLAGS = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "time": 0x80}
handle = ctypes.c_int()
def clone(flags):
    # A child that is made after all ends at once.
    answer = libc.syscall(ctypes.c_long(220 if ARM else 56), ctypes.c_long(flags | signal.SIGCHLD), 0, ctypes.byref(handle), 0, 0)
    if answer == 0:
        os._exit(0)
    return answer != -1
settle(done({
    **{f"unshare {name}": lambda flag=flag: syscall(272, 97, flag) for name, flag in FLAGS.items()},
    **{f"clone {name}": lambda flag=flag: clone(flag) for name, flag in FLAGS.items() if name != "time"},
    "clone handle": lambda: clone(0x1000),
    "clone3": lambda: syscall(435, 435, 0, 0),
    "setns": lambda: syscall(308, 268, os.open("/proc/1/ns/net", os.O_RDONLY), 0),
}))
