# testdata/objects/clang-14/leaks.o
run
next
continue
run stack_tail
continue
