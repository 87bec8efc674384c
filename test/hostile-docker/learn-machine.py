# Tries: to learn of the machine from the kernel's files.
# Ends: completed []
def holds_something(path):
    return lambda: len(os.listdir(path)) > 0 if os.path.isdir(path) else len(open(path, "rb").read(64)) > 0
# Its own processes, mounts and network.
own = {"self", "thread-self", "mounts", "net"}
names = [name for name in os.listdir("/proc") if name not in own and not name.isdigit()]
others = ["/sys", "/etc/resolv.conf", "/etc/hosts", "/etc/hostname", "/etc/shadow", "/dev/pts", "/dev/mqueue", "/dev/shm", "/var/run/docker.sock", "/run/docker.sock", "/.dockerenv"]
# The path of the mounted folder must not name the process of the host.
mounted = [line.split()[3] for line in open("/proc/self/mountinfo") if line.split()[4] in ("/bridge", "/egress")]
settle([path for path in mounted if any(part.isdigit() for part in path.replace("/", "-").replace(":", "-").split("-"))] + done({path: holds_something(path) for path in [f"/proc/{name}" for name in names] + others}))
