"""
Loads the Python guest once and forks a process for each connection to a socket, because starting an interpreter takes
longer than most programs run. Each process first sends its id, in four bytes, big-endian; then it is the guest.

Arguments: the guest's file, and the path of the socket. Prints `ready` once it listens.
"""

import ast
import os
import signal
import socket
import sys


def load_guest(path):
    with open(path, encoding="utf-8") as source:
        tree = ast.parse(source.read(), path)
    # The last statement starts the guest, which each process does for itself.
    tree.body.pop()
    return compile(tree, path, "exec")


def accept_in_new_process(listener):
    """Returns in a new process, with the descriptor of its connection."""
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return connection.detach()
        connection.close()


def be_guest(start, path, socket_path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(socket_path)
    listener.listen(128)
    # The system then removes processes that have ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    fd = accept_in_new_process(listener)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.write(fd, os.getpid().to_bytes(4, "big"))
    sys.argv = [path, "--in", str(fd), "--out", str(fd)]
    start()


__file__ = sys.argv[1]
exec(load_guest(__file__))
be_guest(main, *sys.argv[1:])
