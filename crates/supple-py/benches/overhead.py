"""The overhead of a step from Python over one inside the engine: python overhead.py [STEPS] [SOLVER].

The report tells what the engine needed for the frame, as for the program; the rest of what Python sees is overhead: the way through the
interpreter and to the threads, the recording of positions, and a look at their array. One run, one process, so that the ratio holds on a busy
machine too.
"""

import sys
import time

import numpy as np

import supple

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10
solver = sys.argv[2] if len(sys.argv) > 2 else None
sim = supple.scene("hanging-cloth", solver=solver).simulate()
shares = []
for _ in range(steps):
    started = time.perf_counter()
    sim.step()
    sim.positions[:, 1].min()
    seen = time.perf_counter() - started
    own = sim.report["wall_seconds"]
    shares.append((seen - own) / own)
print(
    f"{len(sim.positions)} vertices, {sim.solver}, {steps} steps, the last of {1000 * own:.1f} ms: "
    f"overhead {100 * np.median(shares):.3f} % in the median, {100 * max(shares):.3f} % at most"
)
