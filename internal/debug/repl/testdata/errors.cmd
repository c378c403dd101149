# examples/exec/exec.bpf.o
nonsense
continu1
regz
re
p
step
bt
info nothing
info r
run nothing
run
p nothing
p curent
p current->real_parnt
p current->pid->x
p *0
p *(int *)0
p *(struct task_struct *)0xdead000
p 1 +
p (1
p "text
p current +
p $r11
p $1
p execs_by_uid[5]
p execs_by_uid.x
p events[1]
p (struct nothing *)0
p 1 / 0
p/z 1
x/5q 0
b nothing
b 1000
b exec.c:10
b *24
b
condition 1 ((
condition 9 1
delete 9
delete
goto x
goto 1000000
goto checkpoint 3
diff
frame 5
up
down
set
set 1 = 2
set current->comm = 5
set $r10 = 1
set current->pid = 99999999999
watch nothing
rwatch $r1
watch
list 1000
list nothing
list 5,3
source /nothing/there
help nothing
help print
continue x
direction sideways
info locals
whatis nothing
whatis 0xffff888000000ed0
whatis 0x1234
undisplay 4
finish
step
reverse-finish
disas bpf_probe_read_kernel
x/i probe_read_kernel
info line core
tui
