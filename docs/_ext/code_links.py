"""Names of the library in code of the pages lead to the reference.

`Stepper`, `sapwood.solve` and `Stepper.run` are looked up among the names that the reference
describes: a full name, or the end of one that is the only such end among the public names.
"""

import re

from docutils import nodes
from sphinx.util.nodes import make_refnode

NAME = re.compile(r"(?:stepper|batch|solution|problem|[A-Za-z_][\w.]*)(?:\(.*\))?$", re.DOTALL)
# variables of the pages, and the classes that they stand for
INSTANCES = {
    "stepper": "sapwood.mujoco.Stepper",
    "batch": "sapwood.mujoco.Batch",
    "solution": "sapwood.Solution",
    "problem": "sapwood.ContactProblem",
    "stepper.contacts": "sapwood.mujoco.StepContacts",
    "result": "sapwood.mujoco.RunResult",
}
MIRROR = "sapwood.reference."
# pages whose names are those of the code as it is inside
LEFT_OUT = ("development/", "reference/api/")


def ends(objects):
    """Full names by the ends that only one public name has: its last one or two parts.

    Names of modules where something is defined are none. Those of `sapwood` itself come first, and
    mirrors last.
    """
    found, doubled = {}, set()
    public = [(full, entry) for full, entry in objects.items() if not entry.aliased]
    for full, entry in sorted(public, key=lambda item: item[0].count(".") > 1):
        parts = full.split(".")
        start = 1 if entry.objtype in ("class", "function", "exception") else 2
        for count in (start, 2, 3):
            end = ".".join(parts[-count:])
            first = found.setdefault(end, full)
            if first != full and first.count(".") > 1 and not full.startswith(MIRROR):
                doubled.add(end)
    return {end: full for end, full in found.items() if end not in doubled}


def target_of(text, objects, known):
    """Return the full name that a piece of code stands for, or None."""
    if not NAME.match(text):
        return None
    name = text.partition("(")[0].rstrip(".")
    for variable in sorted(INSTANCES, key=len, reverse=True):
        if name.startswith(variable + "."):
            name = f"{INSTANCES[variable]}.{name.removeprefix(variable + '.')}"
            break
    if name in objects:
        return name
    # a name of one part is that of a class, or of a function that is called
    plain = "." not in name
    if plain and not (name[:1].isupper() or text.endswith(")")):
        return None
    return known.get(name)


def link(app, doctree, docname):
    """Make references of the code of one page."""
    if docname.startswith(LEFT_OUT):
        return
    objects = app.env.get_domain("py").objects
    known = app.env.__dict__.setdefault("code_link_ends", None) or ends(objects)
    app.env.code_link_ends = known
    for node in list(doctree.findall(nodes.literal)):
        if isinstance(node.parent, (nodes.reference, nodes.title)):
            continue
        full = target_of(node.astext(), objects, known)
        if full is not None:
            entry = objects[full]
            node.replace_self(make_refnode(
                app.builder, docname, entry.docname, entry.node_id, node.deepcopy(), full,
            ))  # fmt: skip


def forget(app, *_):
    """The names of the last build are no longer those of this one."""
    app.env.code_link_ends = None


def setup(app):
    """Sphinx's entry point."""
    app.connect("env-updated", forget)
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
