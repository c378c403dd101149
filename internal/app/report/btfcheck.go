package report

import (
	"io"

	"github.com/bpfrun/bpfrun/btf/check"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// BTFCheckDocument is the JSON of `btf check`.
type BTFCheckDocument struct {
	Schema  string           `json:"schema"`
	File    string           `json:"file"`
	Results []BTFCheckResult `json:"results"`
	Exit    int              `json:"exit"`
}

// BTFCheckResult is the verdict of one release.
type BTFCheckResult struct {
	Kernel   string `json:"kernel"`
	Accepted bool   `json:"accepted"`
	// Replaced lists what libbpf replaces before it loads the BTF.
	Replaced []string `json:"replaced,omitempty"`
	Type     uint32   `json:"type,omitempty"`
	Kind     string   `json:"kind,omitempty"`
	Name     string   `json:"name,omitempty"`
	Entry    *int     `json:"entry,omitempty"`
	Rule     string   `json:"rule,omitempty"`
	Message  string   `json:"message,omitempty"`
	Errno    string   `json:"errno,omitempty"`
	Advice   string   `json:"advice,omitempty"`
}

// NewBTFCheckResult describes a verdict; p is nil for BTF that the kernel accepts.
func NewBTFCheckResult(kernel string, changes []check.Change, p *check.Problem) BTFCheckResult {
	r := BTFCheckResult{Kernel: kernel, Accepted: p == nil}
	for _, c := range changes {
		r.Replaced = append(r.Replaced, c.String())
	}
	if p == nil {
		return r
	}
	r.Type, r.Name, r.Rule, r.Message, r.Advice, r.Errno = uint32(p.ID), p.Name, p.Rule.String(), p.Error(), p.Rule.Advice(), p.ErrnoName()
	if p.ID != 0 {
		r.Kind = p.Kind.String()
	}
	if p.Entry >= 0 {
		r.Entry = &p.Entry
	}
	return r
}

// WriteBTFCheck writes the verdicts as text.
func WriteBTFCheck(w io.Writer, d *BTFCheckDocument) error {
	for _, r := range d.Results {
		verdict := "accepted"
		if !r.Accepted {
			verdict = "refused"
		}
		if _, err := visible.Fprintf(w, "%s: Linux %s: %s\n", d.File, r.Kernel, verdict); err != nil {
			return err
		}
		for _, c := range r.Replaced {
			if _, err := visible.Fprintf(w, "  libbpf: %s\n", c); err != nil {
				return err
			}
		}
		if r.Accepted {
			continue
		}
		if _, err := visible.Fprintf(w, "  %s\n  %s\n", r.Message, r.Advice); err != nil {
			return err
		}
	}
	return nil
}
