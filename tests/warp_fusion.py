"""Which additions of LLVM IR take a product, as LLVM's code generators for NVIDIA and AMD decide."""

from __future__ import annotations

from warp_text import Constant, Function, Instruction, Name, Operand

Part = tuple[str, int]
"""An element of a value: its name, and its place in a vector; -1 for a scalar."""


class FusedSums:
    """The sums of a basic block, and the products that they take: `visitFADD` and `visitFSUB`, aggressive."""

    def __init__(self, block: list[Instruction], function: Function, scalars: bool) -> None:
        self._made = {each.name: each for each in block if each.name}
        self._scalars = scalars
        self._uses: dict[Part, int] = {}
        for each in (one for some in function.blocks.values() for one in some):
            for type_, operand in each.operands:
                if isinstance(operand, Name) and each.op not in _MOVES:
                    for place in range(type_.size) if type_.kind == "v" else (-1,):
                        found = self.origin((operand.text, place))
                        self._uses[found] = self._uses.get(found, 0) + 1
        self.sums: dict[Part, tuple[Part, int]] = {}
        for each in reversed(block):
            if each.op in ("fadd", "fsub") and each.type.size:
                for place in range(each.type.size) if each.type.kind == "v" else (-1,):
                    self._fuse(each, place)

    def origin(self, part: Part) -> Part:
        """Return the element that an element is, behind what moves it within a thread."""
        while (made := self._made.get(part[0])) is not None:
            name, place = part
            operands = [operand for _, operand in made.operands]
            if made.op == "extractelement" and isinstance(operands[0], Name) and isinstance(operands[1], Constant):
                part = operands[0].text, int(operands[1].word)
                if (
                    not self._scalars
                    and made.operands[0][0].size > 1
                    and self._made.get(part[0], made).op not in _MOVES
                ):
                    return name, place
            elif made.op == "insertelement" and isinstance(operands[2], Constant):
                hit = int(operands[2].word) == place
                source = operands[1] if hit else operands[0]
                if not isinstance(source, Name):
                    return part
                part = source.text, -1 if hit else place
            elif made.op == "shufflevector" and isinstance(operands[2], Constant):
                mask, size = operands[2].word, made.operands[0][0].size
                number = 0 if isinstance(mask, str) else (mask[1] if mask[0] == "splat" else mask[place]).word
                if number == "poison":
                    return part
                source = operands[int(number) // size]
                if not isinstance(source, Name):
                    return part
                part = source.text, int(number) % size
            else:
                return part
        return part

    def _product(self, operand: Operand, place: int) -> Part | None:
        if not isinstance(operand, Name):
            return None
        found = self.origin((operand.text, place))
        made = self._made.get(found[0])
        return found if made is not None and made.op == "fmul" else None

    def _fuse(self, each: Instruction, place: int) -> None:
        products = [self._product(operand, place) for _, operand in each.operands]
        # AMD: LLVM takes the other one of two scalars, also of vectors of one element; of pairs it takes the first one.
        order = [0, 1] if self._scalars or (each.type.size > 1 and each.type.kind == "v") else [1, 0]
        first, second = products
        if first is not None and second is not None and self._uses[first] != self._uses[second]:
            order = [0, 1] if self._uses[first] < self._uses[second] else [1, 0]
        if first is not None and first == second:
            # A doubled product becomes a fused one by the code of NVPTX for f32 and f64 only.
            width = (each.type.inner or (each.type,))[0].size
            order = [0] if each.op == "fsub" or (self._scalars and width > 16) else []
        for number in order:
            product = products[number]
            if product is not None:
                self.sums[each.name, place] = product, number
                self._uses[product] -= 1
                break


_MOVES = ("extractelement", "insertelement", "shufflevector")
