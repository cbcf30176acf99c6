"""Computes every number of docs/scaling.md; formulas have the same names there.

Usage: scaling.py
"""
from math import sqrt, log2

N, n = 10**6, 1024
px = N * n * n                      # pixels of all frames
F = n * n                           # pixels of a frame
COPY = 2.96e12                      # B/s, H100, read + write
UP = 48.8e9                         # B/s, H100, page-locked
DOWN = 48.8e9                       # assumed
PAGE55 = 55.3e9
USABLE = {"H100": 72e9, "H200": 127e9}
LINK = {1: (0, 0), 8: (300e9, 30e-6), 64: (40e9, 100e-6), 512: (40e9, 100e-6)}   # bytes/s, latency of one exchange
GRID = {1: (1, 1), 8: (2, 4), 64: (8, 8), 512: (16, 32)}
HOST = 2.0e12
STOR_HOST, STOR_ALL = 10e9, 100e9
S = {"A": 32, "B": 164}

print("pixels", px, "counts u16 TB", 2 * px / 1e12, "waves TB/mode", 8 * px / 1e12, "bf16", 4 * px / 1e12, "now 10 B/px", 10 * px / 1e12)
print("probe MB/mode", 8 * F / 1e6, "probe sums M=1,4 MB", (8 + 4) * F / 1e6, (32 + 4) * F / 1e6)

# rates
v512 = 364 * 512**2
tau = {"dm H100": 4.9962e-3 / v512, "dm H200": 3.7454e-3 / v512, "passes512 H100": 3.2805e-3 / v512, "passes512 H200": 2.5559e-3 / v512}
v256 = 1457 * 256**2
tau["passes256 H100"] = 2.8374e-3 / v256
tau["sep256 H100"] = 4.8778e-3 / v256
tau["4 modes 128 sep H100"] = 3.6823e-3 / (1457 * 128**2 * 4)
growth = tau["passes512 H100"] / tau["passes256 H100"]
for k, v in tau.items():
    print(f"{k}: {v*1e9:.4f} ns")
print("growth passes 256->512", growth, "passes 1024 guess H100", tau["passes512 H100"] * growth * 1e9, "ratio H200/H100 sep", tau["dm H200"] / tau["dm H100"])

# object of ptycho_stream's scans: rows, columns from random_scan_at
def bench_object(frames, side):
    across = -(-int(frames) // 1)
    import math
    a = math.ceil(math.sqrt(frames)); r = math.ceil(frames / a); st = 0.16 * side
    return ((r - 1 + 0.15) * st + side) * ((a - 1 + 0.15) * st + side)

for frames, side, ms, per in ((20000, 256, 356.78, 76), (60000, 128, 507.11, 72)):
    o = bench_object(frames, side); nb = frames / 100
    obj = o * per * nb / COPY
    rest = ms * 1e-3 - obj
    print(frames, side, f"object {o:.3e} side {sqrt(o):.0f}; object passes {obj*1e3:.0f} ms of {ms}; {obj/(ms*1e-3):.2f}; rest {rest/(frames*side*side)*1e9:.4f} ns/px; whole {ms*1e-3/(frames*side*side)*1e9:.4f}")
o = bench_object(20000, 256)
tau_l = (356.78e-3 - o * 76 * 200 / COPY) / (20000 * 65536)
tau_d = tau["dm H100"]
print("lsqml tau", tau_l * 1e9, "floor 180 B", 180 / COPY * 1e9, "share", 180 / COPY / tau_l, "dm floor 116", 116 / COPY * 1e9, 116 / COPY / tau_d)
print("HBM per iteration TB: dm sep", 116 * px / 1e12, "passes 60", 60 * px / 1e12, "lsqml", 180 * px / 1e12, "seconds", 116 * px / COPY, 60 * px / COPY, 180 * px / COPY, "H200 4.2:", 116*px/4.2e12)
print("L2: ncu 53 B in 294 us:", 53 * 1457 * 128**2 / 294e-6 / 1e12, "TB/s")

# object
def area(s, gr, gc):
    fr, fc = 1000 / gr, 1000 / gc
    return (fr * s + n - s) * (fc * s + n - s), fr * s * fc * s
for c, s in S.items():
    side = 999 * s + n
    O = side**2
    print(f"case {c}: side {side}, object {O:.3e} px, {8*O/1e9:.1f} GB, 36 B {36*O/1e9:.0f} GB, 92 B {92*O/1e9:.0f} GB, of 2^31-1: {O/(2**31-1):.2f}")
    b = (9 * s + n) ** 2
    print(f"   lsqml batch 100: whole object {76*O/1e9:.0f} GB {76*O/COPY*1e3:.0f} ms, x1e4 {76*O/COPY*1e4:.0f} s; lit window {b:.3e} px {76*b/1e9:.3f} GB {76*b/COPY*1e3:.3f} ms x1e4 {76*b/COPY*1e4:.2f} s")
    looks = O / 256 * N / 256
    print(f"   looks {looks:.2e} x256 px = {looks*256/px:.1f} of the waves; dm object update of 512: {0.4189/4.9962:.3f} of iteration; extra s {looks*256/px*0.4189/4.9962*tau_d*px:.0f}")
    print(f"   object's share of dm blocks of 64 frames, 24 B: {O*24/COPY*N/64:.0f} s")
    for G, (gr, gc) in GRID.items():
        e, w = area(s, gr, gc)
        st_e, st_w = area(s, G, 1)
        print(f"   G={G} grid {gr}x{gc}: window {e:.3e} own {w:.3e} ratio {e/w:.2f}; 36 B {36*e/1e9:.2f} GB; halo {e-w:.3e} px; exchange 20 B {20*(e-w)/1e6:.0f} MB; strips ratio {st_e/st_w:.2f} exch {20*(st_e-st_w)/1e6:.0f} MB, {20*(st_e-st_w)/max(LINK[G][0],1)*1e3:.1f} ms")

# memory: which G hold everything
def resident(G, s, bytes_px, work, card="H100"):
    e, _ = area(s, *GRID[G])
    free = max(0.0, USABLE[card] - 36 * e - work)
    return min(1.0, free / (bytes_px * px / G)), free
for card in USABLE:
    print(card, "cards to hold", {k: round(b * px / (USABLE[card] - 5e9), 1) for k, b in {"counts u16": 2, "dm M=1": 10, "dm M=4": 34, "dm bf16": 6, "lsqml+sqrt f32": 4}.items()})

print("\nTABLE dm")
for M in (1, 4):
    for c, s in S.items():
        for G in GRID:
            b = 8 * M + 2
            work = 24 * M * F * 2 * 64          # two blocks of 64 frames, three arrays
            sh, free = resident(G, s, b, work)
            comp = tau_d * M * px / G
            up = (1 - sh) * (16 * M + 2) * px / G
            down = (1 - sh) * 8 * M * px / G
            e, w = area(s, *GRID[G])
            r, lat = LINK[G]
            halo = 20 * (e - w) if G > 1 else 0
            probe = 2 * (G - 1) / G * (8 * M + 4) * F
            ex = (halo + probe) / r + 3 * lat if G > 1 else 0
            hosts = max(1, G // 8)
            host_bytes = (1 - sh) * b * px / hosts
            t = max(comp, up / UP, down / DOWN) + ex
            print(f"M={M} {c} G={G}: compute {comp:.3g} s; free {free/1e9:.0f} GB resident {sh:.3f}; up {up/1e9:.4g} GB {up/UP:.3g} s, down {down/1e9:.4g} GB {down/DOWN:.3g} s; exchange {halo/1e6:.0f}+{probe/1e6:.0f} MB {ex*1e3:.2f} ms {ex/comp*100:.2f}%; host TB {host_bytes/1e12:.2f}; iteration {t:.3g} s; eff {tau_d*M*px/G/t:.2f}; 200 it {200*t/3600:.3g} h; GPU-h {200*t*G/3600:.3g}")

def outside(s, G, B):
    """mean area of a batch's window outside the GPU's own part"""
    gr, gc = GRID[G]; b = sqrt(B)
    def axis(f):
        bb = min(b, f); K = 400; h = (n - s) / 2
        res = []
        for k in range(K):
            x = (f - bb) * s * (k + 0.5) / K
            w = bb * s + n - s
            res.append((w, max(0, min(x + w, h + f * s) - max(x, h))))
        return res
    R, C = axis(1000 / gr), axis(1000 / gc)
    iR = sum(v for _, v in R) / len(R); iC = sum(v for _, v in C) / len(C)
    return R[0][0] * C[0][0] - iR * iC
def exchange(s, G, B, M):
    r, lat = LINK[G]
    return (2 * (G - 1) / G * (8 * M + 4) * F + 20 * outside(s, G, B)) / r + 3 * lat
print("\nlsqml: smallest batch a GPU for 10 %")
for M in (1, 4):
    for c, s in S.items():
        for G in (8, 64, 512):
            most = N / G
            B = 1.0
            while B < most and exchange(s, G, B, M) > 0.1 * B * F * tau_l * M:
                B *= 1.01
            x100 = exchange(s, G, 100, M); comp100 = 100 * F * tau_l * M
            r, lat = LINK[G]
            print(f"M={M} {c} G={G}: probe {2*(G-1)/G*(8*M+4)*F/1e6:.1f} MB, outside(100) {outside(s,G,100)*20/1e6:.1f} MB; exchange at 100 {x100*1e3:.2f} ms of {comp100*1e3:.1f} = {x100/comp100*100:.1f} %; Bmin {B:.0f}; probe updates an iteration {N/(G*max(B,1)):.0f}, at 100 {N/(G*100):.0f}")
# probe only
for G in (8, 64):
    r, lat = LINK[G]
    print("probe+latency only, G", G, "B", ((2 * (G-1)/G * 12 * F) / r + 3 * lat) / (0.1 * F * tau_l))

print("\nTABLE lsqml")
for M in (1, 4):
    for c, s in S.items():
        for G in GRID:
            work = 40 * M * F * 100
            sh, free = resident(G, s, 2, work)
            comp = tau_l * M * px / G
            up = (1 - sh) * 2 * px / G
            ex = exchange(s, G, 100, M) * N / (100 * G) if G > 1 else 0
            hosts = max(1, G // 8)
            t = max(comp, up / UP) + ex
            print(f"M={M} {c} G={G}: compute {comp:.3g}; free {free/1e9:.0f} resident {sh:.3f}; up {up/1e9:.4g} GB {up/UP:.3g} s ({up/UP/comp*100:.0f}%); host TB {(1-sh)*2*px/hosts/1e12:.2f}; exchange {ex:.3g} s {ex/comp*100:.1f}%; iteration {t:.3g}; eff {comp/t:.2f}; 200 it {200*t/3600:.3g} h; GPU-h {200*t*G/3600:.3g}")
print("\nstorage")
for G in GRID:
    hosts = max(1, G // 8); r = min(hosts * STOR_HOST, STOR_ALL)
    print(f"G={G}: {r/1e9:.0f} GB/s read counts {2*px/r:.0f} s = {2*px/r/(tau_l*px/G):.1f} lsqml, {2*px/r/(tau_d*px/G):.1f} dm iterations (compute)",
          "checkpoint waves", f"{8*px/r:.0f} s", {c: f"lsqml {16*(999*s+n)**2/1e9:.1f} GB {16*(999*s+n)**2/r:.1f} s" for c, s in S.items()})
print("host DRAM for 8 GPUs streaming dm:", 8 * UP * (1 + 8 / 18) / 1e9, "lsqml", 8 * 2 * F / (F * tau_l) / 1e9)
print("break-even lsqml pcie/compute: 2/UP", 2 / UP * 1e9, "vs", tau_l * 1e9, "dm 18/UP", 18 / UP * 1e9, "vs", tau_d * 1e9, "passes", 2.0, "dm 10/UP (one upload)", 10 / UP * 1e9, "bf16 10", 10 / UP * 1e9, "bf16 one upload", 6/UP*1e9)
print("resident share at which streaming is hidden dm", 1 - tau_d / (18 / UP), "M=4", 1 - 4 * tau_d / (66 / UP))
print("dm PCIe 18.9TB at 55.3:", 18 * px / PAGE55, "lsqml", 2 * px / PAGE55)

# second estimate of lsqml's frames: the fused rate of 128^2 gives what an object pixel costs
o128 = bench_object(60000, 128)
eq = (507.11e-3 - 60000 * 16384 * 1.200e-3 / (1457 * 16384)) / (600 * o128) * COPY
print("object pixel of 128^2 costs as much as bytes:", eq, "-> 256^2 frames", (356.78e-3 - eq * 76 / 72 * 200 * bench_object(20000, 256) / COPY) / (20000 * 65536) * 1e9)
print("dm separate with second read from memory 136 B TB", 136 * px / 1e12, 136 * px / COPY, 136 * px / COPY / (tau_d * px), "Fourier step 512: 48 B", 48 * v512 / 1.6236e-3 / 1e12)
print("L2 dm 168 B", 168 * px / 1e12, 168 * px / 4.3e12, "lsqml 248 B", 248 * px / 1e12, 248 * px / 4.3e12)
print("dm one GPU PCIe with variants s:", {k: b * px / UP for k, b in {"18": 18, "10": 10, "bf16 10": 10, "bf16 once 6": 6}.items()})
print("NVMe 10 GB/s", 26 * px / 1e10)
print("H200: dm compute", tau["dm H200"] * px, "lsqml", 0.75 * tau_l * px, "G=64 dm resident", min(1, (USABLE["H200"] - 4e9) * 64 / (10 * px)))
sh = (USABLE["H200"] - 0.9e9 - 3.2e9) * 64 / (10 * px); print("   up s", (1 - sh) * 18 * px / 64 / PAGE55, "compute", tau["dm H200"] * px / 64)
print("all-reduce of the whole object A, G=512:", 2 * 20 / 2 * 1.088e9 / 40e9, "s; bytes 8+4+8?")
for G, B in ((8, 12.5), (64, 1.56)):
    r, lat = LINK[G]; x = exchange(32, G, B, 1); print("batch of 100 over all", G, x / (B * F * tau_l))
print("exact positions 128 H100", 2.283 / 1.200)
print("probe in L2: modes in 50 MB", 50 / 8.39)

# The momentum on the whole object, 32 bytes a pixel, in each of 10 000 batches of 100 frames.
for case, step in S.items():
    print("momentum on the whole object, s", case, 32 * (999 * step + n) ** 2 * 1e4 / COPY)

# Momentum that is applied when a batch comes to a tile: four instructions for each batch that a pixel has missed, on 132 multiprocessors.
for case, step in S.items():
    print("missed batches on one GPU, s", case, 4 * (999 * step + n) ** 2 * 1e4 / (132 * 128 * 1.755e9))
