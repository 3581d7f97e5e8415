"""The same second of the same scene by several solvers: time, iterations, and the distance between their results."""

import time

import numpy as np

import supple

results = {}
for word in ["newton+cholesky", "newton+galerkin", "newton+mas", "lbfgs+cholesky"]:
    scene = supple.scene("hanging-cloth", resolution=0.1, solver=word, set={"solver.tolerance": 1e-6})
    sim = scene.simulate()
    started = time.perf_counter()
    linear = 0
    for _ in range(5):
        sim.step()
        linear += sim.report["linear_iterations"]
    results[word] = sim.positions
    seconds = time.perf_counter() - started
    apart = np.abs(results[word] - results["newton+cholesky"]).max()
    print(f"{word:16} {seconds:6.2f} s  {linear:5} linear iterations  {apart:.1e} m from the first")
