# internal/debug/testdata/cpus.o
info cpus
run count
break 58 cpu 1
cpu
run count on cpu 1
info cpus
info breakpoints
continue
next
cpu 0 continue
cpu 0
info registers
cpu 1
stepi -1
reverse-continue
reverse-stepi 3
info cpus
cpu 0
reverse-continue
continue
info cpus
print hits
goto 3
cpu 0
stepi
cpu 7
cpu x
cpu 1 nonsense
break 58 cpu 9
run count on cpu
