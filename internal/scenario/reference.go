package scenario

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys"
)

const referenceHead = `# Scenario files

Look up a key of a scenario file: each group has an example, and its keys in a table that unfolds.

` + "```yaml" + `
object: ../firewall/firewall.bpf.o
maps: {services: {443: pass}}
runs:
- name: HTTPS passes
  prog: firewall
  packet: eth/ip/tcp(dport=443)
  expect: {ret: XDP_PASS}
` + "```" + `

A scenario file sets up kernel objects, maps and global variables for one BPF object, runs its programs and checks the
results. It is YAML or JSON. Every name in it is a BTF name, and each mistake is reported with file, line and column
before anything runs.

    bpfrun test DIR | FILE.yaml | OBJECT.o  [--btf KERNEL ...]   run and check, on several kernels in parallel
    bpfrun run OBJECT -s FILE.yaml                               run and show the results
    bpfrun scenario new OBJECT                                   write one from a default run
    bpfrun scenario schema                                       JSON Schema for editors

More examples: ` + "`examples/*/*.yaml`" + `. This page is generated from the parser's own tables (` + "`go test ./internal/scenario -run Reference -update`" + `).

## Values

Integers are decimal, 0x, 0o, 0b, or an enumerator's name. Common macros, which BTF does not contain, also work, alone or
combined: O_WRONLY|O_CREAT, AT_FDCWD, S_IFREG|0o644, SIGKILL, CLONE_NEWNS, CAP_BPF, -ENOENT. An array of characters or bytes takes a string, a list of integers or !hex.

Structs nest. A key may be a path (cred.uid.val, comm[3]); it follows pointers and creates the objects they point to. A
pointer takes $name, a nested object, a string if it points to characters, or null. $$ begins a string with a dollar sign.
a|b is the first of the names that exists on this kernel; name? is set, or compared, only if it exists.

Map keys are written as their type: a number, a string, a struct as one string ("{pid = 1, cpu = 2}"), a prefix of an LPM trie
(10.0.0.0/8). A field that was never set reads 0, and the run warns about it.

`

// Reference describes the file format in Markdown. It is generated from the tables that decoding
// follows.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	for _, f := range forms() {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n```yaml\n%s```\n\n<details><summary>%s</summary>\n\n|key|value|meaning|\n|---|---|---|\n", f.Name, f.Doc, exampleOf(f.Name), keysOf(f))
		for _, m := range f.Members {
			name := m.Name
			if m.Required {
				name += " (required)"
			}
			fmt.Fprintf(&b, "|%s|%s|%s|\n", name, m.Shape.Words(), m.Doc)
		}
		b.WriteString("\n</details>\n\n")
	}
	b.WriteString("## Tags\n\n|tag|meaning|\n|---|---|\n")
	for _, t := range tags {
		fmt.Fprintf(&b, "|%s|%s|\n", t.name, t.doc)
	}
	return b.Bytes()
}

// keysOf names the keys of a form: what its folded table is about.
func keysOf(f *grammar.Form) string {
	names := make([]string, len(f.Members))
	for i, m := range f.Members {
		names[i] = m.Name
	}
	return strings.Join(names, ", ")
}

// forms lists the forms of files, each once.
func forms() (all []*grammar.Form) {
	all = append(all, fileForm, kernelForm, clockForm, networkForm, netDeviceForm, routeForm, neighbourForm, runForm, tracedForm, overrideForm,
		contextForm, tunnelForm, receivedForm, sockoptForm, sysctlForm, deviceForm)
	for _, s := range subsys.Scenes() {
		all = append(all, s.Parts...)
	}
	all = append(all, raceForm, raceActorForm, raceBeforeForm, expectForm, expectChainForm, expectFunctionForm)
	for _, s := range subsys.Scenes() {
		all = append(all, s.Judged...)
	}
	return all
}
