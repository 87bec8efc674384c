# Tries: to change the kernel by its files, or its own control group.
# Ends: completed []
paths = [
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory", "/proc/sys/net/ipv4/ip_forward",
    "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/proc/acpi/wakeup", "/proc/kcore",
    "/sys/kernel/uevent_helper", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/pids/pids.max",
    "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs", "/sys/power/state", "/sys/class/thermal",
]
def change(path):
    def attempt():
        with open(path, "w") as file:
            file.write("1000")
    return attempt
settle(done({path: change(path) for path in paths}))
