// report: the quotient of the smallest index is rounded up
// passes: --canonicalize
func.func @main() {
  %smallest = index.constant -9223372036854775808
  %two = index.constant 2
  %quotient = index.ceildivs %smallest, %two
  vector.print %quotient : index
  return
}
