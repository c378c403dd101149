package fuzz

import (
	"fmt"
	"slices"
	"strings"
)

// Part is a kind of input that a search may be limited to.
type Part string

// The parts of inputs, in the words of --vary and --fix.
const (
	Packet  Part = "packet"
	Maps    Part = "maps"
	Ctx     Part = "ctx"
	Args    Part = "args"
	Kernel  Part = "kernel"
	User    Part = "user"
	Globals Part = "globals"
	Helpers Part = "helpers"
	Time    Part = "time"
)

// nowhere is the part of what no input changes: reports name it.
const nowhere Part = ""

// AllParts are all parts of inputs.
var AllParts = []Part{Packet, Maps, Ctx, Args, Kernel, User, Globals, Helpers, Time}

// Varied returns what is input: the parts in vary, or all, without those in fix.
func Varied(vary, fix []string) (map[Part]bool, error) {
	out := map[Part]bool{}
	for _, list := range [][]string{vary, fix} {
		for _, name := range list {
			if !slices.Contains(AllParts, Part(name)) {
				return nil, fmt.Errorf("%q is no kind of input: want %s", name, partNames())
			}
		}
	}
	for _, p := range AllParts {
		out[p] = (len(vary) == 0 || slices.Contains(vary, string(p))) && !slices.Contains(fix, string(p))
	}
	return out, nil
}

func partNames() string {
	var names []string
	for _, p := range AllParts {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}
