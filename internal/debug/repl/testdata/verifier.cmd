# testdata/objects/clang-22/faults.o
verifier
start err_map_value_end
verifier
advance 8
verifier
advance 11
verifier
verifier here
start err_endless_loop
advance 8
verifier all
