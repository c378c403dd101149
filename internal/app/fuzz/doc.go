// Package fuzz searches inputs of the programs of an object that reach what no run reached, and
// inputs with which a program does what is wrong whatever it is meant to do. Everything that
// programs read from outside is input: packets, contexts, arguments, fields of kernel objects, maps
// and variables that only user space writes, results of helpers, time, the CPU, and the events
// before. Native code runs the inputs; comparisons of inputs that reached something new are traced
// to their operands and solved (package search).
//
// What it finds it writes as scenarios: findings that fail under bpfrun test, and a suite with a
// run for every branch that was reached.
//
// It knows machines, scenarios and packets. It does not know command lines or rendering. Start at
// [New] and [Fuzzer.Run].
package fuzz
