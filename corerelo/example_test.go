package corerelo_test

import (
	"encoding/binary"
	"fmt"
	"log"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
)

// object makes the BTF of an object that knows of task_struct only what it reads: pid at byte 0,
// and a member no kernel has.
func object() (*btf.Spec, btf.ID) {
	b := btf.NewBuilder(nil)
	i := b.Int("int", 4, btf.IntSigned)
	id := b.Struct("task_struct", 8, btf.Member{Name: "pid", Type: i}, btf.Member{Name: "pidd", Type: i, BitOffset: 32})
	spec, err := b.Spec(binary.LittleEndian)
	if err != nil {
		log.Fatal(err)
	}
	return spec, id
}

func ExampleResolver_Resolve() {
	kernel, err := embedded.Spec()
	if err != nil {
		log.Fatal(err)
	}
	local, task := object()
	r := corerelo.NewResolver(local, corerelo.Target{BTF: kernel})
	rel, err := r.Resolve(corerelo.Record{TypeID: task, Access: "0:0", Kind: corerelo.FieldByteOffset})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rel.Local.Access(), rel.Result.Orig, "->", rel.Result.New)
	// Output: 0:0 0 -> 2432
}

func ExampleRelocation_Apply() {
	kernel, err := embedded.Spec()
	if err != nil {
		log.Fatal(err)
	}
	local, task := object()
	r := corerelo.NewResolver(local, corerelo.Target{BTF: kernel})
	rel, err := r.Resolve(corerelo.Record{TypeID: task, Access: "0:0", Kind: corerelo.FieldByteOffset})
	if err != nil {
		log.Fatal(err)
	}
	insns, err := decode.Assemble("r0 = *(u32 *)(r1 + 0)\nexit")
	if err != nil {
		log.Fatal(err)
	}
	patch, err := rel.Apply(insns, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(patch.Field, patch.Old, "->", patch.New)
	fmt.Println(decode.Disassemble(insns, 0, nil))
	// Output:
	// off 0 -> 2432
	// r0 = *(u32 *)(r1 + 2432)
}

// A field that the kernel does not have is not an error: the instruction is poisoned, and the
// kernel refuses a program that can reach it.
func ExampleParsePoison() {
	kernel, err := embedded.Spec()
	if err != nil {
		log.Fatal(err)
	}
	local, task := object()
	r := corerelo.NewResolver(local, corerelo.Target{BTF: kernel})
	rel, err := r.Resolve(corerelo.Record{TypeID: task, Access: "0:1", Kind: corerelo.FieldByteOffset})
	if err != nil {
		log.Fatal(err)
	}
	insns, err := decode.Assemble("r0 = *(u32 *)(r1 + 4)\nexit")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := rel.Apply(insns, 0); err != nil {
		log.Fatal(err)
	}
	kind, _, ok := corerelo.ParsePoison(insns[0])
	fmt.Println(rel.Result.Poison, ok, kind)
	// Output: true true invalid CO-RE relocation
}

func ExampleTypesCompatible() {
	kernel, err := embedded.Spec()
	if err != nil {
		log.Fatal(err)
	}
	local, task := object()
	id, _ := kernel.FindID(btf.KindStruct, "task_struct")
	fmt.Println(corerelo.TypesCompatible(local, task, kernel, id))
	// Output: true
}

func ExampleParseLog() {
	entries, err := corerelo.ParseLog(strings.NewReader(
		"prog 'on_exit': relo #3: substituting insn #12 w/ invalid insn\n" +
			"12: <invalid CO-RE relocation>\n" +
			"failed to resolve CO-RE relocation <byte_off> [26] struct task_struct.state (0:7 @ offset 40)\n"))
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		fmt.Println(e.Insn, e.Kind, e.Spec)
	}
	// Output: 12 invalid CO-RE relocation <byte_off> [26] struct task_struct.state (0:7 @ offset 40)
}
