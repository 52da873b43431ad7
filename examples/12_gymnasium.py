"""An environment of Gymnasium whose feedback comes late: an agent of any library learns from what is tracked.

An action is a play in the unit ball, and its loss is half the squared distance to a target. The gradient of a round
comes a random time later, and only where one of the slots holds the round: ``info["feedback"]`` lists the round, its
weight and its gradient. The reward is minus the weighted losses that came, so it tells nothing early.
"""

import gymnasium
import numpy as np
from gymnasium.spaces import Box

import tarry


class LateGradients(gymnasium.Env[np.ndarray, np.ndarray]):
    """Track at most ``capacity`` rounds; feedback takes ``mean`` rounds in the mean."""

    def __init__(self, dimension: int = 3, horizon: int = 500, capacity: int = 16, mean: float = 40.0) -> None:
        self.horizon, self.capacity, self.mean = horizon, capacity, mean
        self.action_space = self.observation_space = Box(-1.0, 1.0, (dimension,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.join = tarry.LabelJoin(self.capacity, rng=int(self.np_random.integers(2**31)))
        self.round, self.due = 0, {}
        return np.zeros(self.action_space.shape), {"feedback": []}

    def step(self, action):
        self.round += 1
        play = action / max(1.0, float(np.linalg.norm(action)))
        target = self.np_random.normal(0.4, 0.3, play.size)
        round_id = self.join.decide().id
        wait = int(self.np_random.geometric(1.0 / (1.0 + self.mean))) - 1
        self.due.setdefault(self.round + wait, []).append((round_id, play - target))
        feedback = []
        for number, gradient in self.due.pop(self.round, []):
            row = self.join.label(number, gradient.tolist())
            if row is not None and row.weight > 0.0:
                feedback.append((number, row.weight, gradient))
        reward = -sum(weight * 0.5 * float(gradient @ gradient) for _, weight, gradient in feedback)
        info = {"feedback": feedback, "loss": 0.5 * float((play - target) @ (play - target))}
        return play, reward, False, self.round == self.horizon, info


gymnasium.register("LateGradients-v0", LateGradients)
environment = gymnasium.make("LateGradients-v0")
environment.reset(seed=7)
total, losses, truncated = np.zeros(3), [], False
while not truncated:  # an agent that follows the weighted gradients
    _, _, _, truncated, info = environment.step(-0.02 * total)
    losses.append(info["loss"])  # for the score alone: an agent must not learn from it
    total += sum((weight * gradient for _, weight, gradient in info["feedback"]), np.zeros(3))
print(f"mean loss {np.mean(losses[:25]):.2f} in the first 25 rounds, {np.mean(losses[25:]):.2f} in the rest")
