func.func private @laid_out() attributes {dlti = #dlti.dl_spec<index = 32 : i64>}
