# Tries: to look into the first process of its container, and to hold it.
# Ends: completed []
settle(done({
    "ptrace attach": lambda: syscall(101, 117, 16, 1, 0, 0),
    "ptrace seize": lambda: syscall(101, 117, 0x4206, 1, 0, 0),
    "process_vm_readv": lambda: syscall(310, 270, 1, 0, 0, 0, 0, 0),
    "process_vm_writev": lambda: syscall(311, 271, 1, 0, 0, 0, 0, 0),
    "pidfd_open": lambda: syscall(434, 434, 1, 0),
    "memory": lambda: open("/proc/1/mem", "r+b").read(1),
}))
