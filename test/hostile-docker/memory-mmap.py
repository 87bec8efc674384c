# Tries: to take all memory by mapping it.
# Ends: stopped memoryBytes
import mmap
kept = []
while True:
    area = mmap.mmap(-1, 4 * 1024 * 1024)
    area.write(b"x" * len(area))
    kept.append(area)
