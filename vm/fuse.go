package vm

func fuse(plain []inst) []inst { return plain }
