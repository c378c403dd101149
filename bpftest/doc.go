// Package bpftest tests BPF programs in Go: unmodified objects, on the types of any kernel, in the test's own process. It needs no kernel, no
// root and no Linux.
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
// A [Target] is a kernel, an [Object] a loaded object on a simulated machine of its own, with [Program], [Map] and [Variable] in it, and kernel objects
// ([Struct]) for programs that look into the kernel. [Matrix] runs a test on several kernels. An object comes from a file, from bytes ([ELF]), or from a
// CollectionSpec of github.com/cilium/ebpf (package bpftest/ebpfspec).
//
// What a program may not do (read through a NULL pointer, leak a reference, leave a map value) stops it where the kernel's verifier would have refused it, and fails the test
// with the source line and the command that opens the debugger there. Everything is deterministic: [Seed] decides what the test does not.
//
// Methods with the testing package's manners end the test (Fatalf) when the test itself is wrong, such as for a program that the object does not have, and mark it failed
// (Errorf) when the program is. TryRun, TryLoad and Open return errors instead, and operations on maps and variables always do.
package bpftest
