"keep.set"() {value = affine_set<(d0) : (d0 - 2 >= 0)>} : () -> ()
// -----
// Equalities and inequalities together.
"keep.set"() {value = affine_set<(d0, d1)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0, d1 == 0)>} : () -> ()
// -----
// No inputs: a set that holds, or does not, by its constants.
"keep.set"() {yes = affine_set<() : (1 >= 0)>, no = affine_set<() : (1 == 0)>} : () -> ()
// -----
// A comparison with something else than zero is moved to the left.
"keep.set"() {value = affine_set<(d0)[s0] : (d0 >= 5, d0 <= s0, d0 == s0)>} : () -> ()
// -----
// Divisions and remainders.
"keep.set"() {value = affine_set<(d0)[s0] : (d0 mod 4 == 0, d0 floordiv 2 - s0 >= 0, d0 ceildiv 3 >= 0)>} : () -> ()
// -----
// Symbols only.
"keep.set"() {value = affine_set<()[n] : (n - 1 >= 0)>} : () -> ()
// -----
// Aliases of sets and maps are numbered apart.
#inside = affine_set<(d0) : (d0 >= 0)>
#same = affine_map<(d0) -> (d0)>
"keep.set"() {a = #inside, b = #same, c = affine_set<(d0) : (d0 == 0)>} : () -> ()
// -----
// Without constraints.
"keep.set"() {value = affine_set<(d0) : ()>} : () -> ()
