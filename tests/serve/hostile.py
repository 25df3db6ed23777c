"""What sixty clients without a token can do to a server at once: each way is one connection of each of them."""

import socket
import threading
from contextlib import ExitStack, suppress

from tests.serve.running import PATIENCE

CLIENTS = 60
HOST = b"Host: localhost\r\n"
SMALLEST = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"
CHUNKED = HOST + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunks(size):
    return b"%x\r\n%s\r\n" % (size, b"x" * size)


# What each client sends at first, what it repeats, and how often, until it is refused; it reads nothing.
WAYS = {
    "logins with bodies of 16 MB": (b"POST /session HTTP/1.1\r\n" + CHUNKED, chunks(65536), 250),
    "logins in small chunks": (b"POST /session HTTP/1.1\r\n" + CHUNKED, chunks(1) * 1000, 100),
    "rows for a route that needs a token": (b"POST /v1/models/m/learn HTTP/1.1\r\n" + CHUNKED, chunks(65536), 250),
    "model files for one": (b"PUT /v1/models/m/file HTTP/1.1\r\n" + CHUNKED, chunks(65536), 250),
    "heads that do not end": (b"GET / HTTP/1.1\r\n" + HOST + b"X: ", b"x" * 60_000, 20),
    "headers that do not end": (b"GET / HTTP/1.1\r\n" + HOST, b"x: x\r\n" * 90, 1),
    "pages that are not read": (b"", b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"\r\n", 2000),
    "small requests": (b"", SMALLEST * 1000, 100),
    "small refused requests": (b"", (b"GET /v1/models HTTP/1.1\r\n" + HOST + b"\r\n") * 1000, 100),
    "requests of many headers": (b"", b"GET / HTTP/1.1\r\n" + HOST + b"a:\r\n" * 98 + b"\r\n", 2000),
    "logins before others": (b"POST /session HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\n", b"", 1),
    "small logins": (b"", b"POST /session HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\n{}", 20_000),
}  # fmt: skip


def attack(url, begin, piece, times):
    """Let all clients send at once, and hold their connections until all have sent what they could."""
    host, port = url.removeprefix("http://").split(":")

    def send(connection):
        with suppress(OSError):
            connection.sendall(begin)
            for _ in range(times):
                connection.sendall(piece)

    with ExitStack() as stack:
        senders = []
        for _ in range(CLIENTS):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(min(PATIENCE, 3.0))  # of a server that no longer reads
            connection.connect((host, int(port)))
            senders.append(threading.Thread(target=send, args=(connection,)))
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
