package core

import (
	"encoding/json"
	"io"

	"github.com/bpfrun/bpfrun/loader"
)

// recordLine is a line as this engine writes it.
type recordLine struct {
	Object  string  `json:"object"`
	BTF     string  `json:"btf"`
	Program string  `json:"program"`
	Insn    *int    `json:"insn,omitempty"`
	Kind    string  `json:"kind,omitempty"`
	Old     *uint64 `json:"old,omitempty"`
	New     *uint64 `json:"new,omitempty"`
	Result  string  `json:"result,omitempty"`
	MemSize string  `json:"mem_size,omitempty"`
	Local   string  `json:"local,omitempty"`
	Core    string  `json:"core,omitempty"`
}

// Record writes this engine's relocations of an object for a target: a line for each relocation,
// function by function, each function followed by the hash of its code. object and kernel are the
// names to write. Numbers are unsigned; 32-bit immediates are sign-extended to 64 bits.
func Record(w io.Writer, object string, o *loader.Object, kernel string, t *loader.Target) error {
	linked, err := o.Load(t, loader.LoadOptions{AnyByteOrder: true, LinkOnly: true})
	if err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, f := range linked.Functions {
		if f.Skipped || len(f.Relocs) == 0 {
			continue
		}
		for i := range f.Relocs {
			r := &f.Relocs[i]
			insn := r.FuncInsn
			l := recordLine{Object: object, BTF: kernel, Program: f.Name, Insn: &insn, Kind: r.Kind.String(), Result: resultOf(r), Local: r.Local.String()}
			if l.Result == "ok" {
				l.Old, l.New, l.MemSize = &r.Patch.Old, &r.Patch.New, memSize(r)
			}
			if err := e.Encode(l); err != nil {
				return err
			}
		}
		if linked.Err != nil {
			continue // libbpf would have stopped, so there is no code
		}
		if err := e.Encode(recordLine{Object: object, BTF: kernel, Program: f.Name, Core: f.Core()}); err != nil {
			return err
		}
	}
	return nil
}
