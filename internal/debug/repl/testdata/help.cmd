# examples/exec/exec.bpf.o
help
help break
info
source /dev/null
print 40 + 2
