# examples/exec/exec.bpf.o
why current->comm
run
why $r1
why 1 + 2
break 69
continue
why $r1
why e->nothing
continue
why events[0].ppid
why events[0].comm
why events[0].when
why events[0].uid
why events[0].filename
why execs_by_uid[7700]
why execs_by_uid
why $retval
p events[0]
p events[1]
p events[0].comm
restart
trace lines,helpers
until 56
trace
trace insns kernel
next
trace events
continue
trace off
trace everything
