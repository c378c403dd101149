# examples/exec/exec.bpf.o
r
i r
i r r1 r10
info b
b 59
tb 61
info b
c
p $r1
p/x $r1
x/8xb $r10-16
x/2i $pc
x/i on_exec
x
x/2gx $r10-16
x/a $r10-16
x/s current->comm
display/i $pc
display current->comm
c
undisplay 1
commands 1
silent
print "hello"
end
info b
condition 1 1 == 1
condition 1
ignore 1 2
set listsize 4
l
l
set var $r1 = 5
p $r1
set $r1 = 6
p $r1
show
info line
info frame
info source
info symbol $r10
info types event
info fu
ptype struct event
ptype current->cred
whatis current
alias pp = print/x
pp 255
printf "%d and %s and %x\n", 5, current->comm, 255
echo hi\n
until
advance 67
fin
clear on_exec
kernel
packet
disassemble
info watchpoints
delete 1
info b
apropos checkpoint
help running
call 1+1
help b
rewind
transcript
transcript off
directory
directory /nothing/there
alias
alias pp =
pp 1
alias a1 = b
alias b = a1
b 3
alias b =
alias a1 =
show nothing
set listsize many
list 5,7
info nothing
info r
clear
x/3xw $r10-16
start
b 46 if
b probe_read_kernel if $r2 == 4
continue
delete 3-3
enable
disable
x/1d $r10-8
b 60
commands
silent
print 1
continue
end
b 67
commands nothing
commands 99 print 1
commands print 1; print 2
info b
start
continue
info line 47
info sources
info runs
info packets
kernel nowhere
packet 1
packet zz
print
p $$
p
