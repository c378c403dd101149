# examples/loop/loop.bpf.o
break climb_one if $insns > 56
run
c
bt
up
info registers
regs r1 r10
down
frame 1
finish
rc
reverse-finish
commands 1 p $insns; bt
condition 1
ignore 1 1
c
disable 1
c
rc
enable 1
reverse-next
watch exits_by_depth
info args
info variables
