# Tries: to fill the scratch space, and to find out that it ends.
# Ends: completed 16777216
written = 0
try:
    with open("/tmp/full", "wb", buffering=0) as file:
        while True:
            written += file.write(b"x" * 65536)
except OSError:
    pass
settle(written)
