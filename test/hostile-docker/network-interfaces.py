# Tries: to find an interface other than its own loop, a route, or a server of names.
# Ends: completed []
names = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
routes = open("/proc/net/route").readlines()[1:]
servers = open("/etc/resolv.conf").read()
settle([name for name in names if name != "lo"] + routes + servers.split())
