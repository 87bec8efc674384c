# Tries: to learn of the machine from the kernel's files.
# Ends: completed []
def holds_something(path):
    return lambda: len(open(path, "rb").read(64)) > 0
names = "kcore keys key-users timer_list sched_debug cpuinfo cmdline config.gz version uptime loadavg interrupts iomem ioports modules kallsyms diskstats partitions swaps pressure/cpu".split()
others = ["/etc/resolv.conf", "/etc/hosts", "/etc/shadow", "/sys/class/dmi/id/product_name", "/sys/firmware/dmi/tables/DMI", "/sys/class/net/eth0/address", "/var/run/docker.sock", "/run/docker.sock", "/.dockerenv"]
settle(done({path: holds_something(path) for path in [f"/proc/{name}" for name in names] + others}))
