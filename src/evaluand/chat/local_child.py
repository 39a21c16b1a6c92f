"""The child process that serves one model through llama.cpp, run as a script.

Its settings come as one JSON line on stdin; it ends when stdin does, so also when its
parent is killed. Nothing else imports xllamacpp: closing it in-process can hang.
"""

import json
import os
import signal
import sys
import threading
from typing import Any

# printed before the address, which the parent looks for among llama.cpp's own lines
READY = "evaluand child listens at"


def main() -> None:
    """Serve until stdin ends."""
    # Ctrl-C reaches the whole process group; the parent decides what it means
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    settings = json.loads(sys.stdin.readline())
    # from the start, so that a parent killed while the weights load leaves no orphan
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        server = _serve(settings)
    except RuntimeError as error:
        sys.exit(f"{error}")
    sys.stdout.write(f"\n{READY} {server.listening_address}\n")
    sys.stdout.flush()
    threading.Event().wait()


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


def _serve(settings: dict[str, Any]) -> Any:
    """Return llama.cpp's HTTP server, listening on a free loopback port."""
    import xllamacpp  # noqa: PLC0415 - OMP_WAIT_POLICY has to be set before

    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    params.model_alias = {settings["alias"]}
    params.chat_template = settings["template"]
    params.n_ctx = settings["context"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    # one slot with a warm prefix beats four; prefixes that were left are kept in memory
    params.n_parallel = 1
    params.cache_ram_mib = settings["cache_mib"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.cors_origins = "http://127.0.0.1:1"
    params.cors_origins_explicit = True
    params.cors_credentials = False
    params.verbosity = 1
    # hidden thinking stays in the text: what a verdict is read from is what was said
    params.reasoning_format = xllamacpp.common_reasoning_format(0)
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
