"""``{engine-fields} mjModel``: the fields of a struct of MuJoCo that the core's table has."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from sapwood.mujoco.reading.engine_fields import FIELDS, READ_AGAIN

READERS = {"CORE": "C", "PYTHON": "Python", "BOTH": "C, Python"}
VERSIONS = {"ALL": "", "SINCE_4": "4.0 and later", "BEFORE_3_17": "before 3.17"}


class EngineFields(SphinxDirective):
    """A table with a row for each field."""

    required_arguments = 1

    def run(self):
        """What stands on the page."""
        lines = ["| field | type | shape | readers | after a change | part read again | versions |"]
        lines.append("| --- | --- | --- | --- | --- | --- | --- |")
        for field in FIELDS:
            if field.structure == self.arguments[0]:
                change = field.change.lower().replace("_", " ")
                part = field.again.lower().replace("_", " ") if field.change in READ_AGAIN else ""
                shape = "" if field.shape == "()" else field.shape
                lines.append(
                    f"| {field.name} | `{field.declared}` | {shape} | {READERS[field.readers]} "
                    f"| {change} | {part} | {VERSIONS[field.versions]} |"
                )
        parent = nodes.Element()
        self.state.nested_parse(StringList(lines), self.content_offset, parent)
        return parent.children


def setup(app):
    """Sphinx's entry point."""
    app.add_directive("engine-fields", EngineFields)
    return {"parallel_read_safe": True}
