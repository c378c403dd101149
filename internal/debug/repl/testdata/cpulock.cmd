# internal/debug/testdata/cpus.o
run count_locked
break 71 cpu 0
continue
run count_locked on cpu 1
continue
info cpus
run report
kernel embedded
why not
cpu 0 continue
continue
continue
why safe[0].n
reset
info cpus
run oops on cpu 1
run report on cpu 0
cpu 1 continue
info cpus
continue
run count
