"""What an old opset has no operator for, and says in other words."""

from cases import Cases, x

case = Cases()


@case.forward(x(3, 4), how=("trace", "script"), others=[(x(5, 2),), (x(4, 4),)], dynamic_axes={"x": [0, 1]}, opset_version=9)
def steps_of_run_time(self, x):
    return x.diagonal(), x.diag(1), x.diag(-1), x.trace()


test_program = case.test()
