// Package bpfinfo contains the structs that BPF_OBJ_GET_INFO_BY_FD returns: where their fields are,
// as constants whose type says how long the field is (fields_gen.go, generated from the BTF of
// Linux 7.2).
//
// It does not know what is in them. Constants are named like the kernel's fields, word by word:
// uprobe_multi.path_size of struct bpf_link_info is LinkUprobeMultiPathSize.
package bpfinfo

// Offsets in bytes of fields of 4 and 8 bytes, and of arrays of bytes.
type (
	U32     int
	U64     int
	Bytes8  int
	Bytes16 int
)
