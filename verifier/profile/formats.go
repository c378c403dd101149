package profile

import (
	"encoding/json"
	"io"
	"slices"
)

// eachSample calls f for every instruction in every chain of calls. sites are the slots of the calls, the innermost first.
func (r *Profile) eachSample(f func(sites []int, insn, processed, states int)) {
	for i := range r.costs.Calls {
		c := &r.costs.Calls[i]
		var sites []int
		for p := c; p.Parent >= 0; p = &r.costs.Calls[p.Parent] {
			sites = append(sites, p.Site)
		}
		for at, n := range c.Insns {
			if n > 0 {
				f(sites, c.Start+at, n, c.States[at])
			}
		}
	}
}

// The file format of https://www.speedscope.app.
type speedscopeFile struct {
	Schema   string              `json:"$schema"`
	Name     string              `json:"name"`
	Exporter string              `json:"exporter"`
	Shared   speedscopeShared    `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
}

type speedscopeShared struct {
	Frames []speedscopeFrame `json:"frames"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

type speedscopeProfile struct {
	Type    string  `json:"type"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Start   int     `json:"startValue"`
	End     int     `json:"endValue"`
	Samples [][]int `json:"samples"`
	Weights []int   `json:"weights"`
}

// WriteSpeedscope writes a file for speedscope: functions, and in them source lines; a profile of instructions and one of states for each program.
func WriteSpeedscope(w io.Writer, profiles []*Profile) error {
	f := speedscopeFile{Schema: "https://www.speedscope.app/file-format-schema.json", Name: "bpfrun verify", Exporter: "bpfrun", Profiles: []speedscopeProfile{}}
	f.Shared.Frames = []speedscopeFrame{}
	frames := map[speedscopeFrame]int{}
	frame := func(x speedscopeFrame) int {
		n, ok := frames[x]
		if !ok {
			n = len(f.Shared.Frames)
			frames[x] = n
			f.Shared.Frames = append(f.Shared.Frames, x)
		}
		return n
	}
	for _, r := range profiles {
		insns := speedscopeProfile{Type: "sampled", Name: r.Program + ": instructions", Unit: "none", Samples: [][]int{}, Weights: []int{}}
		states := speedscopeProfile{Type: "sampled", Name: r.Program + ": states", Unit: "none", Samples: [][]int{}, Weights: []int{}}
		r.eachSample(func(sites []int, insn, processed, kept int) {
			var stack []int
			for _, at := range append([]int{insn}, sites...) { // innermost first
				p := r.place(at)
				stack = append(stack, frame(speedscopeFrame{Name: p.String(), File: p.File, Line: p.Line}), frame(speedscopeFrame{Name: p.Func}))
			}
			slices.Reverse(stack)
			insns.add(stack, processed)
			if kept > 0 {
				states.add(stack, kept)
			}
		})
		f.Profiles = append(f.Profiles, insns, states)
	}
	return json.NewEncoder(w).Encode(f)
}

func (p *speedscopeProfile) add(stack []int, weight int) {
	p.Samples = append(p.Samples, stack)
	p.Weights = append(p.Weights, weight)
	p.End += weight
}
