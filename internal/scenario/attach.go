package scenario

import (
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
)

// hooks adds the file's hooks of programs to the loader's options.
func (f *File) hooks(obj *loader.Object, o *loader.LoadOptions) error {
	if len(f.Hooks) == 0 {
		return nil
	}
	to := maps.Clone(o.Attach)
	if to == nil {
		to = map[string]string{}
	}
	var wrong grammar.Mistakes
	for _, p := range f.Hooks {
		name, err := p.Value.NonEmpty("hooks")
		if !wrong.Add(err) {
			continue
		}
		if _, ok := obj.Program(p.Key.Text); !ok {
			wrong.Add(p.Key.Unknown("program", p.Key.Text, programNames(obj)))
			continue
		}
		one := *o
		one.Attach = map[string]string{p.Key.Text: name}
		if _, err := obj.Load(loader.NewTarget("", nil), one); err != nil {
			wrong.Add(p.Value.Wrap("hooks", err))
			continue
		}
		to[p.Key.Text] = name
	}
	o.Attach = to
	return wrong.Err()
}

// attachProgs adds the file's attachments of programs to functions of others to the loader's
// options.
func (f *File) attachProgs(obj *loader.Object, o *loader.LoadOptions) error {
	if len(f.Attach) == 0 {
		return nil
	}
	to := maps.Clone(o.AttachProgs)
	if to == nil {
		to = map[string]string{}
	}
	var wrong grammar.Mistakes
	for _, p := range f.Attach {
		name, err := p.Value.NonEmpty("attach")
		if !wrong.Add(err) {
			continue
		}
		target, _, _ := strings.Cut(name, ":")
		if _, ok := obj.Program(p.Key.Text); !ok {
			wrong.Add(p.Key.Unknown("program", p.Key.Text, programNames(obj)))
			continue
		}
		if _, ok := obj.Program(target); !ok {
			wrong.Add(p.Value.Unknown("program", target, programNames(obj)))
			continue
		}
		one := *o
		one.AttachProgs = map[string]string{p.Key.Text: name}
		if _, err := obj.Load(loader.NewTarget("", nil), one); err != nil {
			wrong.Add(p.Value.Wrap("attach", err))
			continue
		}
		to[p.Key.Text] = name
		o.Also = append(slices.Clone(o.Also), p.Key.Text, target)
	}
	o.AttachProgs = to
	return wrong.Err()
}
