# internal/debug/testdata/locals-O2-dwarf5.o
info functions
info locals
break 45
run
info locals
c
info locals
p delta
p *list
p list[0:4]
up
p shape
p shape.name
p &shape.area
p *&shape
whatis &shape.area
set shape.sides = 9
p shape.sides
set shape.dx += 1
set seen = {sum = 1, delta = -5}
p seen
step
s
reverse-step
c
run
break fill
continue
info args
backtrace full
up
info args
p/x shape
ptype struct shape
list locals.bpf.c:20
