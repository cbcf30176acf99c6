"""A real kernel: the bar below a cell, an interrupt, and the next cell."""

import asyncio
import os
from pathlib import Path

import pytest

import warpstride

nbformat = pytest.importorskip("nbformat", reason="NOT TESTED: nbformat, nbclient or ipykernel is not installed")
nbclient = pytest.importorskip("nbclient", reason="NOT TESTED: nbformat, nbclient or ipykernel is not installed")
pytest.importorskip("ipykernel", reason="NOT TESTED: nbformat, nbclient or ipykernel is not installed")

BEGIN = """import numpy as np, warpstride as ws
scan = ws.ptycho.simulate(frame=32, positions=14)
def reconstruct(n):
    return ws.ptycho.reconstruct(**scan.arguments, engines=[ws.ptycho.DM(n)], backend="cpu")
def relax(n):
    return ws.jacobi.solve(np.eye(300), iterations=n, tolerance=0, backend="cpu")
"""
LONG = ["reconstruct(10**7)", "relax(10**8)"]
"""Cells that are interrupted."""


async def outputs_of(cells):
    """Runs cells, and interrupts those of `LONG` once they have shown something."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(book, timeout=300, kernel_name="python3", allow_errors=True)
    async with client.async_setup_kernel():
        for index, cell in enumerate(book.cells):
            run = asyncio.ensure_future(client.async_execute_cell(cell, index))
            while cell.source in LONG and not run.done():
                await asyncio.sleep(0.1)
                if cell.outputs:
                    await client.km.interrupt_kernel()
                    break
            await run
    return [cell.outputs for cell in book.cells]


@pytest.mark.filterwarnings("ignore")
def test_cells_show_a_bar_are_interrupted_and_the_next_one_works(monkeypatch):
    package = str(Path(warpstride.__file__).parent.parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]))
    cells = [BEGIN, LONG[0], "len(reconstruct(3).history)", LONG[1], "relax(3).field.shape"]
    begin, reconstruction, short, relaxation, last = asyncio.run(outputs_of(cells))
    assert begin == []
    for name, outputs in (("reconstruction [", reconstruction), ("relaxation [", relaxation)):
        assert [output.output_type for output in outputs] == ["display_data", "error"]
        assert outputs[0].data["text/plain"].startswith(name)
        assert outputs[1].ename == "KeyboardInterrupt"
    assert short[-1].data["text/plain"] == "3" and last[-1].data["text/plain"] == "(300, 300)"
