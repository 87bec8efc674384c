# Tries: to take memory of the kernel's by pipes that no process reads.
# Ends: completed
ends = []
try:
    while True:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        ends.append(writer)
        try:
            while os.write(writer, b"x" * 65536):
                pass
        except BlockingIOError:
            pass
except OSError:
    pass
settle(len(ends))
