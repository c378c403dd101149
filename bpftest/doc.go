// Package bpftest tests BPF programs in Go: unmodified objects, on the types of any kernel, in the
// test's own process. It needs no kernel, no root and no Linux.
//
//	func TestFirewall(t *testing.T) {
//		k := bpftest.New(t, bpftest.Kernel("6.12"))
//		obj := k.Load("firewall.bpf.o", bpftest.Set("otherwise", uint32(1)))
//		must(t, obj.Map("services").Put(Service{Protocol: 6, Port: 443}, uint32(2)))
//		res := obj.Program("firewall").Run(bpftest.Input{Packet: obj.Packet("eth/ip/tcp(dport=443)")})
//		if res.Verdict() != "XDP_PASS" {
//			t.Errorf("HTTPS: %s", res.Verdict())
//		}
//	}
//
// A [Target] is a kernel, an [Object] a loaded object on a simulated machine of its own, with
// [Program], [Map] and [Variable] in it, and kernel objects ([Struct]) for programs that look into
// the kernel. [Matrix] runs a test on several kernels. An object comes from a file, from bytes
// ([ELF]), or from a CollectionSpec of github.com/cilium/ebpf (package bpftest/ebpfspec).
//
// A program that does something forbidden (reads through a NULL pointer, leaks a reference,
// accesses memory outside a map value) is stopped at the instruction that the kernel's verifier
// would have refused, and the test fails with the source line and the command that opens the
// debugger there. Everything is deterministic: [Seed] determines whatever the test does not set.
//
// As usual in package testing, methods end the test (Fatalf) if the test itself is wrong, for
// example if it asks for a program that the object does not have, and mark it failed (Errorf) if
// the program is wrong. TryRun, TryLoad and Open return errors instead. Operations on maps and
// variables always return errors.
package bpftest
