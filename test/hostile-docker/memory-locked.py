# Tries: to lock memory, and to make its own process the last to be ended.
# Ends: completed []
def spare():
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-1000")
def lock():
    return libc.mlockall(3) == 0 and libc.mmap(None, 1 << 28, 3, 0x22, -1, 0) != -1
settle(done({"oom_score_adj": spare, "mlockall": lock}))
