package flame

import (
	"encoding/json"
	"io"
	"slices"
)

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

// WriteSpeedscope writes a file for speedscope: functions, and in them source lines; for each
// program a profile of each value. name is what made them.
func WriteSpeedscope(w io.Writer, name string, profiles []Profile) error {
	f := speedscopeFile{Schema: "https://www.speedscope.app/file-format-schema.json", Name: name, Exporter: "bpfrun", Profiles: []speedscopeProfile{}}
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
	for i := range profiles {
		p := &profiles[i]
		of := make([]speedscopeProfile, len(p.Values))
		for v, unit := range p.Values {
			of[v] = speedscopeProfile{Type: "sampled", Name: p.Program + ": " + unit, Unit: "none", Samples: [][]int{}, Weights: []int{}}
		}
		p.Each(func(places []Place, values []int) {
			var stack []int
			for _, at := range places { // innermost first
				stack = append(stack, frame(speedscopeFrame{Name: at.Name, File: at.File, Line: at.Line}), frame(speedscopeFrame{Name: at.Func}))
			}
			slices.Reverse(stack)
			for v, n := range values {
				if n > 0 {
					of[v].add(stack, n)
				}
			}
		})
		f.Profiles = append(f.Profiles, of...)
	}
	return json.NewEncoder(w).Encode(f)
}

func (p *speedscopeProfile) add(stack []int, weight int) {
	p.Samples = append(p.Samples, stack)
	p.Weights = append(p.Weights, weight)
	p.End += weight
}
