package corerelo

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/lazyre"
)

// KernelLog returns the lines that a kernel writes to the verifier's log about a relocation that it
// applies itself (kernel/bpf/btf.c bpf_core_apply): num is the number of the record, patch and err
// are the results of Apply, as for [Relocation.Log]. The resolver must resolve as a kernel does
// (Target.InKernel). The kernel does not know the program's name there, writes kinds of types in
// capitals, and repeats the candidates for each record.
func (rel *Relocation) KernelLog(num int, patch *Patch, err error) []string {
	var lines []string
	failed := new(Error)
	if !errors.As(rel.Err, &failed) {
		failed = nil
	}
	switch {
	case rel.Local.BTF == nil:
		return []string{fmt.Sprintf("relo #%d: bad type id %d", num, rel.TypeID)}
	case failed != nil && failed.Stage == StageSearch:
		return []string{fmt.Sprintf("target candidate search failed for %d", rel.TypeID)}
	}
	for _, c := range rel.Found {
		lines = append(lines, fmt.Sprintf("CO-RE relocating %s %s: found target candidate [%d]", kindWord(c.BTF.Kind(c.ID)), btf.EssentialName(c.BTF.Name(c.ID)), c.ID))
	}
	prefix := "prog '': relo #" + strconv.Itoa(num) + ": "
	if failed != nil && failed.Stage == StageParse {
		lines = append(lines, failed.logLines("", prefix)...)
	} else {
		lines = append(lines, rel.steps("", prefix, patch, err)...)
	}
	for i, line := range lines {
		if strings.HasPrefix(line, "CO-RE relocating ") {
			word, rest, _ := strings.Cut(line[len("CO-RE relocating "):], " ")
			lines[i] = "CO-RE relocating " + strings.ToUpper(word) + " " + rest
			continue
		}
		lines[i] = kindAfterID.ReplaceAllStringFunc(line, strings.ToUpper)
	}
	return lines
}

// kindAfterID matches a type's id and kind in libbpf's notation.
var kindAfterID = lazyre.New(`\[\d+\] [a-z_]+[0-9]* `)
