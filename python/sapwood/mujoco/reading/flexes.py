"""Flexes of a MuJoCo model whose elasticity and edges are part of the contact problem.

Such a flex has vertices on three slides each, that no other element moves, or that never move.
Its numbers are read from the model in each step, so that a changed stiffness counts.
"""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
from numpy.typing import NDArray

from sapwood.fem.meshes.flex import FlexMesh, FlexNumbers
from sapwood.mujoco.reading.joined_trees import joined_trees, meets_more_than_planes
from sapwood.mujoco.reading.names import name_of
from sapwood.mujoco.reading.support import colliding_flexes
from sapwood.mujoco.reading.trees import has_nodes, trees_of_flex

_Float = NDArray[np.float64]
_Index = NDArray[np.int32]
_DISABLE, _OBJECT = mujoco.mjtDisableBit, mujoco.mjtObj

# vertices up to which a flex without elasticity may be one dense tree: a dense step takes 0.08 of
# a sparse one at 25 vertices, 0.9 at 121, 1.9 at 169 (python -m benchmarks soft --cloths)
MOST_JOINED = 128
# numbers of a hinge: a matrix, and the factor of a curved rest shape
_HINGE = 17
# curvature of a rest shape that is round-off, over the largest entry of the matrix
_FLAT = 1e-9


@dataclasses.dataclass(frozen=True, eq=False)
class ElasticFlex:
    """A flex whose elasticity is part of the contact problem.

    Attributes
    ----------
    flex : int
        Its number in the model.
    name : str
        Its name.
    mesh : FlexMesh
        Its edges, elements and hinges.
    vertices : slice
        Its vertices among those of all flexes.
    free : ndarray of int (n_free,)
        Those of its own vertices that move.
    trees, joints, dofs : ndarray of int (n_free,), (n_free,), (n_free, 3)
        Tree, first joint and dofs of each of them.
    hinges : ndarray of int (n_hinges,)
        Its edges that are hinges.
    """

    flex: int
    name: str
    mesh: FlexMesh
    vertices: slice
    free: NDArray[np.intp]
    trees: NDArray[np.intp]
    joints: NDArray[np.intp]
    dofs: NDArray[np.intp]
    hinges: NDArray[np.intp]

    def numbers(self, model: mujoco.MjModel) -> FlexNumbers:
        """Its numbers in the model."""
        f = self.flex
        stiffness = _stiffness(model, f)
        bending = _bending(model, f)[self.hinges, :16].reshape(-1, 4, 4)
        return FlexNumbers(
            stiffness,
            bending,
            model.flexedge_length0[_edges(model, f)],
            float(model.flex_edgestiffness[f]),
            float(model.flex_damping[f]),
            float(model.flex_edgedamping[f]),
        )


def _edges(model: mujoco.MjModel, flex: int) -> slice:
    begin = int(model.flex_edgeadr[flex])
    return slice(begin, begin + int(model.flex_edgenum[flex]))


def _stiffness(model: mujoco.MjModel, flex: int) -> _Float:
    """Numbers of the elements (n_elements, m); none without elasticity of elements."""
    starts = model.flex_stiffnessadr
    begin, n = int(starts[flex]), int(model.flex_elemnum[flex])
    if begin < 0 or model.flex_dim[flex] < 2:
        return np.zeros((0, 21))
    end = min([int(s) for s in starts if s > begin], default=model.nflexstiffness)
    found: _Float = np.asarray(model.flex_stiffness[begin:end]).reshape(n, -1)
    return found


def _bending(model: mujoco.MjModel, flex: int) -> _Float:
    """Numbers of the edges (n_edges, 17); none of a flex that does not bend."""
    begin = int(model.flex_bendingadr[flex])
    if begin < 0:
        return np.zeros((0, _HINGE))
    end = begin + _HINGE * int(model.flex_edgenum[flex])
    found: _Float = np.asarray(model.flex_bending[begin:end]).reshape(-1, _HINGE)
    return found


def _has_springs(model: mujoco.MjModel, flex: int) -> bool:
    """Whether a flex has forces by its shape."""
    return not model.flex_rigid[flex] and bool(
        np.any(_stiffness(model, flex))
        or np.any(_bending(model, flex))
        or model.flex_edgestiffness[flex] != 0.0
    )


def _would_be_joined(model: mujoco.MjModel, flex: int) -> bool:
    """Whether many vertices would be one tree of the problem, as contacts move several of them."""
    return (
        int(model.flex_vertnum[flex]) > MOST_JOINED
        and flex in colliding_flexes(model).tolist()
        and not has_nodes(model, flex)
        and meets_more_than_planes(model, flex)
    )


def _obstacle(model: mujoco.MjModel, flex: int, moved: NDArray[np.bool_]) -> str:
    """Say why the elasticity of a flex stays out of the contact problem; empty if it does not."""
    if model.flex_interp[flex]:
        return "has nodes"
    plastic = getattr(model, "flex_plasticadr", None)  # from MuJoCo 4.0 on
    if plastic is not None and plastic[flex] >= 0:
        return "is plastic"
    bending = _bending(model, flex)
    if np.any(np.abs(bending[:, 16:]) > _FLAT * np.abs(bending).max(initial=0.0)):
        return "bends about a curved shape"
    begin = int(model.flex_vertadr[flex])
    bodies = model.flex_vertbodyid[begin : begin + int(model.flex_vertnum[flex])]
    held = model.body_weldid[bodies] == 0
    free = bodies[~held]
    if np.any(model.body_weldid[model.body_parentid[free]] != 0):
        return "is on a moving body"
    joints = model.body_jntadr[free, None] + np.arange(3)
    alone = (model.body_jntnum[free] == 3) & ~np.isin(free, model.body_parentid)
    if not alone.all() or np.any(model.jnt_type[joints] != int(mujoco.mjtJoint.mjJNT_SLIDE)):
        return "has vertices without three slides of their own"
    if np.any(model.body_geomnum[free]):
        return "has vertices with geoms"
    if np.any(moved[model.jnt_dofadr[joints]]):
        return "has vertices that other elements move"
    axes = np.asarray(model.jnt_axis[joints])
    if not np.allclose(axes @ np.swapaxes(axes, 1, 2), np.eye(3), rtol=0, atol=1e-12):
        return "has slides that are not at right angles"
    return ""


def _moved(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Dofs (nv,) that elements move: limits, friction loss, equalities, tendons, actuators."""
    moved = np.asarray(model.dof_frictionloss > 0.0)
    joints = [np.flatnonzero(model.jnt_limited)]
    bodies = []
    for i in range(model.neq):
        sides = np.array([model.eq_obj1id[i], model.eq_obj2id[i]])
        sides = sides[sides >= 0]
        if model.eq_type[i] == mujoco.mjtEq.mjEQ_JOINT:
            joints.append(sides)
        elif model.eq_type[i] in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
            of_sites = model.eq_objtype[i] == _OBJECT.mjOBJ_SITE
            bodies.append(model.site_bodyid[sides] if of_sites else sides)
    moved[model.jnt_dofadr[np.concatenate(joints)]] = True
    moved[np.isin(model.dof_bodyid, np.concatenate([*bodies, np.zeros(0, np.int32)]))] = True
    moved[model.ten_J_colind] = True
    transmission = mujoco.mjtTrn
    by_joint = np.isin(
        model.actuator_trntype,
        (int(transmission.mjTRN_JOINT), int(transmission.mjTRN_JOINTINPARENT)),
    )
    moved[model.jnt_dofadr[model.actuator_trnid[by_joint, 0]]] = True
    return moved


def elastic_flexes(model: mujoco.MjModel) -> dict[int, str]:
    """Flexes with forces by their shape, and why these stay out of the contact problem.

    A large flex without such forces counts where contacts would join its vertices to one tree and
    nothing keeps it out.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    dict
        By number; an empty text for flexes whose elasticity is part of the problem.
    """
    off = model.opt.disableflags & (_DISABLE.mjDSBL_SPRING | _DISABLE.mjDSBL_DAMPER)
    if not model.nflex or not hasattr(model, "flex_stiffnessadr"):
        return {}  # MuJoCo before 4.0 is not followed
    found = [
        flex
        for flex in range(model.nflex)
        if _has_springs(model, flex) or _would_be_joined(model, flex)
    ]
    moved = _moved(model)
    why = {
        flex: "has springs or dampers that an option disables"
        if off
        else _obstacle(model, flex, moved)
        for flex in found
    }
    inside = [flex for flex, text in why.items() if not text]
    joined = joined_trees(model, inside)
    alone = np.bincount(joined)[joined] == 1
    for flex in inside:
        if not alone[list(trees_of_flex(model, flex))].all():
            why[flex] = "has vertices among bodies that one constraint joins"
    inside = [flex for flex in inside if not why[flex]]
    if np.setdiff1d(colliding_flexes(model), inside).size:
        why |= dict.fromkeys(inside, "is beside flexes that stay outside")
    return {f: text for f, text in why.items() if not text or _has_springs(model, f)}


def inside_flexes(model: mujoco.MjModel) -> list[int]:
    """Flexes with sparse equations of their own, which have their elasticity and edges."""
    return [flex for flex, text in elastic_flexes(model).items() if not text]


def read_flexes(model: mujoco.MjModel) -> tuple[ElasticFlex, ...]:
    """Read the flexes whose elasticity is part of the contact problem.

    Parameters
    ----------
    model : mujoco.MjModel
        The model.

    Returns
    -------
    tuple of ElasticFlex
        Their tables.
    """
    inside = inside_flexes(model)
    if not inside:
        return ()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_flex(model, data)
    return tuple(_read(model, data, flex) for flex in inside)


def _read(model: mujoco.MjModel, data: mujoco.MjData, flex: int) -> ElasticFlex:
    edges, dim = _edges(model, flex), int(model.flex_dim[flex])
    corners, n = max(dim + 1, 3), len(_stiffness(model, flex))
    begin = int(model.flex_elemdataadr[flex])
    elements = model.flex_elem[begin : begin + n * corners].reshape(n, corners)
    sides, begin = (6 if corners == 4 else 3), int(model.flex_elemedgeadr[flex])
    element_edges = model.flex_elemedge[begin : begin + n * sides].reshape(n, sides)
    flaps = model.flex_edgeflap[edges]
    bends = (flaps >= 0).all(axis=1) if len(_bending(model, flex)) else np.zeros(len(flaps), bool)
    hinges = np.flatnonzero(bends)
    begin = int(model.flex_vertadr[flex])
    vertices = slice(begin, begin + int(model.flex_vertnum[flex]))
    mesh = FlexMesh(
        np.array(data.flexvert_xpos[vertices]),
        np.array(model.flex_edge[edges]),
        np.ascontiguousarray(elements),
        np.ascontiguousarray(element_edges),
        np.ascontiguousarray(np.hstack([model.flex_edge[edges][hinges], flaps[hinges]])),
    )
    bodies = model.flex_vertbodyid[vertices]
    free = np.flatnonzero(model.body_weldid[bodies] != 0)
    joints = model.body_jntadr[bodies[free]].astype(np.intp)
    return ElasticFlex(
        flex,
        name_of(model, _OBJECT.mjOBJ_FLEX, flex),
        mesh,
        vertices,
        free,
        model.body_treeid[bodies[free]].astype(np.intp),
        joints,
        model.jnt_dofadr[joints][:, None] + np.arange(3),
        hinges,
    )
