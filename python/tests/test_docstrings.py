"""Docstrings and stubs against the signatures of what they describe."""

import ast
import dataclasses
import doctest
import importlib
import inspect
import pathlib
import re

import pytest

import warpstride as ws
from warpstride import _warpstride

MODULES = (ws, ws.ptycho, ws.mri, ws.sas, ws.series, ws.jacobi)
COMPILED = (ws.DataError, ws.DeviceError, ws.OutOfMemoryError, ws.series.Table)


def public():
    """Names and objects of all that users call, functions, classes and their public methods, and whether it is a method."""
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            if not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            yield f"{module.__name__}.{name}", thing, False
            for attribute, member in vars(thing).items() if inspect.isclass(thing) else ():
                if inspect.isfunction(member) and (not attribute.startswith("_") or attribute == "__call__"):
                    if not issubclass(thing, tuple):
                        yield f"{module.__name__}.{name}.{attribute}", member, True


PUBLIC = list(public())


def sections(thing):
    """The text of each numpydoc section."""
    parts = re.split(r"^([A-Z][a-z]+)\n-+\n", inspect.cleandoc(thing.__doc__ or ""), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def names(section):
    """The names that a section describes, in their order."""
    heads = [line.partition(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


@pytest.mark.parametrize(("name", "thing", "method"), PUBLIC, ids=[name for name, _, _ in PUBLIC])
def test_docstrings_have_the_sections_and_the_names_of_the_signature(name, thing, method):
    found = sections(thing)
    if not method:
        assert "Examples" in found and ">>>" in found["Examples"], name
    if dataclasses.is_dataclass(thing) and "Parameters" not in found:
        assert names(found["Attributes"]) == [field.name for field in dataclasses.fields(thing)], name
        return
    if inspect.isclass(thing) and issubclass(thing, tuple):
        assert names(found["Attributes"]) == list(thing._fields), name
        return
    if "Parameters" not in found and (inspect.isclass(thing) or method):
        # What users do not make themselves, and methods with a line of text.
        assert thing.__doc__, name
        return
    signature = inspect.signature(thing)
    parameters = [parameter for parameter in signature.parameters if parameter != "self"]
    assert names(found.get("Parameters", "")) == parameters, name
    if inspect.isfunction(thing) and signature.return_annotation not in (None, "None"):
        assert "Returns" in found or "Yields" in found, name
    if inspect.isfunction(thing) and parameters and not method:
        assert "Raises" in found, name


@pytest.mark.parametrize("thing", COMPILED, ids=lambda thing: thing.__name__)
def test_examples_of_the_extension_module_run(thing):
    test = doctest.DocTestParser().get_doctest(inspect.cleandoc(thing.__doc__), {}, thing.__name__, None, 0)
    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_the_stub_has_the_names_and_parameters_of_the_extension_module():
    path = pathlib.Path(inspect.getfile(ws)).parent / "_warpstride.pyi"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    described = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert described.keys() == {name for name in vars(_warpstride) if not name.startswith("_")}
    for name, node in described.items():
        thing = getattr(_warpstride, name)
        if isinstance(node, ast.FunctionDef):
            expect_parameters(name, node, thing)
            continue
        members = [member for member in node.body if isinstance(member, ast.FunctionDef)]
        stubbed = {member.name for member in members}
        real = {member for member in vars(thing) if not member.startswith("_")}
        assert real <= stubbed and all(hasattr(thing, member) for member in stubbed), (name, real ^ stubbed)
        for member in members:
            if member.name in real and not any(ast.unparse(one) == "property" for one in member.decorator_list):
                expect_parameters(f"{name}.{member.name}", member, getattr(thing, member.name))
            elif member.name == "__new__":
                expect_parameters(name, member, thing)


def expect_parameters(name, node, thing):
    """The parameters of a stub are those of a function of the module, in their order."""
    stubbed = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    real = list(inspect.signature(thing).parameters)
    assert [one for one in stubbed if one not in ("self", "cls")] == [one for one in real if one != "self"], name


@pytest.mark.parametrize("function", [ws.series.resample, ws.ptycho.reconstruct, ws.ptycho.read_scan, ws.selftest])
def test_annotations_are_names_that_exist(function):
    module = importlib.import_module(function.__module__)
    assert set(inspect.get_annotations(function, eval_str=True, globals=vars(module))) >= set(
        inspect.signature(function).parameters
    )


def test_a_reconstruction_takes_the_arguments_of_reconstruct():
    whole = list(inspect.signature(ws.ptycho.reconstruct).parameters.values())
    steps = list(inspect.signature(ws.ptycho.Reconstruction).parameters.values())
    assert [str(one) for one in whole if one.name not in ("callback", "progress")] == [str(one) for one in steps]
