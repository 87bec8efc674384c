# Tries: to say it is finished while daemons that ignore every signal go on.
# Ends: completed 1
for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(1, 32):
                try:
                    signal.signal(number, signal.SIG_IGN)
                except OSError:
                    pass
            while True:
                pass
        os._exit(0)
settle(1)
time.sleep(1000)
