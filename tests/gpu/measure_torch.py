"""What PyTorch reaches on this GPU, beside gpu_measure: the same copy and an f16 matrix product.

Prints one JSON object. Fails where there is no PyTorch or no GPU.
"""

import json
import statistics

import torch

ROUNDS = 9
LAUNCHES = 10


def milliseconds(run):
    """The median over rounds of the time that a launch takes."""
    run()
    times = []
    for _ in range(ROUNDS):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(LAUNCHES):
            run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / LAUNCHES)
    return statistics.median(times)


def main():
    words = 1 << 27
    x = torch.arange(words, dtype=torch.int32, device="cuda")
    y = torch.empty_like(x)
    copy = milliseconds(lambda: y.copy_(x))
    del x, y
    n = 8192
    a = torch.randn(n, n, dtype=torch.float16, device="cuda")
    b = torch.randn(n, n, dtype=torch.float16, device="cuda")
    c = torch.empty_like(a)
    product = milliseconds(lambda: torch.mm(a, b, out=c))
    print(json.dumps({
        "version": torch.__version__,
        "device": torch.cuda.get_device_name(),
        "copy_i32": {"milliseconds": copy, "gigabytes_per_second": 8 * words * 1e-6 / copy},
        "mm_f16": {"n": n, "milliseconds": product, "teraflops": 2 * n**3 * 1e-9 / product},
    }, indent=2))


if __name__ == "__main__":
    main()
