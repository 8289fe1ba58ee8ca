"""The declarations of the named ops of `halfulp.interp.dialects.linalg.named`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import AttributeConstraint, Property
from halfulp.interp.dialects.linalg import bodies, contraction_rules, forms, rules
from halfulp.interp.dialects.linalg.declaring import ELEMENTWISE_KIND, TYPE_FN, structured
from halfulp.interp.dialects.linalg.named import CONTRACTIONS, ELEMENTWISE, MATMULS, Named
from halfulp.interp.dialects.linalg.structure import PARALLEL, REDUCTION, Maps, Reader, written_maps
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineConstant, AffineExpr, Dimension, add, multiply
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Block, Operation
from halfulp.interp.text.op_parser import OpParser

_CAST = Property("cast", TYPE_FN, optional=True)


def _written_body(body: bodies.Body) -> forms.Body:
    def write(p: OpParser, op: Operation, block: Block) -> None:
        cast = op.properties.get("cast")
        body(
            bodies.Formula(p.registry, block),
            isinstance(cast, EnumAttr) and cast.value == TYPE_FN.cases["cast_unsigned"],
        )

    return write


# --- fixed loops ------------------------------------------------------------------------------------------------------


def _factors(op: Operation, name: str, count: int) -> Sequence[int]:
    """Return the strides or the dilations of an op: 1 where it has none."""
    written = op.properties.get(name)
    if not isinstance(written, at.DenseElementsAttr):
        return (1,) * count
    codes = [at.integer_of_code(int(code), ty.I64) for code in written.codes.reshape(-1)]
    return codes * count if written.splat else codes


def _reader(row: Named) -> Reader:
    loops = row.loops.split()
    place = {name: number for number, name in enumerate(loops)}
    windows = row.windows
    result = row.operands[-1].split()
    iterators = tuple(PARALLEL if name in result else REDUCTION for name in loops)

    def index(axis: str, op: Operation) -> AffineExpr:
        if "+" in axis:
            return add(*(Dimension(place[name]) for name in axis.split("+")))
        if "." not in axis:
            return Dimension(place[axis])
        outer, _, inner = axis.partition(".")
        number = windows.index(axis)
        stride, dilation = (_factors(op, name, len(windows))[number] for name in ("strides", "dilations"))
        return add(
            multiply(Dimension(place[outer]), AffineConstant(stride)),
            multiply(Dimension(place[inner]), AffineConstant(dilation)),
        )

    def maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
        return tuple(
            at.AffineMapAttr(len(loops), 0, tuple(index(axis, op) for axis in operand.split()))
            for operand in row.operands
        )

    return maps, lambda op: iterators


def _shaped_factors(count: int) -> AttributeConstraint:
    def accepts(attribute: Attribute) -> bool:
        return (
            isinstance(attribute, at.DenseElementsAttr)
            and ty.element_type(attribute.type) == ty.I64
            and ty.shape_of(attribute.type) == (count,)
        )

    return AttributeConstraint(f"64-bit signless int elements attribute of shape [{count}]", accepts)


def _contracting(op: Operation) -> str | None:
    return rules.verify_structured(op) or contraction_rules.verify_body(op)


def _remembering(row: Named, reader: Reader) -> Callable[[Operation], str | None]:
    """Return a verifier that also adds the attribute with the maps, as the one of MLIR does."""
    check = _contracting if row.contracts else rules.verify_structured

    def verify(op: Operation) -> str | None:
        problem = check(op)
        if problem is None:
            op.attributes.setdefault(forms.MEMOIZED, at.ArrayAttr(reader[0](op)))
        return problem

    return verify


# --- elementwise ------------------------------------------------------------------------------------------------------


def _rank(op: Operation) -> int:
    return len(ty.shape_of(op.operands[-1].type) or ()) if op.operands else 0


def _same_place(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    rank = _rank(op)
    return (at.AffineMapAttr(rank, 0, tuple(map(Dimension, range(rank)))),) * len(op.operands)


def _body_of_kind(p: OpParser, op: Operation, block: Block) -> None:
    kind = op.properties["kind"]
    assert isinstance(kind, EnumAttr)
    bodies.ELEMENTWISE_KINDS[kind.keywords](bodies.Formula(p.registry, block), False)


def _arguments_of_kind(written: Mapping[str, Attribute]) -> int:
    kind = written["kind"]
    assert isinstance(kind, EnumAttr)
    return bodies.inputs_of_kind(kind.keywords) + 1


# --- maps in the text -------------------------------------------------------------------------------------------------


def _as_property(maps: Maps) -> forms.Defaults:
    return lambda op: at.ArrayAttr(maps(op))


def _reducing(op: Operation) -> tuple[int, ...]:
    """Return the iterators that follow from maps: a dimension that does not index the last operand is a reduction."""
    maps = written_maps(op)
    kept = maps[-1].results if maps else ()
    return tuple(
        PARALLEL if Dimension(number) in kept else REDUCTION for number in range(maps[-1].dimensions if maps else 0)
    )


_MAPS_OF_MATMULS = (
    contraction_rules.verify_matmul,
    contraction_rules.verify_batch(contraction_rules.BATCH_MATMUL),
    contraction_rules.verify_batch(contraction_rules.BATCH_REDUCE_MATMUL),
)


def _unless_default(maps: Maps, verify: contraction_rules.Verify) -> contraction_rules.Verify:
    given = _or_default(maps)
    return lambda op: None if given(op) == maps(op) else verify(op)


def _or_default(maps: Maps) -> Maps:
    """Return the maps that an op has, or those that it means without any."""
    return lambda op: written_maps(op) if "indexing_maps" in op.properties else maps(op)


# --- declarations -----------------------------------------------------------------------------------------------------


def declare_named_ops() -> None:
    """Declare all named ops."""
    for row in CONTRACTIONS:
        count, reader = len(row.windows), _reader(row)
        windows = tuple(Property(name, _shaped_factors(count), optional=True) for name in ("dilations", "strides"))
        structured(
            row.name,
            reader,
            forms.named_form(_written_body(row.body), len(row.operands)),
            properties=windows if count else (),
            verify_regions=_remembering(row, reader),
        )
    for row, verify in zip(MATMULS, _MAPS_OF_MATMULS, strict=True):
        maps, iterators = _reader(row)
        structured(
            row.name,
            (_or_default(maps), iterators),
            forms.named_form(_written_body(row.body), len(row.operands), forms.Leading(_as_property(maps))),
            properties=(_CAST, Property("indexing_maps", c.AFFINE_MAP_ARRAY_ATTR, optional=True)),
            verify=_unless_default(maps, verify),
            verify_regions=_contracting,
        )
    structured(
        "contract",
        (written_maps, _reducing),
        forms.named_form(_written_body(bodies.multiply_and_add), 3, forms.Leading(lambda op: None, needed=True)),
        properties=(_CAST, Property("indexing_maps", c.AFFINE_MAP_ARRAY_ATTR)),
        verify=contraction_rules.verify_contract,
        verify_regions=_contracting,
    )
    structured(
        "elementwise",
        (written_maps, lambda op: (PARALLEL,) * _rank(op)),
        forms.named_form(
            _body_of_kind, _arguments_of_kind, forms.Leading(_as_property(_same_place), kind=ELEMENTWISE_KIND)
        ),
        properties=(
            Property("indexing_maps", c.AFFINE_MAP_ARRAY_ATTR, optional=True),
            Property("kind", ELEMENTWISE_KIND),
        ),
    )
    for name, inputs, body in ELEMENTWISE:
        structured(
            name,
            (_same_place, lambda op: (PARALLEL,) * _rank(op)),
            forms.named_form(_written_body(body), inputs + 1),
            properties=(_CAST,) if name == "copy" else (),
        )
