// Command btfset compares two BTF files as sets of types, functions and variables. It replaces type
// ids with what they refer to, so that order and numbering do not matter.
//
//	btfset [-base BASE] A B
//
// It prints the number of types in each file and the first types that are in only one. The exit
// code is 1 if the files differ.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

func main() {
	base := flag.String("base", "", "BTF that both continue")
	most := flag.Int("n", 20, "differences to show of each side")
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	equal, err := compare(*base, flag.Arg(0), flag.Arg(1), *most)
	if err != nil {
		fmt.Fprintln(os.Stderr, "btfset:", err)
		os.Exit(2)
	}
	if !equal {
		os.Exit(1)
	}
}

func compare(basePath, a, b string, most int) (bool, error) {
	var base *btf.Spec
	if basePath != "" {
		var err error
		if base, err = btf.Load(basePath, nil); err != nil {
			return false, err
		}
	}
	var sets [2]map[string]int
	var sizes [2]int
	for i, path := range []string{a, b} {
		spec, err := btf.Load(path, base)
		if err != nil {
			return false, err
		}
		sets[i], sizes[i] = texts(spec)
	}
	first, second := less(sets[0], sets[1]), less(sets[1], sets[0])
	fmt.Printf("%d and %d types, %d only in the first, %d only in the second\n", sizes[0], sizes[1], len(first), len(second))
	for i, list := range [][]string{first, second} {
		for _, text := range list[:min(len(list), most)] {
			fmt.Printf("  only in %s: %s\n", []string{a, b}[i], text)
		}
	}
	return len(first)+len(second) == 0, nil
}

// less returns the texts that occur more often in a than in b.
func less(a, b map[string]int) []string {
	var out []string
	for _, text := range slices.SortedFunc(maps.Keys(a), cmp.Compare) {
		for range max(a[text]-b[text], 0) {
			out = append(out, text)
		}
	}
	return out
}

// texts counts the types of a Spec, without those of its base, by their text. It also returns their
// number.
func texts(s *btf.Spec) (map[string]int, int) {
	d := describer{s: s, known: map[btf.ID]string{}}
	out := map[string]int{}
	n := 0
	for id := s.FirstID(); int(id) < s.NumTypes(); id++ {
		out[d.full(id, 0)]++
		n++
	}
	return out, n
}

type describer struct {
	s     *btf.Spec
	known map[btf.ID]string
}

// maxDepth limits the nesting of anonymous types.
const maxDepth = 12

// short describes a type that another type refers to: by its name, or by its contents if it is
// anonymous.
func (d *describer) short(id btf.ID, depth int) string {
	if id == 0 {
		return "void"
	}
	if text, ok := d.known[id]; ok {
		return text
	}
	t := d.s.MustType(id)
	text := t.Kind.String() + " " + t.Name
	switch {
	case t.Name != "" && t.Kind != btf.KindDeclTag && t.Kind != btf.KindTypeTag:
	case depth > maxDepth:
		return "..."
	default:
		text = d.full(id, depth+1)
	}
	d.known[id] = text
	return text
}

// full describes all of a type.
func (d *describer) full(id btf.ID, depth int) string {
	t := d.s.MustType(id)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s size=%d flag=%t linkage=%d component=%d int=%v", t.Kind, t.Name, t.Size, t.Flag, t.Linkage, t.ComponentIdx, t.Int)
	switch t.Kind {
	case btf.KindPtr, btf.KindTypedef, btf.KindVolatile, btf.KindConst, btf.KindRestrict, btf.KindFunc, btf.KindFuncProto, btf.KindVar, btf.KindDeclTag, btf.KindTypeTag, btf.KindArray:
		fmt.Fprintf(&b, " to <%s>", d.short(t.Ref, depth))
	}
	if t.Kind == btf.KindArray {
		fmt.Fprintf(&b, " [%d] by <%s>", t.Array.Nelems, d.short(t.Array.Index, depth))
	}
	for _, m := range t.Members {
		fmt.Fprintf(&b, "; %s at %d:%d <%s>", m.Name, m.BitOffset, m.BitfieldSize, d.short(m.Type, depth))
	}
	for _, p := range t.Params {
		fmt.Fprintf(&b, "; %s <%s>", p.Name, d.short(p.Type, depth))
	}
	for _, v := range t.Values {
		fmt.Fprintf(&b, "; %s=%d", v.Name, v.Value)
	}
	for _, v := range t.Vars {
		fmt.Fprintf(&b, "; at %d:%d <%s>", v.Offset, v.Size, d.short(v.Type, depth))
	}
	return b.String()
}
