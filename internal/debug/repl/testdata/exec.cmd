# examples/exec/exec.bpf.o
info programs
break 59
info breakpoints
run
list
continue
backtrace
print current->real_parent->comm
print ctx->old_pid
print/x current->flags
whatis current->real_parent
whatis struct event
relo .
disas /f
disas
checkpoint
rwatch current->real_parent->tgid
continue
reverse-step
reverse-step
set current->real_parent->tgid = 4711
set execs_by_uid[77] = 5
display execs_by_uid
next
undisplay
tbreak bpf_ringbuf_submit
continue
delete 2
print *(struct event *)$r1
x/s ((struct event *)$r1)->filename
x/4xw $r1
diff
info registers
info kernel
info maps
info events
finish
continue
info events
reverse-continue
goto 3
goto checkpoint 1
nexti 2
reverse-nexti
reverse-stepi
stepi
direction reverse
step
direction forward
info checkpoints
info relocs
info helpers
info functions
info variables
info display
info ctx
restart
until 58
reverse-until 52
awatch execs_by_uid[77]
info breakpoints
reset
p execs_by_uid
quit
