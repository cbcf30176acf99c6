#!/usr/bin/env python3
"""Compares the machine code of the kernels of one file with that of the same kernels in others.

    python3 machine_code.py sm_80.ptx sm_90.ptx
    python3 machine_code.py old.cubin ptycho.cubin mri.cubin ptycho_sm90.cubin --prefix ptycho_

PTX texts are linked with the driver of device 0 (cuLinkAddData), which needs no toolkit; cubins, made
with ptxas, need no GPU. Takes the cubins apart and prints how many kernels have equal code, and the
names of those that do not; of kernels in several of the other files, the last counts. With --prefix, a
kernel of the first file may have that prefix in the others; kernels of other names are found by
their code. Exit code 1 if a kernel differs that is
not named with --expect.
"""

import argparse
import ctypes
import struct
import sys
import time

PTX = 1


def check(answer, what):
    if answer:
        sys.exit(f"{what}: CUDA error {answer}")


def cubin(cuda, text):
    """The cubin that the driver's linker makes of a PTX text."""
    state = ctypes.c_void_p()
    check(cuda.cuLinkCreate_v2(0, None, None, ctypes.byref(state)), "cuLinkCreate")
    data = text + b"\0"
    check(
        cuda.cuLinkAddData_v2(state, PTX, data, ctypes.c_size_t(len(data)), b"ptx", 0, None, None),
        "cuLinkAddData",
    )
    image, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(cuda.cuLinkComplete(state, ctypes.byref(image), ctypes.byref(size)), "cuLinkComplete")
    found = ctypes.string_at(image, size.value)
    check(cuda.cuLinkDestroy(state), "cuLinkDestroy")
    return found


def code(elf):
    """Machine code by kernel: the sections `.text.NAME` of a 64-bit ELF file."""
    (offset,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, offset + i * size) for i in range(count)]
    base = headers[names][4]
    found = {}
    for name, _, _, _, start, length in headers:
        end = elf.index(b"\0", base + name)
        title = elf[base + name : end].decode()
        if title.startswith(".text."):
            found[title[len(".text.") :]] = elf[start : start + length]
    return found


def driver():
    """The driver, with the context of device 0."""
    cuda = ctypes.CDLL("libcuda.so.1")
    check(cuda.cuInit(0), "cuInit")
    context = ctypes.c_void_p()
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    return cuda


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("first")
    parser.add_argument("others", nargs="+")
    parser.add_argument("--prefix", default="", help="prefix that kernels got in the other files")
    parser.add_argument("--expect", default="", help="kernels that may differ, separated by commas")
    arguments = parser.parse_args()
    cuda = None
    kernels = []
    for path in [arguments.first, *arguments.others]:
        begin = time.monotonic()
        with open(path, "rb") as file:
            data = file.read()
        if not path.endswith(".cubin"):
            cuda = cuda or driver()
            data = cubin(cuda, data)
        kernels.append(code(data))
        print(f"{path}: {len(kernels[-1])} kernels, {time.monotonic() - begin:.1f} s")
    second = {name: text for others in kernels[1:] for name, text in others.items()}
    renamed = {name: arguments.prefix + name for name in kernels[0] if name not in second}
    first = {renamed.get(name, name): text for name, text in kernels[0].items()}
    both = sorted(first.keys() & second.keys())
    different = [name for name in both if first[name] != second[name]]
    for name in sorted(first.keys() - second.keys()):
        same = [other for other in second.keys() - first.keys() if second[other] == first[name]]
        if same:
            print(f"  renamed: {name} is {same[0]}")
            second[name] = second.pop(same[0])
            both.append(name)
    print(f"{len(both) - len(different)} of {len(both)} kernels have equal machine code")
    for name in different:
        print(f"  different: {name} ({len(first[name])} and {len(second[name])} bytes)")
    for name in sorted(first.keys() ^ second.keys()):
        print(f"  in one text only: {name}")
    expected = set(filter(None, arguments.expect.split(",")))
    sys.exit(1 if set(different) - expected else 0)


if __name__ == "__main__":
    main()
