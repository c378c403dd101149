# internal/debug/testdata/locals-O2-dwarf5.o
p bpf_htons(80)
p/x bpf_htonl(0x01020304)
p __builtin_bswap16(0x1234)
p bpf_be64_to_cpu(0x100000000000000)
p ntohs(1, 2)
p offsetof(struct shape, name)
p offsetof(struct shape, sides)
p offsetof(struct shape, nothing)
p sizeof(struct shape)
p memcpy(1)
break 45
run
continue
print last
last delta
up
info locals
last n
last nothing
p/x shape
p list[0]@2
p list[9]
p list[0]@6
set print pretty on
p seen
p shape
set print elements 2
p list
show print
set print pretty off
set print elements unlimited
set print unknown
list locals.bpf.c:20,23
list 34,36
list locals.bpf.c:9,2
down
finish
p $
jump 60
p $pc
stepi
reverse-stepi
p $pc
jump fill
reverse-continue
continue
