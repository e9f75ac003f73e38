"""Positions of boxes in an array, the same for each library: those of boxes.h."""


class Elsewhere:
    """The positions of boxes.h."""

    def __init__(self):
        self.state = 1

    def __call__(self, positions):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.state >> 33) % positions


class Boxes:
    """Boxes of these lengths in an open array, at random positions, or adjacent along its last
    axis."""

    def __init__(self, array, count, times, along=False):
        elsewhere, positions = Elsewhere(), [n - c + 1 for n, c in zip(array.shape, count)]
        last = array.ndim - 1
        self.array, self.all = array, []
        for i in range(times):
            start = [
                (i % p if d == last else p // 2) if along else elsewhere(p)
                for d, p in enumerate(positions)
            ]
            self.all.append(tuple(slice(s, s + c) for s, c in zip(start, count)))

    def __call__(self):
        self.read(self.all)

    def read(self, some):
        for key in some:
            self.array[key]


def plane(shape, axis):
    return [1 if d == axis else n for d, n in enumerate(shape)]
