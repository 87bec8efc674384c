# Tries: to stop and to end the first process of its container, so that no process ends the others.
# Ends: completed 1
for number in (signal.SIGSTOP, signal.SIGKILL, signal.SIGSTOP):
    os.kill(1, number)
settle(1)
time.sleep(1000)
