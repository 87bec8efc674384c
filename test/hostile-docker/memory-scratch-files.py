# Tries: to take memory by files that hold nothing.
# Ends: completed true
count = 0
try:
    while True:
        os.mknod(f"/tmp/{count}")
        count += 1
except OSError:
    pass
settle(count < 1100)
