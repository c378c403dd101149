package verdicts

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// MapName is the name of every map of a generated program.
const MapName = "generated"

// Program is a program without an object file.
type Program struct {
	// Code holds the instructions in hex, little-endian. The immediate of a map reference is an
	// index into Maps.
	Code string `json:"code"`
	Maps []Map  `json:"maps,omitempty"`
	// Types is the raw little-endian BTF of the program's functions and map values; empty if there
	// is none.
	Types []byte `json:"types,omitempty"`
	// Funcs is the program's func_info.
	Funcs []Func `json:"funcs,omitempty"`
	// Text is the disassembly, for human readers.
	Text string `json:"text,omitempty"`
}

// Map defines a map of a generated program.
type Map struct {
	Type      uint32 `json:"type"`
	Key       uint32 `json:"key,omitempty"`
	Value     uint32 `json:"value,omitempty"`
	Entries   uint32 `json:"entries,omitempty"`
	Flags     uint32 `json:"flags,omitempty"`
	KeyType   uint32 `json:"key_type,omitempty"` // a type id in Program.Types
	ValueType uint32 `json:"value_type,omitempty"`
	// Frozen is the contents of a frozen map, which is read-only for user space and constant for
	// the verifier.
	Frozen []byte `json:"frozen,omitempty"`
}

// Func is the type, in Program.Types, of the function that starts at an instruction.
type Func struct {
	Insn int    `json:"insn"`
	Type uint32 `json:"type"`
}

// maxInsns is the kernel's limit on the number of instructions.
const maxInsns = 1_000_000

// Insns decodes the instructions.
func (p *Program) Insns() ([]decode.Insn, error) {
	raw, err := hex.DecodeString(p.Code)
	if err != nil {
		return nil, fmt.Errorf("code: %w", err)
	}
	if len(raw)/decode.SlotSize > maxInsns {
		return nil, fmt.Errorf("code: %d instructions, more than %d", len(raw)/decode.SlotSize, maxInsns)
	}
	return decode.Unmarshal(raw, binary.LittleEndian)
}

// SetInsns sets Code and Text from instructions.
func (p *Program) SetInsns(insns []decode.Insn) {
	p.Code = hex.EncodeToString(decode.Marshal(insns, binary.LittleEndian))
	p.Text = decode.DisassembleAll(insns, nil)
}

// verifierProgram converts the program to package verifier's type.
func (p *Program) verifierProgram(l *Line) (*verifier.Program, error) {
	insns, err := p.Insns()
	if err != nil {
		return nil, err
	}
	typ, ok := uapi.ParseProgType(l.ProgType)
	if !ok {
		return nil, fmt.Errorf("program type %q is not known", l.ProgType)
	}
	out := &verifier.Program{
		Name: l.Program, Type: typ, Attach: uapi.AttachType(l.Attach), AttachTo: l.AttachTarget, License: "GPL", Flags: l.ProgFlags,
		Sleepable: l.ProgFlags&uapi.ProgSleepable != 0, Insns: insns, Refs: map[int]verifier.Ref{},
	}
	if len(p.Types) > 0 {
		if out.BTF, err = btf.Parse(p.Types, nil); err != nil {
			return nil, fmt.Errorf("types: %w", err)
		}
	}
	for _, f := range p.Funcs {
		out.Funcs = append(out.Funcs, verifier.FuncInfo{Insn: f.Insn, Type: btf.ID(f.Type)})
	}
	maps := make([]*verifier.Map, len(p.Maps))
	for i, m := range p.Maps {
		maps[i] = &verifier.Map{
			Name: MapName, Type: uapi.MapType(m.Type), KeySize: m.Key, ValueSize: m.Value, MaxEntries: m.Entries, Flags: m.Flags,
			KeyType: btf.ID(m.KeyType), ValueType: btf.ID(m.ValueType), Frozen: m.Frozen,
		}
		if m.ValueType != 0 {
			maps[i].BTF = out.BTF
		}
	}
	for pc := 0; pc < len(insns); pc += max(insns[pc].Len(), 1) {
		in := insns[pc]
		if !in.IsLdImm64() {
			continue
		}
		r := verifier.Ref{}
		switch in.Src {
		case decode.PseudoMapFD:
			r.Kind = verifier.RefMap
		case decode.PseudoMapValue:
			r.Kind = verifier.RefMapValue
			if pc+1 < len(insns) {
				r.Off = uint32(insns[pc+1].Imm)
			}
		case decode.PseudoFunc:
			r.Kind, r.Func = verifier.RefFunc, pc+1+int(in.Imm)
			out.Refs[pc] = r
			continue
		default:
			continue
		}
		if in.Imm < 0 || int(in.Imm) >= len(maps) {
			return nil, fmt.Errorf("instruction %d refers to map %d of %d", pc, in.Imm, len(maps))
		}
		r.Map = maps[in.Imm]
		out.Refs[pc] = r
	}
	return out, nil
}
