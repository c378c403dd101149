package bpftest

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/shell"
)

// definition is the scenario file's definition of a kernel object.
type definition struct {
	name, tag   string
	own, fields Fields // keys of the builder, and fields
}

// debugLine returns the command that opens the debugger at the start of a run. It writes a scenario
// file with the run's input to the directory for temporary files.
func (o *Object) debugLine(p *Program, in Input) string {
	line := []string{"bpfrun", "debug", o.file()}
	path := filepath.Join(os.TempDir(), "bpftest-"+fileName(o.t.Name())+"-"+fileName(p.name)+".yaml")
	if err := os.WriteFile(path, []byte(o.scenario(p, in)), 0o644); err == nil {
		line = append(line, "-s", path)
	}
	kernel := cmp.Or(o.k.path, o.k.o.name)
	if abs, err := filepath.Abs(kernel); err == nil && isFile(abs) {
		kernel = abs
	}
	line = append(line, "-p", p.name, "--btf", kernel)
	for _, name := range slices.Sorted(maps.Keys(o.cfg.load.MapSizes)) {
		line = append(line, "--map-size", fmt.Sprintf("%s=%d", name, o.cfg.load.MapSizes[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(o.cfg.load.Attach)) {
		line = append(line, "--attach", name+"="+o.cfg.load.Attach[name])
	}
	if v := o.k.o.version; v != "" {
		line = append(line, "--kernel-version", v)
	}
	if o.k.o.machine.Strict {
		line = append(line, "--strict")
	}
	for i := range line {
		line[i] = shell.Quote(line[i])
	}
	return strings.Join(line, " ")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// fileName turns a test's name into part of a file name.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) {
			return '_'
		}
		return r
	}, name)
}

// scenario writes a run and its prerequisites as a scenario file.
func (o *Object) scenario(p *Program, in Input) string {
	var b strings.Builder
	opt := o.k.o
	fmt.Fprintf(&b, "# Written by bpftest for %s. What earlier runs and the test did with maps and variables is not part of it.\n", strconv.Quote(o.t.Name()))
	fmt.Fprintf(&b, "object: %s\n", yamlOf(o.file()))
	fmt.Fprintf(&b, "kernel: {cpus: %d, seed: %d, clock: {boot: %dns}", opt.machine.CPUs, opt.machine.Seed, opt.machine.Boot.Nanoseconds())
	if opt.kconfig != nil {
		kconfig := Fields{}
		for name, v := range opt.kconfig {
			kconfig[name] = v
		}
		fmt.Fprintf(&b, ", kconfig: %s", yamlOf(kconfig))
	}
	b.WriteString("}\n")
	if len(o.objects)+len(o.texts) > 0 {
		b.WriteString("objects:\n")
		for _, s := range o.objects {
			all := maps.Clone(s.def.own)
			if all == nil {
				all = Fields{}
			}
			for name, v := range s.def.fields {
				if name == "type" || name == "like" {
					name = "." + name
				}
				all[name] = v
			}
			fmt.Fprintf(&b, "  %s: %s\n", s.def.name, strings.TrimSpace(s.def.tag+" "+yamlOf(all)))
		}
		for _, text := range o.texts {
			for _, line := range dedent(text) {
				b.WriteString("  " + line + "\n")
			}
		}
	}
	if len(o.cfg.globals) > 0 {
		b.WriteString("globals:\n")
		for _, name := range slices.Sorted(maps.Keys(o.cfg.globals)) {
			if text, ok := plainYAML(o.cfg.globals[name]); ok {
				fmt.Fprintf(&b, "  %s: %s\n", name, text)
			} else {
				fmt.Fprintf(&b, "  # %s: %T\n", name, o.cfg.globals[name])
			}
		}
	}
	fmt.Fprintf(&b, "runs:\n- prog: %s\n", p.name)
	o.writeInput(&b, in)
	return b.String()
}

func (o *Object) writeInput(b *strings.Builder, in Input) {
	line := func(format string, args ...any) { fmt.Fprintf(b, "  "+format+"\n", args...) }
	if in.Packet != nil {
		line("packet: %q", hex.EncodeToString(in.Packet))
	}
	if ctx, err := (&Program{o: o}).context(in.Context); err == nil && ctx != nil {
		line("ctx: %q", hex.EncodeToString(ctx))
	}
	if len(in.Args) > 0 {
		line("args: %s", yamlOf(in.Args))
	}
	if in.Current != nil && in.Current.def.name != "" {
		line("current: $%s", in.Current.def.name)
	}
	if in.CPU != 0 {
		line("cpu: %d", in.CPU)
	}
	if in.Cookie != 0 {
		line("cookie: %d", in.Cookie)
	}
	context := Fields{}
	if len(in.Fields) > 0 {
		fields := Fields{}
		for name, v := range in.Fields {
			fields[name] = v
		}
		context["fields"] = fields
	}
	switch {
	case in.NoSocket:
		context["sk"] = nil
	case in.Socket != nil:
		context["sk"] = in.Socket
	}
	if len(context) > 0 {
		line("context: %s", yamlOf(context))
	}
	if len(in.Helpers) > 0 {
		line("helpers:")
		for _, name := range slices.Sorted(maps.Keys(in.Helpers)) {
			line("  %s: %s", name, in.Helpers[name].yaml())
		}
	}
	if in.Settle > 0 {
		line("settle: %dns", in.Settle.Nanoseconds())
	}
}

func (a Answer) yaml() string {
	var parts []string
	if a.at > 0 {
		parts = append(parts, fmt.Sprintf("fail_at: %d", a.at))
	}
	if a.errno != "" {
		parts = append(parts, "errno: "+a.errno)
	}
	if a.at > 0 || a.errno != "" {
		if a.errno == "" && len(a.values) > 0 {
			parts = append(parts, fmt.Sprintf("ret: %d", int64(a.values[0])))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	for _, v := range a.values {
		parts = append(parts, strconv.FormatInt(int64(v), 10))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// dedent removes the common leading white space of all lines, so that the text may be indented like
// the Go code around it.
func dedent(text string) []string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	common, first := "", true
	for i, l := range lines {
		if strings.TrimSpace(l) == "" {
			lines[i] = ""
			continue
		}
		space := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if first {
			common, first = space, false
		}
		for !strings.HasPrefix(space, common) {
			common = common[:len(common)-1]
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, common)
	}
	return lines
}

// plainYAML writes a number or string; ok is false for other values.
func plainYAML(v any) (text string, ok bool) {
	switch r := reflect.ValueOf(v); {
	case !r.IsValid():
		return "null", true
	case r.Kind() == reflect.String:
		return quotedYAML(r.String()), true
	case r.Kind() == reflect.Bool, r.CanInt(), r.CanUint():
		return fmt.Sprint(r.Interface()), true
	}
	return "", false
}

func quotedYAML(s string) string {
	b, err := json.Marshal(s) // valid in YAML's double quotes as well
	if err != nil {
		return `""`
	}
	return string(b)
}

// yamlOf writes a value of Fields on one line.
func yamlOf(v any) string {
	switch v := v.(type) {
	case *Struct:
		if v == nil || v.def.name == "" {
			return "null"
		}
		return "$" + v.def.name
	case User:
		return fmt.Sprintf("%#x", uint64(v))
	case []byte:
		return "!hex " + quotedYAML(hex.EncodeToString(v))
	case Fields:
		parts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, quotedYAML(name)+": "+yamlOf(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = yamlOf(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if text, ok := plainYAML(v); ok {
		return text
	}
	return "null"
}
