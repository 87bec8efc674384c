# Tries: to write anywhere but in its scratch space.
# Ends: completed []
def writable(folder):
    def attempt():
        with open(os.path.join(folder, ".written"), "w") as file:
            file.write("x")
    return attempt
folders = [folder for folder, _, _ in os.walk("/") if not folder.startswith(("/tmp", "/proc", "/sys"))]
settle(done({folder: writable(folder) for folder in folders + ["/proc/self", "/sys", "/dev/shm", "/dev/mqueue", "/run"]}))
