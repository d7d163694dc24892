"""How large the house is: sizes, functions called once and imports, with limits.

``python -m tests.benchmarks.house`` prints figures of the package and of its tests
beside their limits, and fails where one is exceeded. ``--names`` lists the functions
that are called once, the private ones that are used once, and the circles of imports.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import grimp

from .walks import FIRST_BUILD, taken

TOP = Path(__file__).parents[2]
PACKAGE = "django_sitemaps_plus"

#: Whoever raises a limit does it in a commit of its own, with the reason.
LIMITS: dict[str, float] = {
    # All lines of .py files; the package is counted without its migrations.
    "lines of the package": 32_920,
    "files": 202,
    "most files in a folder": 21,
    "lines of the longest file": 400,
    # Functions that the package uses in one place, by a call: the body could stand
    # there. Public ones, overrides and decorated ones are not counted.
    "functions called once": 336,
    # Functions that their module uses in one place, by a call or by handing them on.
    "private functions used once": 218,
    "private functions used once, % of all functions": 11.9,
    "lines that are imports, %": 10.5,
    "star imports": 0,
    # Imports in functions and for type checking count like all others.
    "circles of imports": 0,
    "files in circles": 0,
    "imports from a higher layer": 0,
    # A build is followed by tests.benchmarks.walks.
    "functions that a build passes": 416,
    "files that a build passes": 68,
    "lines of tests and support": 57_950,
    "lines of programs of tests": 10_650,
}

#: A limit can be lowered when its figure is below this share of it.
WELL_BELOW = 0.95

#: Modules whose names users import; "" is the package itself.
PUBLIC = {
    *("", "conf", "contrib.views", "contrib.wagtail", "exceptions", "notifications"),
    *("signals", "storage", "testing"),
}

#: Folders of tests that hold programs.
PROGRAMS = {"benchmarks", "mutants", "tools"}


class Module:
    """A module, by its text."""

    def __init__(self, path: Path, top: Path) -> None:
        *parents, last = path.relative_to(top).with_suffix("").parts
        package = ".".join(parents)
        self.name = package if last == "__init__" else f"{package}.{last}"
        self.path = path
        self.text = path.read_text("utf-8")
        self.tree = ast.parse(self.text)
        self.nodes = list(ast.walk(self.tree))
        kinds = (ast.Import, ast.ImportFrom)
        self.imports = [node for node in self.nodes if isinstance(node, kinds)]
        #: Imported names, and the dotted names that they stand for.
        self.names: dict[str, str] = {}
        for node in self.imports:
            origin = ""
            if isinstance(node, ast.ImportFrom):
                relative = "." * node.level + (node.module or "")
                origin = f"{resolve_name(relative, package)}."
            for alias in node.names:
                self.names[alias.asname or alias.name] = origin + alias.name

    def functions(self) -> Iterator[tuple[str, str, ast.FunctionDef]]:
        """Yield functions with their dotted names, and the names of their uses.

        Methods are used by their own name, private ones by that in their module.
        """
        classes = [node for node in self.nodes if isinstance(node, ast.ClassDef)]
        bodies = {f"{self.name}.{node.name}": node.body for node in classes}
        for owner, body in {self.name: self.tree.body, **bodies}.items():
            for node in body:
                if isinstance(node, ast.FunctionDef) and node.name[:2] != "__":
                    is_local = owner == self.name or node.name[0] == "_"
                    used = f"{self.name if is_local else ''}.{node.name}"
                    yield f"{owner}.{node.name}", used, node


class Package:
    """The modules of a package but its migrations, with the uses of their names."""

    def __init__(self, folder: Path) -> None:
        paths = sorted(p for p in folder.rglob("*.py") if "migrations" not in p.parts)
        found = [Module(path, folder.parent) for path in paths]
        self.name = folder.name
        self.graph = grimp.build_graph(self.name, cache_dir=None)
        self.modules = {module.name: module for module in found}
        self.functions = [f for module in found for f in module.functions()]
        self.uses: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        for module in found:
            called = {id(n.func) for n in module.nodes if isinstance(n, ast.Call)}
            for node in module.nodes:
                if name := self._used(module, node):
                    self.uses[name] += 1
                    self.calls[name] += id(node) in called

    def _origin(self, dotted: str) -> str:
        """Return where a name is defined, through the modules that hand it on."""
        module, _, name = dotted.rpartition(".")
        if dotted in self.modules or module not in self.modules:
            return dotted
        names = self.modules[module].names
        return self._origin(names[name]) if name in names else dotted

    def _used(self, module: Module, node: ast.AST) -> str:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return self._origin(f"{module.name}.{node.id}")
        if not isinstance(node, ast.Attribute):
            return ""
        if isinstance(node.value, ast.Name):
            owner = self._origin(f"{module.name}.{node.value.id}")
            if owner in self.modules:
                return self._origin(f"{owner}.{node.attr}")
        return f"{module.name if node.attr[0] == '_' else ''}.{node.attr}"

    def called_once(self) -> list[str]:
        """Return the functions whose bodies could stand where they are called.

        An override calls ``super()``, or another class has a method of its name.
        """
        public = self._public()
        defined = Counter(used for _, used, _ in self.functions)
        return [
            name
            for name, used, node in self.functions
            if self.uses[used] == self.calls[used] == defined[used] == 1
            if not node.decorator_list and "super()" not in ast.unparse(node)
            if node.name[0] == "_" or public.isdisjoint((name, name.rpartition(".")[0]))
        ]

    def private_used_once(self) -> set[str]:
        """Return the private functions that their module uses in one place."""
        private = {used for _, used, node in self.functions if node.name[0] == "_"}
        return {used for used in private if self.uses[used] == 1}

    def _public(self) -> set[str]:
        """Return the functions and classes that users import."""
        found = set()
        for name in {f"{self.name}.{part}".rstrip(".") for part in PUBLIC}:
            for node in self.modules[name].tree.body if name in self.modules else ():
                match node:
                    case ast.FunctionDef() | ast.ClassDef():
                        found.add(f"{name}.{node.name}")
                    case ast.Assign(targets=[ast.Name("__all__")]):
                        names = ast.literal_eval(node.value)
                        found |= {self._origin(f"{name}.{it}") for it in names}
        return found

    def circles(self) -> list[list[str]]:
        """Return the modules that import each other, directly or not, by circle."""
        graph = self.graph
        reach = {m: {m} | graph.find_upstream_modules(m) for m in graph.modules}
        groups = {frozenset(it for it in reach[m] if m in reach[it]) for m in reach}
        return sorted(sorted(group) for group in groups if len(group) > 1)

    def upward(self, layers: list[str]) -> list[tuple[str, str]]:
        """Return who imports whom from a layer above; the first is the highest."""
        ranks = {p: i for i, it in enumerate(layers) for p in re.findall(r"\w+", it)}
        rank = {m: ranks.get(f"{m}.".split(".")[1], -1) for m in self.graph.modules}
        return [
            (importer, imported)
            for importer in rank
            for imported in self.graph.find_modules_directly_imported_by(importer)
            if 0 <= rank[imported] < rank[importer]
        ]


def figures(package: Package, top: Path) -> dict[str, float]:
    """Return the figures that have limits, but for those of a build."""
    modules = list(package.modules.values())
    nodes = [node for module in modules for node in module.nodes]
    lengths = [module.text.count("\n") for module in modules]
    imports = [node for module in modules for node in module.imports]
    import_lines = sum((it.end_lineno or 0) + 1 - it.lineno for it in imports)
    private = len(package.private_used_once())
    functions = sum(isinstance(node, ast.FunctionDef) for node in nodes)

    circles = package.circles()
    project = tomllib.loads((top / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layered = next(it for it in contracts if it["type"] == "layers")
    upward = [" -> ".join(it) for it in package.upward(layered["layers"])]
    upward = [it for it in upward if it not in layered.get("ignore_imports", ())]

    tests = {True: 0, False: 0}
    for path in (top / "tests").rglob("*.py"):
        is_program = not PROGRAMS.isdisjoint(path.relative_to(top).parts)
        tests[is_program] += path.read_text("utf-8").count("\n")

    return {
        "lines of the package": sum(lengths),
        "files": len(modules),
        "most files in a folder": max(Counter(m.path.parent for m in modules).values()),
        "lines of the longest file": max(lengths),
        "functions called once": len(package.called_once()),
        "private functions used once": private,
        "private functions used once, % of all functions": 100 * private / functions,
        "lines that are imports, %": 100 * import_lines / sum(lengths),
        "star imports": sum(node.names[0].name == "*" for node in imports),
        "circles of imports": len(circles),
        "files in circles": sum(map(len, circles)),
        "imports from a higher layer": len(upward),
        "lines of tests and support": tests[False],
        "lines of programs of tests": tests[True],
    }


def judge(measured: dict[str, float], limits: dict[str, float]) -> None:
    """Print figures beside their limits, and exit if one is exceeded."""
    exceeded = []
    print(f"{'':50}{'measured':>9}{'limit':>9}")
    for title, limit in limits.items():
        figure = round(measured[title], 1)
        is_low = figure < WELL_BELOW * limit
        print(f"{title:50}{figure:9,}{limit:9,}{' can be lowered' * is_low}")
        if figure > limit:
            exceeded.append(f"{title}: {figure:,} is over the limit of {limit:,}")
    if exceeded:
        sys.exit("\n".join(exceeded))


def main() -> None:
    """Measure the house."""
    package = Package(TOP / PACKAGE)
    if "--names" in sys.argv[1:]:
        print("called once:", *package.called_once(), sep="\n")
        print("\nprivate, used once:", *sorted(package.private_used_once()), sep="\n")
        print("\ncircles:", *map(" ".join, package.circles()), "", sep="\n")
    [(files, functions, _)] = taken([FIRST_BUILD])
    passed = {
        "functions that a build passes": functions,
        "files that a build passes": files,
    }
    judge(figures(package, TOP) | passed, LIMITS)


if __name__ == "__main__":
    main()
