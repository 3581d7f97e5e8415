"""A cloth drops onto a rotating, rising ball: keyframes move the ball, friction drags the cloth along."""

import supple

b = supple.SceneBuilder()
b.add_cloth(
    shape={"grid": {"size": [1, 1], "vertices": [21, 21]}},
    material={"preset": "cotton", "friction": 0.6},
    translate=[0, 0.32, 0],
)
b.add_collider(
    name="ball",
    sphere={"center": [0, 0, 0], "radius": 0.3},
    keyframes=[
        {"time": 0.0, "translate": [0, 0, 0], "rotate": [0, 0, 0]},
        {"time": 1.0, "translate": [0, 0.2, 0], "rotate": [0, 90, 0]},
    ],
)
b.add_collider(name="floor", plane={"normal": [0, 1, 0], "point": [0, -0.8, 0]})
sim = b.finalize()

for _ in range(20):
    sim.step(1 / 60)

report = sim.report
print(f"{report['contacts']} points touch, at most {1000 * report['penetration']:.2f} mm deep")
sim.preview().save("moving_collider.png")
