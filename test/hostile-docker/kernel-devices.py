# Tries: to make devices, and to open those that matter.
# Ends: completed []
def make(kind, major, minor):
    return lambda: os.mknod(f"/tmp/device-{major}-{minor}", kind | 0o666, os.makedev(major, minor))
import stat
names = "mem kmem port kmsg sda vda nvme0n1 fuse kvm net/tun loop0 loop-control vhost-vsock vsock mapper/control userfaultfd cuse snd rtc0 watchdog input/event0 ttyS0".split()
settle(done({
    "block": make(stat.S_IFBLK, 8, 0),
    "memory": make(stat.S_IFCHR, 1, 1),
    "kmsg": make(stat.S_IFCHR, 1, 11),
    **{name: lambda name=name: open(f"/dev/{name}", "rb") for name in names},
}))
