# Tries: to see processes and environments that are not its own, and the host's name.
# Ends: completed []
own = {"PATH", "HOME", "TZ", "LC_ALL", "LANG", "PYTHONHASHSEED", "HOSTNAME", "PWD", "OLDPWD", "LC_CTYPE", "_", "SHLVL"}
found = [name for name in os.environ if name not in own]
for pid in filter(str.isdigit, os.listdir("/proc")):
    command = open(f"/proc/{pid}/cmdline", "rb").read()
    if b"attack" not in command and b"docker-init" not in command and b"python3" not in command:
        found.append(command.decode(errors="replace")[:80])
if socket.gethostname() != "sandbox":
    found.append(socket.gethostname())
settle(found)
