"keep.resource"() {attr = dense_resource<blob1> : tensor<3xi64>} : () -> ()

{-#
  dialect_resources: {
    builtin: {
      blob1: "0x08000000010000000000000002000000000000000300000000000000"
    }
  }
#-}
// -----
// Two blobs, each used twice, in the order of the file.
"keep.resource"() {a = dense_resource<second> : tensor<2xi8>, b = dense_resource<first> : tensor<4xi8>} : () -> ()
"keep.resource"() {a = dense_resource<first> : vector<4xi8>} : () -> ()

{-#
  dialect_resources: {
    builtin: {
      first: "0x0100000001020304",
      second: "0x010000000506"
    }
  }
#-}
// -----
// A blob nobody uses is not printed.
"keep.resource"() {a = dense_resource<used> : tensor<1xf32>} : () -> ()

{-#
  dialect_resources: {
    builtin: {
      used: "0x040000000000803F",
      unused: "0x0400000000000040"
    }
  }
#-}
// -----
// No blob of that name.
"keep.resource"() {a = dense_resource<missing> : tensor<2xf32>} : () -> ()
// -----
// A key in quotes.
"keep.resource"() {a = dense_resource<"a key"> : tensor<1xi8>} : () -> ()

{-#
  dialect_resources: {
    builtin: {
      "a key": "0x01000000FF"
    }
  }
#-}
// -----
// External resources of two tools.
module {}

{-#
  external_resources: {
    first_tool: {
      text: "some text",
      yes: true,
      no: false
    },
    second_tool: {
      blob: "0x0400000001020304"
    }
  }
#-}
// -----
// Both sections.
"keep.resource"() {a = dense_resource<data> : tensor<2xf16>} : () -> ()

{-#
  dialect_resources: {
    builtin: {
      data: "0x02000000003C0040"
    }
  },
  external_resources: {
    tool: {
      note: "kept"
    }
  }
#-}
// -----
// NaN payloads in a blob.
"keep.resource"() {a = dense_resource<nans> : tensor<2xf32>} : () -> ()

{-#
  dialect_resources: {
    builtin: {
      nans: "0x040000000100807F010080FF"
    }
  }
#-}
// -----
// A resource behind an alias, inside an array.
#data = dense_resource<data> : tensor<4xi8>
"keep.resource"() {a = [#data, #data]} : () -> ()

{-#
  dialect_resources: {
    builtin: {
      data: "0x0800000001020304"
    }
  }
#-}
