package btf_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
)

// event makes the types of a small object: struct event { int pid; char comm[4]; unsigned state :
// 3; }.
func event() (*btf.Spec, btf.ID) {
	b := btf.NewBuilder(nil)
	i := b.Int("int", 4, btf.IntSigned)
	u := b.Int("unsigned int", 4, 0)
	c := b.Int("char", 1, btf.IntSigned)
	comm := b.Array(c, i, 4)
	id := b.Struct("event", 12,
		btf.Member{Name: "pid", Type: i},
		btf.Member{Name: "comm", Type: comm, BitOffset: 32},
		btf.Member{Name: "state", Type: u, BitOffset: 64, BitfieldSize: 3})
	spec, err := b.Spec(binary.LittleEndian)
	if err != nil {
		log.Fatal(err)
	}
	return spec, id
}

func ExampleParse() {
	b := btf.NewBuilder(nil)
	b.Ptr(b.Struct("file", 0))
	raw, err := b.Marshal(binary.LittleEndian)
	if err != nil {
		log.Fatal(err)
	}
	spec, err := btf.Parse(raw, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(spec.NumTypes(), "types;", spec.TypeString(2))
	// Output: 3 types; struct file *
}

func ExampleParse_malformed() {
	_, err := btf.Parse([]byte("not BTF at all"), nil)
	fmt.Println(errors.Is(err, btf.ErrNotBTF))
	// Output: true
}

func ExampleSpec_Find() {
	kernel, err := embedded.Spec()
	if err != nil {
		log.Fatal(err)
	}
	task, ok := kernel.Find(btf.KindStruct, "task_struct")
	fmt.Println(ok, task.Name, task.Size, "bytes")
	// Output: true task_struct 9792 bytes
}

func ExampleSpec_ResolvePath() {
	kernel, err := embedded.Spec()
	if err != nil {
		log.Fatal(err)
	}
	id, _ := kernel.FindID(btf.KindStruct, "file")
	f, err := kernel.ResolvePath(id, "f_path.dentry")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(kernel.TypeString(f.Type), "at byte", f.Offset())
	// Output: struct dentry * at byte 72
}

func ExampleSpec_FieldAt() {
	kernel, err := embedded.Spec()
	if err != nil {
		log.Fatal(err)
	}
	id, _ := kernel.FindID(btf.KindStruct, "file")
	path, _, exact := kernel.FieldAt(id, 72, 8)
	fmt.Println(path, exact)
	// Output: f_path.dentry true
}

func ExampleSpec_EnumValue() {
	kernel, err := embedded.Spec()
	if err != nil {
		log.Fatal(err)
	}
	v, ok := kernel.EnumValue("bpf_map_type", "BPF_MAP_TYPE_RINGBUF")
	fmt.Println(v, ok)
	// Output: 27 true
}

func ExampleSpec_FuncProto() {
	kernel, err := embedded.Spec()
	if err != nil {
		log.Fatal(err)
	}
	proto, _, ok := kernel.FuncProto("vfs_fsync")
	if !ok {
		log.Fatal("no such function")
	}
	for _, p := range proto.Params {
		fmt.Println(kernel.Declare(p.Type, p.Name))
	}
	// Output:
	// struct file *file
	// int datasync
}

func ExampleSpec_FormatString() {
	spec, id := event()
	fmt.Println(spec.FormatString(id, []byte{42, 0, 0, 0, 's', 'h', 0, 0, 5, 0, 0, 0}))
	// Output: {pid = 42, comm = "sh", state = 5}
}

func ExampleSpec_EncodeText() {
	spec, id := event()
	data := make([]byte, 12)
	if err := spec.EncodeText(id, `{pid = 7, comm = "vi"}`, data); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("% x\n", data)
	// Output: 07 00 00 00 76 69 00 00 00 00 00 00
}

func ExampleDumpC() {
	spec, id := event()
	if err := btf.DumpC(os.Stdout, spec, []btf.ID{id}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// #ifndef __VMLINUX_H__
	// #define __VMLINUX_H__
	//
	// #if defined(__clang__) && !defined(BPF_NO_PRESERVE_ACCESS_INDEX)
	// #pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)
	// #endif
	//
	// struct event {
	// 	int pid;
	// 	char comm[4];
	// 	unsigned int state: 3;
	// };
	//
	// #if defined(__clang__) && !defined(BPF_NO_PRESERVE_ACCESS_INDEX)
	// #pragma clang attribute pop
	// #endif
	//
	// #endif /* __VMLINUX_H__ */
}

func ExampleDumpRaw() {
	spec, _ := event()
	if err := btf.DumpRaw(os.Stdout, spec); err != nil {
		log.Fatal(err)
	}
	// Output:
	// [1] INT 'int' size=4 bits_offset=0 nr_bits=32 encoding=SIGNED
	// [2] INT 'unsigned int' size=4 bits_offset=0 nr_bits=32 encoding=(none)
	// [3] INT 'char' size=1 bits_offset=0 nr_bits=8 encoding=SIGNED
	// [4] ARRAY '(anon)' type_id=3 index_type_id=1 nr_elems=4
	// [5] STRUCT 'event' size=12 vlen=3
	// 	'pid' type_id=1 bits_offset=0
	// 	'comm' type_id=4 bits_offset=32
	// 	'state' type_id=2 bits_offset=64 bitfield_size=3
}

func ExampleWriteLayout() {
	spec, id := event()
	if _, err := btf.WriteLayout(os.Stdout, spec, id, btf.LayoutOptions{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// struct event {
	// 	int pid;                                        /*     0     4 */
	// 	char comm[4];                                   /*     4     4 */
	// 	unsigned int state:3;                           /*     8: 0  4 */
	//
	// 	/* size: 12, members: 3 */
	// 	/* bit_padding: 29 bits */
	// };
}

func ExampleDiff() {
	old, _ := event()
	b := btf.NewBuilder(nil)
	i := b.Int("int", 4, btf.IntSigned)
	b.Struct("event", 8, btf.Member{Name: "tgid", Type: i}, btf.Member{Name: "pid", Type: i, BitOffset: 32})
	next, err := b.Spec(binary.LittleEndian)
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range btf.Diff(old, next) {
		if d.Name != "event" {
			continue
		}
		for _, c := range d.Changes {
			fmt.Printf("%s %q: %q -> %q\n", c.Kind, c.Path, c.Old, c.New)
		}
	}
	// Output:
	// resized "": "12 bytes" -> "8 bytes"
	// moved "pid": "offset 0" -> "offset 4"
	// removed "comm": "char[4] at offset 4" -> ""
	// removed "state": "unsigned int:3 at bit 0 of offset 8" -> ""
	// added "tgid": "" -> "int at offset 0"
}

func ExampleNewSubset() {
	kernel, err := embedded.Spec()
	if err != nil {
		log.Fatal(err)
	}
	subset, err := btf.NewSubset(kernel)
	if err != nil {
		log.Fatal(err)
	}
	id, _ := kernel.FindID(btf.KindStruct, "list_head")
	subset.KeepWhole(id)
	small, ids, err := subset.Spec()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(small.Name(ids[id]), small.NumTypes(), "types of", kernel.NumTypes())
	// Output: list_head 3 types of 113666
}
