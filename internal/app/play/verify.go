package play

import (
	"bytes"
	"context"
	"errors"

	"github.com/bpfrun/bpfrun/internal/app/pass"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/verifier/klog"
	"github.com/bpfrun/bpfrun/internal/verifier/profile"
)

// Limits of what is shown of a verification.
const (
	maxLog  = 8 << 20 // bytes of the log that is read
	maxPath = 2000    // instructions of the path
)

func (p *Player) verify(ctx context.Context, m *Message) (any, error) {
	o, err := p.object(m.Object)
	if err != nil {
		return nil, err
	}
	t, k, err := p.target(m.Kernel)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, prog := range o.Programs {
		names = append(names, prog.Name)
	}
	return pass.Verify(ctx, o.Object, t, k.Source, names, pass.VerifyOptions{Each: func(ctx context.Context, doc *report.VerifyDocument, j *pass.Judged) error {
		return pass.Mend(ctx, doc, j, o.names.Of(j.Linked, j.Program))
	}})
}

// Costs is the answer to costs: where the verification of a program spends its instructions.
type Costs struct {
	Profile *profile.Profile `json:"profile"`
	// Insns are the instructions that were processed.
	Insns []InsnCosts `json:"insns"`
	// Path is the last path that was walked, for a refused program that to the refusal, with the
	// registers at each instruction. Left counts those before, which are left out.
	Path []PathStep `json:"path"`
	Left int        `json:"left,omitempty"`
	// NoPath is why there is none.
	NoPath string `json:"no_path,omitempty"`
}

// InsnCosts is what an instruction costs.
type InsnCosts struct {
	PC        int `json:"pc"`
	Processed int `json:"processed"`
	States    int `json:"states"`
	Pruned    int `json:"pruned"`
	Taken     int `json:"taken"`
	Fell      int `json:"fell"`
}

// PathStep is an instruction of a path, with the registers before and after it as the kernel's log
// prints them.
type PathStep struct {
	Insn   int    `json:"insn"`
	Text   string `json:"text"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

func (p *Player) costs(ctx context.Context, m *Message) (any, error) {
	o, err := p.object(m.Object)
	if err != nil {
		return nil, err
	}
	t, k, err := p.target(m.Kernel)
	if err != nil {
		return nil, err
	}
	if _, ok := o.Program(m.Program); !ok {
		return nil, unknownProgram(m)
	}
	var out *Costs
	log := &head{most: maxLog}
	_, err = pass.Verify(ctx, o.Object, t, k.Source, []string{m.Program}, pass.VerifyOptions{Costs: true, Log: log, LogLevel: 2, Each: func(_ context.Context, _ *report.VerifyDocument, j *pass.Judged) error {
		out = &Costs{Profile: profile.New(j.Kernel, j.Input, j.Verdict, j.Costs, o.names.Of(j.Linked, j.Program)), Insns: []InsnCosts{}, Path: []PathStep{}}
		for pc, c := range j.Costs.Insns {
			if c.Processed > 0 {
				out.Insns = append(out.Insns, InsnCosts{pc, c.Processed, c.States, c.Pruned, c.Taken, c.Fell})
			}
		}
		return nil
	}})
	switch {
	case err != nil:
		return nil, err
	case out == nil:
		return nil, errors.New("the program is not loaded on this kernel, so nothing is verified")
	}
	out.walk(log)
	return out, nil
}

// walk adds the path of a log.
func (c *Costs) walk(log *head) {
	if log.more {
		c.NoPath = "the log of the verification is too long to show a path of it"
		return
	}
	logs, err := klog.Parse(&log.Buffer)
	if err != nil || len(logs) == 0 {
		c.NoPath = "the verification has no path"
		return
	}
	steps := logs[len(logs)-1].Steps
	c.Left = max(0, len(steps)-maxPath)
	for _, s := range steps[c.Left:] {
		c.Path = append(c.Path, PathStep{s.Insn, s.Text, s.Before, s.After})
	}
}

// head keeps the beginning of what is written.
type head struct {
	bytes.Buffer
	most int
	more bool // something is left out
}

// Write implements io.Writer.
func (h *head) Write(b []byte) (int, error) {
	if h.Len()+len(b) > h.most {
		h.more = true
		return len(b), nil
	}
	return h.Buffer.Write(b)
}
