"""A parameter sweep on all cores: stepping releases the interpreter lock, so threads are enough."""

from concurrent.futures import ThreadPoolExecutor

import supple

# The simulations themselves share the cores, so each of them uses one thread.
supple.set_threads(1)


def sag(young_modulus: float) -> float:
    """The deflection of the end of a clamped bar after a third of a second, in metres."""
    b = supple.SceneBuilder()
    b.add_solid(
        shape={"box": {"size": [1.0, 0.2, 0.2]}},
        cell=0.1,
        material={"preset": "rubber", "young_modulus": young_modulus},
    )
    b.pin("solid", {"plane": {"point": [-0.499, 0, 0], "normal": [-1, 0, 0]}})
    sim = b.finalize(record=False)
    for _ in range(10):
        sim.step(1 / 30)
    return -float(sim.positions[:, 1].min()) - 0.1


moduli = [1e5, 2e5, 4e5, 8e5]
with ThreadPoolExecutor(max_workers=2) as pool:
    for modulus, depth in zip(moduli, pool.map(sag, moduli)):
        print(f"E = {modulus:8.0f} Pa: the end hangs {100 * depth:5.1f} cm down")
