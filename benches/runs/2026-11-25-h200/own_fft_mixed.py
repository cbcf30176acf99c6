# warpstride's row and column kernels of the lengths 2^a 3^b 5^c against cuFFT: errors against double precision, then times.
#   ptxas -arch=sm_90 kernels-gpu/ptx/fft.ptx -o fft.cubin; python3 own_fft_mixed.py
# A name with a v is a variant of a kernel that the program does not have, and left out if the cubin has none of the name. In
# own-fft-mixed.txt 96 and 96v, and 192 and 192v, are exchanged: the program had the other kernels then.
import os
import cupy as cp
import numpy as np
from cupyx.scipy.fft import get_fft_plan

here = os.path.dirname(os.path.abspath(__file__))
module = cp.RawModule(path=here + '/fft.cubin')
with open(here + '/fft.cubin', 'rb') as file:
    names_in_file = file.read()
print(cp.cuda.runtime.getDeviceProperties(0)['name'].decode(), 'CuPy', cp.__version__, flush=True)
u, f = np.uint32, np.float32
FORWARD = cp.cuda.cufft.CUFFT_FORWARD
# name: (length, A, B) of the rows, width of the columns' tiles
KERNELS = {'64': (64, 8, 8, 16), '96': (96, 6, 16, 16), '128': (128, 16, 8, 16), '160': (160, 10, 16, 16),
           '192': (192, 12, 16, 16), '240': (240, 15, 16, 16), '256': (256, 16, 16, 16), '320': (320, 20, 16, 16),
           '384': (384, 24, 16, 16), '480': (480, 30, 16, 16), '512': (512, 32, 16, 16),
           '96v': (96, 12, 8, 16), '160v': (160, 20, 8, 16), '192v': (192, 24, 8, 16),
           '320v': (320, 20, 16, 8), '384v': (384, 24, 16, 8), '480v': (480, 30, 16, 8)}


def function(name, shared=0):
    if name.encode() not in names_in_file:
        return None
    kernel = module.get_function(name)
    if shared > 48 * 1024:
        kernel.max_dynamic_shared_size_bytes = shared
    return kernel


roots, rows_of, columns_of = {}, {}, {}
for name, (n, a, b, width) in KERNELS.items():
    roots[name] = cp.asarray(np.exp(-2j * np.pi * np.arange(n) / n).astype(np.complex64))
    rows_of[name] = function('fft_rows_' + name), function('fft_rows_' + name + '_in_place')
    columns_of[name] = function('fft_columns_' + name, a * b * width * 8)


def rows(name, source, target, count, sign=1, scale=1.):
    out, in_place = rows_of[name]
    grid = (-(-count // (128 // KERNELS[name][2])),)
    rest = roots[name], u(count), f(sign), f(scale)
    if source is None:
        in_place(grid, (128,), (target, *rest))
    else:
        out(grid, (128,), (source, target, *rest))


def columns(name, target, count, inner, sign=1, scale=1.):
    n, a, b, width = KERNELS[name]
    grid = (count * -(-inner // width),)
    arguments = target, roots[name], u(count), u(inner), f(sign), f(scale)
    columns_of[name](grid, (b * width,), arguments, shared_mem=a * b * width * 8)


def own(shape, batch, source, target, sign=1, scale=1., names=None):
    """All axes of (batch, *shape); names: of the kernel of each axis."""
    names = names or [str(n) for n in shape]
    array = int(np.prod(shape))
    rows(names[-1], source, target, batch * array // shape[-1], sign, scale if len(shape) == 1 else 1.)
    inner = shape[-1]
    for i in reversed(range(len(shape) - 1)):
        columns(names[i], target, batch * array // (inner * shape[i]), inner, sign, scale if i == 0 else 1.)
        inner *= shape[i]


def noise(*shape):
    real = lambda: cp.random.standard_normal(shape, dtype=cp.float32)
    return (real() + 1j * real()).astype(cp.complex64)


def error(found, expected):
    found = cp.asnumpy(found)
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


bad = 0


def check(what, limit, *errors):
    global bad
    wrong = not max(errors) <= limit
    bad += wrong
    print('%s %s limit %.1e%s' % (what, ' '.join('%.2e' % e for e in errors), limit, ' WRONG' if wrong else ''), flush=True)


# Rows that do not fill a block, and columns that do not fill a tile.
for name, (n, a, b, width) in KERNELS.items():
    if rows_of[name][0]:
        x = noise(37, n)
        y, z = cp.full_like(x, cp.nan), x.copy()
        rows(name, x, y, 37)
        rows(name, None, z, 37, -1, .5)
        wide = cp.asnumpy(x).astype(np.complex128)
        check('rows ' + name, 3e-7 * np.log2(n), error(y, np.fft.fft(wide)), error(z, np.fft.ifft(wide) * n * .5))
    if columns_of[name]:
        found = []
        for count, inner in (1, 37), (3, 21), (2, 1):
            x = noise(count, n, inner)
            wide = cp.asnumpy(x).astype(np.complex128)
            y = x.copy()
            columns(name, y, count, inner, -1, .5)
            found.append(error(y, np.fft.ifft(wide, axis=1) * n * .5))
        check('columns ' + name, 3e-7 * np.log2(n), *found)
for shape, batch in (([96, 96], 5), ([192, 256], 3), ([480, 320], 2), ([384, 96], 1), ([240, 160], 1), ([96, 160, 192], 1),
                     ([64, 240, 96], 2)):
    axes = tuple(range(1, len(shape) + 1))
    x = noise(batch, *shape)
    wide = np.fft.fftn(cp.asnumpy(x).astype(np.complex128), axes=axes)
    y, z = cp.full_like(x, cp.nan), x.copy()
    own(shape, batch, x, y)
    own(shape, batch, None, z)
    w = cp.empty_like(x)
    get_fft_plan(x, axes=axes).fft(x, w, FORWARD)
    check('own, own in place, cuFFT %dx%s' % (batch, shape), 3e-7 * np.log2(np.prod(shape)), error(y, wide), error(z, wide),
          error(w, wide))
print('errors above the limit:', bad, flush=True)

scratch = cp.empty(1 << 26, cp.float32)
stream = cp.cuda.Stream(non_blocking=True)


def time(go, data, start, inner, repeats=21):
    """Median milliseconds of a call. The data starts again each time, so that transforms in place stay finite; the fill keeps
    the device busy while the graph is queued."""
    with stream:
        go()
        stream.synchronize()
        stream.begin_capture()
        for _ in range(inner):
            go()
        graph = stream.end_capture()
        times = []
        for repeat in range(repeats + 2):
            scratch.fill(0)
            cp.copyto(data, start)
            begin, end = cp.cuda.Event(), cp.cuda.Event()
            begin.record(stream)
            graph.launch(stream)
            end.record(stream)
            end.synchronize()
            if repeat >= 2:
                times.append(cp.cuda.get_elapsed_time(begin, end) / inner)
    return float(np.median(times))


def compare(shape, batch):
    axes = tuple(range(1, len(shape) + 1))
    x = noise(batch, *shape)
    # Ten transforms in place multiply by at most 10^30.
    x *= np.float32(1e-20)
    y, z = cp.empty_like(x), x.copy()
    plan = get_fft_plan(x, axes=axes)
    inner = 3 if x.size > 1 << 22 else 10
    times = [time(go, z, x, inner) for go in (
        lambda: plan.fft(z, y, FORWARD), lambda: own(shape, batch, z, y),
        lambda: plan.fft(z, z, FORWARD), lambda: own(shape, batch, None, z))]
    us = [1000 * t for t in times]
    print('%dx%s out: cuFFT %.2f own %.2f us (%.2f) in: cuFFT %.2f own %.2f us (%.2f)' % (
        batch, 'x'.join(map(str, shape)), us[0], us[1], us[0] / us[1], us[2], us[3], us[2] / us[3]), flush=True)


def large(n):
    return (1 << 24) // (n * n)


# Each pass alone: a large batch, and one array.
for name, (n, a, b, width) in KERNELS.items():
    line = ['passes %s' % name]
    for batch in (large(n), 1):
        x = noise(batch, n, n) * np.float32(1e-20)
        y, z = cp.empty_like(x), x.copy()
        inner = 3 if batch > 1 else 10
        show = lambda t: '%.2f us' % (1000 * t) if batch == 1 else '%.0f GB/s' % (16 * x.size / t / 1e6)
        if rows_of[name][0]:
            line.append('rows ' + show(time(lambda: rows(name, z, y, batch * n), z, x, inner)))
            line.append('in place ' + show(time(lambda: rows(name, None, z, batch * n), z, x, inner)))
        if columns_of[name]:
            line.append('columns ' + show(time(lambda: columns(name, z, batch, n), z, x, inner)))
    print(', '.join(line), flush=True)
for n in 96, 160, 192, 240, 320, 384, 480:
    for batch in 1, 2, 4, 8, 16, 64, large(n):
        compare([n, n], batch)
for shape in [192, 256], [320, 256], [480, 240]:
    for batch in 1, 16:
        compare(shape, batch)
for n in 96, 128, 160, 192, 256:
    compare([n, n, n], 1)
