"""The command line without the second that its imports take: a process that has imported it forks for each command.

``python quick_tarry.py SOCKET`` serves; ``python quick_tarry.py SOCKET ARGUMENTS…`` runs ``tarry ARGUMENTS…`` in the
caller's folder, with its environment and its input and output.
"""

import json
import os
import signal
import socket
import sys
from pathlib import Path


def serve(place: str) -> None:
    """Fork a child for each command that comes in, until stopped."""
    from tarry.cli.app import COMMANDS, load

    for name in COMMANDS:
        load(name)
    sys.path[0] = ""  # the folder of the command, in place of the one of this file
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen()
        while True:
            asked, _ = listening.accept()
            if not os.fork():
                run(asked)
            asked.close()


def run(asked: socket.socket) -> None:
    """Run one command in this process, and end it."""
    from tarry.cli import main

    data, streams, *_ = socket.recv_fds(asked, 1 << 20, 3)
    while not data.endswith(b"\n"):
        data += asked.recv(1 << 20)
    folder, environment, sys.argv = json.loads(data)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    code: object = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    asked.send(bytes([code if isinstance(code, int) else int(code is not None)]))
    os._exit(0)


def ask(place: str, arguments: list[str]) -> int:
    """Run a command there; return its exit code."""
    message = json.dumps([str(Path.cwd()), dict(os.environ), ["tarry", *arguments]]) + "\n"
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(place)
        socket.send_fds(asking, [b"["], [0, 1, 2])
        asking.sendall(message.encode()[1:])
        return (asking.recv(1) or b"\x01")[0]


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
    serve(sys.argv[1])
