"""
The service
===========

This tutorial is for teams whose programs are not written in Python. Decisions are made in Go, Java or JavaScript;
labels come later from another system. ``tarry serve`` takes both over HTTP. The script starts a server on this
machine, joins some labels from Python, sends a plain HTTP request, and stops the server.
"""

# %%
# Start a server
# --------------
# In a shell the command is ``tarry serve``, which prints a token once. Here the script makes the token first.
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import altair as alt

import tarry
from tarry.charts import dressed
from tarry.service.tokens import add_token

folder = tempfile.TemporaryDirectory()
tokens = Path(folder.name) / "tokens.toml"
token = add_token(tokens, "tutorial", "admin")
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
store = f"sqlite:///{folder.name}/served.db"
command = [sys.executable, "-m", "tarry", "serve", "--store", store, "--port", str(port), "--tokens", str(tokens)]
with (Path(folder.name) / "log").open("wb") as log:
    server = subprocess.Popen(command, stdout=log, stderr=log)
url = f"http://127.0.0.1:{port}"
for _ in range(600):
    try:
        urllib.request.urlopen(f"{url}/readyz")
        break
    except OSError:
        time.sleep(0.1)

# %%
# From Python: the same methods as in process
# -------------------------------------------
with tarry.connect(url, token=token) as connection:
    join = connection.join(16, name="clicks", rng=1)
    for i in range(200):
        join.decide({"basket": i % 50}, id=f"visit-{i}")
    rows = [join.label(f"visit-{i}", int(i % 4 == 0)) for i in range(200)]
    estimate = join.estimate()
used = [row for row in rows if row is not None]
print(
    f"{len(used)} rows of 200 decisions; rate {estimate.mean:.2f}, between {estimate.low:.2f} and {estimate.high:.2f}"
)

# %%
# From any language: JSON over HTTP
# ---------------------------------
request = urllib.request.Request(f"{url}/v1/joins/clicks/status", headers={"Authorization": f"Bearer {token}"})
with urllib.request.urlopen(request) as answer:
    status = json.load(answer)
print({name: status[name] for name in ("rounds", "tracked", "pending", "balance")})

# %%
# The chart shows the rows with their weights: sixteen rows stand for two hundred decisions.
held = [{"row": i + 1, "weight": row.weight} for i, row in enumerate(used)]
bars = alt.Chart(alt.Data(values=held)).mark_bar(color="#0072B2").encode(x="row:O", y="weight:Q")
chart = dressed(bars.properties(width=480, height=160), "Weights of the rows; they add up to 200")
print(f"sum of weights {sum(row.weight for row in used):.1f}")

# %%
# Stop it
# -------
# A server ends in order: it answers the requests that it has accepted, then closes the store.
server.terminate()
server.wait(30)
folder.cleanup()

# %%
# :doc:`/service` has the console in the browser, tokens with scopes, limits and operations.
