# Tries: to mount, unmount, and change its root.
# Ends: completed []
none = ctypes.c_char_p(b"none")
settle(done({
    "mount": lambda: syscall(165, 40, none, ctypes.c_char_p(b"/tmp"), ctypes.c_char_p(b"tmpfs"), 0, 0),
    "remount": lambda: syscall(165, 40, none, ctypes.c_char_p(b"/"), 0, 0x20, 0),
    "umount2": lambda: syscall(166, 39, ctypes.c_char_p(b"/proc/kcore"), 0),
    "pivot_root": lambda: syscall(155, 41, ctypes.c_char_p(b"/tmp"), ctypes.c_char_p(b"/tmp")),
    "chroot": lambda: os.chroot("/tmp"),
    "fsopen": lambda: syscall(430, 430, ctypes.c_char_p(b"tmpfs"), 0),
    "fspick": lambda: syscall(433, 433, -100, ctypes.c_char_p(b"/"), 0),
    "open_tree": lambda: syscall(428, 428, -100, ctypes.c_char_p(b"/"), 1),
    "move_mount": lambda: syscall(429, 429, -100, ctypes.c_char_p(b"/"), -100, ctypes.c_char_p(b"/tmp"), 0),
    "mount_setattr": lambda: syscall(442, 442, -100, ctypes.c_char_p(b"/"), 0, 0, 0),
    "open_by_handle_at": lambda: syscall(304, 265, 3, 0, 0),
}))
