# Tries: to use what of the kernel has been a way out elsewhere.
# Ends: completed []
def x32():
    child = os.fork()
    if child == 0:
        os._exit(0 if not ARM and syscall(0x40000000 + 39, 0) else 1)
    return os.waitpid(child, 0)[1] == 0
text = ctypes.c_char_p(b"x")
settle(done({
    "bpf": lambda: syscall(321, 280, 0, 0, 0),
    "perf_event_open": lambda: syscall(298, 241, 0, 0, -1, -1, 0),
    "userfaultfd": lambda: syscall(323, 282, 1),
    "add_key": lambda: syscall(248, 217, text, text, text, 1, -1),
    "request_key": lambda: syscall(249, 218, text, text, text, -1),
    "keyctl": lambda: syscall(250, 219, 0, -3, 1),
    "io_uring_setup": lambda: syscall(425, 425, 8, 0),
    "io_uring_enter": lambda: syscall(426, 426, 3, 0, 0, 0, 0),
    "memfd_create": lambda: syscall(319, 279, text, 0),
    "memfd_secret": lambda: syscall(447, 447, 0),
    "execveat": lambda: syscall(322, 281, -1, text, 0, 0, 0),
    "vmsplice": lambda: syscall(278, 75, 4, 0, 0, 0),
    "personality": lambda: syscall(135, 92, 0x40000),
    "kexec_load": lambda: syscall(246, 104, 0, 0, 0, 0),
    "init_module": lambda: syscall(175, 105, 0, 0, text),
    "finit_module": lambda: syscall(313, 273, 0, text, 0),
    "reboot": lambda: syscall(169, 142, 0xfee1dead, 672274793, 0, 0),
    "sethostname": lambda: syscall(170, 161, text, 1),
    "settimeofday": lambda: syscall(164, 170, 0, 0),
    "syslog": lambda: syscall(103, 116, 3, 0, 0),
    "swapon": lambda: syscall(167, 224, text, 0),
    "quotactl": lambda: syscall(179, 60, 0, text, 0, 0),
    "acct": lambda: syscall(163, 89, text),
    "name_to_handle_at": lambda: syscall(303, 264, -100, text, 0, 0, 0),
    "kcmp": lambda: syscall(312, 272, 1, 1, 0, 0, 0),
    "msgget": lambda: syscall(68, 186, 0, 0o1600),
    "shmget": lambda: syscall(29, 194, 0, 4096, 0o1600),
    "mq_open": lambda: syscall(240, 180, text, 0o102, 0o600, 0),
    "x32": x32,
}))
