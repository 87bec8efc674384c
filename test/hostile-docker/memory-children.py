# Tries: to take all memory by children, each of them small, and new ones for those that are ended.
# Ends: stopped memoryBytes | stopped cpuMs
while True:
    try:
        if os.fork() == 0:
            kept = bytearray(8 * 1024 * 1024)
            time.sleep(1000)
    except OSError:
        time.sleep(0.001)
