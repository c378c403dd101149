# internal/debug/testdata/long.o
break 13
condition 1 i == 40
run
continue
why x
