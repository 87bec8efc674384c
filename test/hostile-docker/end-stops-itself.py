# Tries: to stand still without using any time of its own.
# Ends: stopped cpuMs
os.kill(os.getpid(), signal.SIGSTOP)
