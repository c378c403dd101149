package scenario

import (
	"bytes"
	"fmt"
)

const referenceHead = `# Scenario files

Made from the tables the parser is strict by (` + "`go test ./scenario -run Reference -update`" + `).

A scenario file sets up kernel objects, maps and global variables for one BPF object, runs its programs and judges what
they did. It is YAML or JSON; every name in it is a name of BTF, and a mistake is one error with file, line and column,
before anything runs.

    bpfrun test DIR | FILE.yaml | OBJECT.o  [--btf KERNEL ...]   run and judge, on several kernels in parallel
    bpfrun run OBJECT -s FILE.yaml                               run and show what happened
    bpfrun scenario new OBJECT                                   write one from a default run
    bpfrun scenario schema                                       JSON Schema for editors

Examples: ` + "`examples/*/*.yaml`" + `.

## Values

Integers are decimal, 0x, 0o, 0b, or an enumerator's name. The usual macros, which BTF does not have, are known too, also
several of them: O_WRONLY|O_CREAT, AT_FDCWD, S_IFREG|0o644, SIGKILL, CLONE_NEWNS, CAP_BPF, -ENOENT. An array of characters or bytes takes a string, a list of integers or !hex.
Structs nest; a key may be a path (cred.uid.val, comm[3]) and steps over pointers, for which objects are made. A pointer
takes $name, a nested object, a string where it points to characters, or null. $$ begins a string with a dollar sign.
a|b is the first of the names that exists on this kernel; name? is set, or compared, if it exists. Keys of maps are
written as their type: a number, a string, a struct in one text ("{pid = 1, cpu = 2}"), a prefix of an LPM trie
(10.0.0.0/8). A field that nobody set reads 0, and the run says so.

`

// Reference describes the file format in Markdown, from the tables decoding is strict by.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	for _, f := range []*form{fileForm, kernelForm, clockForm, networkForm, netDeviceForm, routeForm, neighbourForm, runForm, overrideForm,
		contextForm, tunnelForm, receivedForm, sockoptForm, sysctlForm, deviceForm, expectForm} {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n|key|value|meaning|\n|---|---|---|\n", f.name, f.doc)
		for _, m := range f.members {
			name := m.name
			if m.required {
				name += " (required)"
			}
			fmt.Fprintf(&b, "|%s|%s|%s|\n", name, m.shape.words(), m.doc)
		}
		b.WriteByte('\n')
	}
	b.WriteString("## Tags\n\n|tag|meaning|\n|---|---|\n")
	for _, t := range tags {
		fmt.Fprintf(&b, "|%s|%s|\n", t.name, t.doc)
	}
	return b.Bytes()
}

// words names a shape.
func (s shape) words() string {
	switch s.kind {
	case shapeText:
		return "text"
	case shapeInteger:
		return "integer"
	case shapeRelease:
		return "release"
	case shapeBool:
		return "true or false"
	case shapeDuration:
		return "duration"
	case shapeList:
		return "list of " + s.elem.words()
	case shapeMap:
		return "mapping of names to " + s.elem.words()
	case shapeForm:
		return s.form.name
	case shapeOneOf:
		text := ""
		for i, a := range s.alts {
			if i > 0 {
				text += ", or "
			}
			text += a.words()
		}
		return text
	}
	return "value"
}
