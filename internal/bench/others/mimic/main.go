//go:build ignore

// Command mimic runs a program on the mimic virtual machine and prints its result and its best time:
//
//	mimic CODE INPUT
//
// CODE is bytecode, r1 the address of INPUT's bytes and r2 their number. It is copied and built
// as a module of its own, so that bpfrun does not depend on it; see BENCHMARKS.md.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/dylandreimerink/mimic"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	code, err := os.ReadFile(os.Args[1])
	check(err)
	input, err := os.ReadFile(os.Args[2])
	check(err)
	var insns asm.Instructions
	check(insns.Unmarshal(bytes.NewReader(code), binary.LittleEndian))
	vm := mimic.NewVM(mimic.VMOptEmulator(mimic.NewLinuxEmulator()))
	id, err := vm.AddProgram(&ebpf.ProgramSpec{Name: "program", Instructions: insns})
	check(err)
	mem := &mimic.PlainMemory{Backing: input, ByteOrder: binary.LittleEndian}
	entry, err := vm.MemoryController.AddEntry(mem, uint32(len(input)), "input")
	check(err)
	once := func() uint64 {
		p, err := vm.NewProcess(id, nil)
		check(err)
		p.Registers.R1, p.Registers.R2 = uint64(entry.Addr), uint64(len(input))
		check(p.Run(context.Background()))
		ret := p.Registers.R0
		check(p.Cleanup())
		return ret
	}
	ret, best := once(), time.Duration(0)
	for range 3 {
		start := time.Now()
		once()
		if d := time.Since(start); best == 0 || d < best {
			best = d
		}
	}
	fmt.Printf("%#x %d\n", ret, best.Nanoseconds())
}
