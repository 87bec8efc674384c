# Tries: to start threads until there can be no more, and to keep them.
# Ends: stopped cpuMs | stopped wallMs
while True:
    try:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    except RuntimeError:
        time.sleep(0.001)
