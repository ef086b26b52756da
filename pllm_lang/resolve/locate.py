"""From the words of an `import` to a module's name and file.

`std.X` is `X.pllm` of the shipped library; `a.b.c` belongs to the installed package that registers `a` in the
entry-point group `pllm_lang.modules`; a string is a path relative to the importing file, inside its root.
No code of a package is run: only its folder is looked up.
"""

from __future__ import annotations

import filecmp
import os

import msgspec

from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resources import stdlib_dir

ENTRY_POINT_GROUP = "pllm_lang.modules"
SUFFIX = ".pllm"


class Location(msgspec.Struct, frozen=True):
    """Where a module lies; `root` is the folder that its own relative imports may not leave."""

    name: str
    path: str
    root: str


class NotLocated(msgspec.Struct, frozen=True):
    code: str
    message: str
    help: str = ""


def locate_main(path: str, root: str) -> Location:
    """The module of a file that a call names, wherever it lies.

    A file of the shipped library is its module, and so is a copy of it in a checkout's `stdlib/` as long as it is equal.
    """
    real = os.path.realpath(path)
    library = os.path.realpath(stdlib_dir())
    inside = os.path.relpath(real, library) if real.startswith(library + os.sep) else _copied(real, library)
    if inside and real.endswith(SUFFIX):
        parts = inside[: -len(SUFFIX)].split(os.sep)
        return Location(".".join(("std", *parts)), path, library)
    return Location(_file_module(real, root), path, root)


def _copied(real: str, library: str) -> str:
    """Path within the library of the shipped file that `real`, in a folder `stdlib`, is an equal copy of; "" for none."""
    _, found, inside = real.rpartition(f"{os.sep}stdlib{os.sep}")
    shipped = os.path.join(library, inside)
    if not found or not os.path.isfile(real) or not os.path.isfile(shipped):
        return ""
    return inside if filecmp.cmp(real, shipped, shallow=False) else ""


def locate_dotted(parts: tuple[str, ...]) -> Location | NotLocated:
    if parts[0] == "std":
        return _shipped(parts[1:])
    return _installed(parts)


def locate_file(written: str, importer: Location) -> Location | NotLocated:
    """The module that another imports by a relative path."""
    path = locate_data(written, importer, SUFFIX)
    if isinstance(path, NotLocated):
        return path
    name = _file_module(os.path.realpath(path), importer.root)
    if not importer.name.startswith("./"):
        name = f"{importer.name.split('.')[0]}.{name[2:].replace('/', '.')}"
    return Location(name, path, importer.root)


def locate_data(written: str, importer: Location, suffix: str) -> str | NotLocated:
    """The path of a file that a module names relative to itself; links may not lead out of the root."""
    if os.path.isabs(written) or "\\" in written or "\x00" in written:
        message = f"`{written}` is not a relative path"
        return NotLocated(
            "modules.outside_project", message, "write the path relative to this file, with `/`"
        )
    if not written.endswith(suffix):
        message = f"`{written}` does not end in `{suffix}`"
        return NotLocated("modules.unknown", message, f"only `{suffix}` files are read here")
    path = os.path.abspath(os.path.join(os.path.dirname(importer.path), written))
    real = os.path.realpath(path)
    if not _inside(real, importer.root):
        help_ = (
            "move the file into the project: all below the folder of the nearest `pllm.toml`, else of `.git`"
        )
        return NotLocated("modules.outside_project", f"`{written}` lies outside of the project", help_)
    if not os.path.exists(real):
        return NotLocated("modules.unknown", f"there is no file `{written}`", _neighbours(path, suffix))
    return path


def _shipped(parts: tuple[str, ...]) -> Location | NotLocated:
    folder = str(stdlib_dir())
    path = os.path.join(folder, *parts) + SUFFIX
    if parts and os.path.isfile(path):
        return Location(".".join(("std", *parts)), path, folder)
    wanted = ".".join(("std", *parts))
    return NotLocated(
        "modules.unknown",
        f"the shipped library has no module `{wanted}`",
        did_you_mean(wanted, shipped_modules()),
    )


def shipped_modules() -> tuple[str, ...]:
    """Names of all modules of the shipped library."""
    folder = str(stdlib_dir())
    names: list[str] = []
    for base, folders, files in os.walk(folder):
        folders.sort()
        inner = os.path.relpath(base, folder).replace(os.sep, ".")
        prefix = "std." if inner == "." else f"std.{inner}."
        names += [prefix + file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX)]
    return tuple(sorted(names))


def _installed(parts: tuple[str, ...]) -> Location | NotLocated:
    folders = _package_folders()
    if parts[0] not in folders:
        path = "/".join(parts) + SUFFIX
        help_ = (
            did_you_mean(parts[0], (*folders, "std"))
            or f'install the package; a file of the project is imported by its path, `import "{path}" [...]`'
        )
        return NotLocated(
            "modules.unknown", f"no installed package registers the modules `{parts[0]}`", help_
        )
    folder = folders[parts[0]]
    if not folder:
        return NotLocated("modules.unknown", f"the package that registers `{parts[0]}` has no folder")
    path = os.path.join(folder, *parts[1:]) + SUFFIX
    name = ".".join(parts)
    if len(parts) == 1 or not os.path.isfile(path) or not _inside(os.path.realpath(path), folder):
        return NotLocated(
            "modules.unknown", f"the package has no module `{name}`", f"looked for {_shown(path)}"
        )
    return Location(name, path, folder)


def _package_folders() -> dict[str, str]:
    """Folder of each registered prefix. Costs about 20 ms, so it is only asked for a package import."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow import, off the path of most calls
    from importlib.util import find_spec  # noqa: PLC0415

    folders: dict[str, str] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        package, _, inner = point.value.partition(":")
        spec = find_spec(package) if "." not in package else None
        places = list(spec.submodule_search_locations or ()) if spec else []
        folders[point.name] = os.path.realpath(os.path.join(places[0], *inner.split("."))) if places else ""
    return folders


def _file_module(real: str, root: str) -> str:
    """`./plans/mlp`; a file outside of the root keeps the way to it in its name, so that names stay distinct."""
    shown = os.path.relpath(real, os.path.realpath(root))
    return "./" + shown.replace(os.sep, "/").removesuffix(SUFFIX)


def _inside(real: str, root: str) -> bool:
    real_root = os.path.realpath(root)
    return real == real_root or real.startswith(real_root.rstrip(os.sep) + os.sep)


def _neighbours(path: str, suffix: str) -> str:
    folder = os.path.dirname(path) or "."
    try:
        names = [name for name in os.listdir(folder) if name.endswith(suffix)]
    except OSError:
        return ""
    return did_you_mean(os.path.basename(path), names)


def _shown(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
