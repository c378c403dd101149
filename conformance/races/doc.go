// Command races asks the running kernel whether the outcomes that it has are among those that race
// calls possible: it generates pairs of small programs that access the same words, lets race follow
// all their orders with the store buffers of x86, and runs each pair on two CPUs of the machine
// very many times. An outcome of the machine that no order has is a mistake of race.
//
// It needs root, two CPUs, x86 and clang. Programs are loaded and run with BPF_PROG_TEST_RUN by two
// threads of one process; nothing is attached or pinned. Loads are paced (package
// conformance/paced). Continuous integration does not run it:
//
//	go run ./conformance/races -pairs 50 -runs 1000000
package main
