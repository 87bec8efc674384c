# Tries: to take all descriptors of the machine.
# Ends: completed true
files = []
try:
    while True:
        files.append(os.open("/etc/passwd", os.O_RDONLY))
except OSError:
    pass
for descriptor in files:
    os.close(descriptor)
settle(len(files) < 256)
