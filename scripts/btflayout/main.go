// Command btflayout compares the output of `bpfrun btf layout` with pahole's for structs in a
// kernel's BTF: offsets, sizes, holes, cache lines and totals.
//
//	go run ./scripts/btflayout -n 200 vmlinux.btf
//
// The comparison ignores what pahole infers beyond BTF: attributes, forced alignments, "bitfield
// combined" notes. An array without a length equals one of length 0. The exit code is 1 if a struct
// differs.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

var (
	spaces   = regexp.MustCompile(`\s+`)
	inferred = regexp.MustCompile(`forced alignments|Force alignment|Force padding|Bitfield combined`)
	attrs    = regexp.MustCompile(` __attribute__\(\(.*\)\)`)
	stars    = regexp.MustCompile(`\* ([\w*(])`)
)

func main() {
	n := flag.Int("n", 200, "compare `N` structs, evenly spread")
	bpfrun := flag.String("bpfrun", "./bpfrun", "the command")
	pahole := flag.String("pahole", "pahole", "the other `COMMAND`, which may have arguments")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	differ, total, err := compare(flag.Arg(0), *n, *bpfrun, strings.Fields(*pahole))
	if err != nil {
		fmt.Fprintln(os.Stderr, "btflayout:", err)
		os.Exit(2)
	}
	fmt.Printf("%d structs, %d differ\n", total, differ)
	if differ > 0 {
		os.Exit(1)
	}
}

// structs returns the names of n structs, evenly spread over those whose names are unique in the
// BTF.
func structs(file string, n int) ([]string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	spec, err := btf.Parse(raw, nil)
	if err != nil {
		return nil, err
	}
	var all []string
	for id := spec.FirstID(); int(id) < spec.NumTypes(); id++ {
		if t := spec.MustType(id); t.Kind == btf.KindStruct && t.Name != "" && len(t.Members) > 1 && len(spec.IDs(btf.KindStruct, t.Name)) == 1 {
			all = append(all, t.Name)
		}
	}
	var out []string
	for i := range n {
		if at := i * len(all) / n; i == 0 || at != (i-1)*len(all)/n {
			out = append(out, all[at])
		}
	}
	return out, nil
}

func compare(file string, n int, bpfrun string, pahole []string) (differ, total int, err error) {
	names, err := structs(file, n)
	if err != nil {
		return 0, 0, err
	}
	for _, name := range names {
		theirs, err := lines(append(pahole, "-F", "btf", "-C", name, file))
		if err != nil {
			return differ, total, err
		}
		ours, err := lines([]string{bpfrun, "btf", "layout", file, "struct " + name})
		if err != nil {
			return differ, total, err
		}
		if total++; strings.Join(theirs, "\n") == strings.Join(ours, "\n") {
			continue
		}
		differ++
		fmt.Printf("struct %s\n", name)
		show(theirs, ours, "pahole")
		show(ours, theirs, "bpfrun")
	}
	return differ, total, nil
}

// show prints the lines that are only in a, labelled with who.
func show(a, b []string, who string) {
	other := map[string]int{}
	for _, l := range b {
		other[l]++
	}
	for _, l := range a {
		if other[l]--; other[l] < 0 {
			fmt.Printf("  only %s: %s\n", who, l)
		}
	}
}

// lines runs a command and returns its output lines, normalised for comparison.
func lines(words []string) ([]string, error) {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	var out []string
	for _, l := range strings.Split(string(text), "\n") {
		l = strings.TrimSpace(spaces.ReplaceAllString(l, " "))
		if l == "" || inferred.MatchString(l) {
			continue
		}
		l = attrs.ReplaceAllString(l, "")
		if !strings.HasPrefix(l, "/*") {
			decl, comment, _ := strings.Cut(l, "/*")
			for stars.MatchString(decl) {
				decl = stars.ReplaceAllString(decl, "*$1")
			}
			l = strings.ReplaceAll(decl, "[0]", "[]") + "/*" + comment
		}
		out = append(out, l)
	}
	return out, nil
}
