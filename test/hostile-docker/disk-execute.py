# Tries: to run a program of its own from where it may write.
# Ends: completed []
import shutil
def from_scratch():
    shutil.copy("/bin/true", "/tmp/own")
    os.chmod("/tmp/own", 0o755)
    return os.spawnv(os.P_WAIT, "/tmp/own", ["own"]) == 0
def from_memory():
    descriptor = os.memfd_create("own")
    os.write(descriptor, open("/bin/true", "rb").read())
    return os.spawnv(os.P_WAIT, f"/proc/self/fd/{descriptor}", ["own"]) == 0
settle(done({"scratch": from_scratch, "memory": from_memory}))
