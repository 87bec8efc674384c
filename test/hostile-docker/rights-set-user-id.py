# Tries: to become another user, by the system or by a program that is another's.
# Ends: completed []
import stat
found = []
for folder, _, names in os.walk("/usr"):
    for name in names:
        path = os.path.join(folder, name)
        if os.lstat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):
            found.append(path)
found += done({
    "setuid": lambda: os.setuid(0),
    "setgid": lambda: os.setgid(0),
    "setgroups": lambda: os.setgroups([0]),
    "setresuid": lambda: os.setresuid(0, 0, 0),
    "chown": lambda: os.chown("/tmp", 0, 0),
    "privileges": lambda: libc.prctl(38, 0, 0, 0, 0) == 0,
    "capabilities": lambda: "0000000000000000" not in next(line for line in open("/proc/self/status") if line.startswith("CapBnd")),
})
settle(found)
