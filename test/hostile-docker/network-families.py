# Tries: to open a socket of any family and any type.
# Ends: completed []
settle(done({
    f"{family} {kind}": lambda family=family, kind=kind: socket.socket(family, kind)
    for family in range(0, 46)
    for kind in (1, 2, 3, 5, 10)
}))
