package decode_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log"

	"github.com/bpfrun/bpfrun/decode"
)

func ExampleAssemble() {
	insns, err := decode.Assemble(`
		r0 = 1
		if r1 == 0 goto +1
		r0 += r1
		exit`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d instructions, % x\n", len(insns), decode.Marshal(insns[:1], binary.LittleEndian))
	// Output: 4 instructions, b7 00 00 00 01 00 00 00
}

func ExampleAssemble_error() {
	_, err := decode.Assemble("r0 = r12")
	var at *decode.AsmError
	fmt.Println(errors.Is(err, decode.ErrSyntax), errors.As(err, &at))
	// Output: true true
}

func ExampleUnmarshal() {
	insns, err := decode.Unmarshal([]byte{0x79, 0x12, 0x90, 0x0a, 0, 0, 0, 0}, binary.LittleEndian)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(decode.Disassemble(insns, 0, nil))
	// Output: r2 = *(u64 *)(r1 + 2704)
}

func ExampleInsn_Info() {
	in := decode.OpLdxDW.Encode(2, 1, 2704, 0)
	info := in.Info()
	fmt.Println(info.Name, "loads", info.Size, "bytes since Linux", info.Since)
	// Output: ldx_dw loads 8 bytes since Linux 3.18
}

func ExampleParseOp() {
	op, ok := decode.ParseOp("sdiv64_imm")
	fmt.Println(op, ok, op.Info().Since)
	// Output: sdiv64_imm true 6.6
}

func ExampleCheck() {
	insns, err := decode.Assemble("r0 = 0\ngoto -2\nexit")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(decode.Check(insns, decode.CheckConfig{}))
	// Output: insn 2: unreachable instruction
}

func ExampleCheck_kernel() {
	insns, err := decode.Assemble("r0 = 6\nr0 s/= 2\nexit")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(decode.Check(insns, decode.CheckConfig{Kernel: decode.KernelVersion(6, 1, 0)}))
	fmt.Println(decode.Check(insns, decode.CheckConfig{Kernel: decode.KernelVersion(6, 12, 0)}))
	// Output:
	// insn 1: instruction is newer than the kernel: sdiv64_imm needs Linux 6.6, target is 6.1
	// <nil>
}

func ExampleReachable() {
	insns, err := decode.Assemble("r0 = 0\ngoto +1\nr0 = 1\nexit")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(decode.Reachable(insns))
	// Output: [true true false true]
}

func ExampleImm64() {
	insns, err := decode.Assemble("r1 = 0x1122334455667788 ll\nexit")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%#x in %d slots\n", decode.Imm64(insns, 0), insns[0].Len())
	// Output: 0x1122334455667788 in 2 slots
}

func ExampleOp_Compute() {
	n, _ := decode.OpDiv32Imm.Compute(7, 0)
	taken, _ := decode.OpJsgt64Imm.Holds(1, ^uint64(0))
	fmt.Println(n, taken)
	// Output: 0 true
}
