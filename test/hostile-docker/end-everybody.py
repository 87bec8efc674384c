# Tries: to end everybody it can reach.
# Ends: completed 1
try:
    os.kill(-1, signal.SIGKILL)
except OSError:
    pass
settle(1)
