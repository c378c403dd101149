// Package ebpfspec passes a CollectionSpec of github.com/cilium/ebpf to package bpftest, so that
// projects that use bpf2go test exactly what they load:
//
//	spec, err := loadFirewall() // written by bpf2go
//	...
//	obj := bpftest.New(t, bpftest.Kernel("6.12")).Load(ebpfspec.Of(spec))
//
// Only this package depends on cilium/ebpf.
package ebpfspec
