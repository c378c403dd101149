package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/configs"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/spf13/pflag"
)

// configFlags are the flags of verify about configurations.
type configFlags struct {
	all   bool
	files []string

	sets []configSet
}

// configSet is a configuration: values of variables and of CONFIG_ options by name.
type configSet struct {
	name   string
	values map[string]string
}

// maxSets limits how many configurations files may give.
const maxSets = 4096

func (f *configFlags) add(fl *pflag.FlagSet) {
	fl.BoolVar(&f.all, "configs", false, "verify for all values of the constants that user space sets (.rodata) and of CONFIG_ options, and report which decide")
	fl.StringArrayVar(&f.files, "config", nil, "verify for the configurations in `FILE`: lines NAME=VALUE, or YAML (matrix: or variants:); repeatable")
}

func (f *configFlags) wanted() bool { return f.all || len(f.files) > 0 }

// read reads the configurations of the files.
func (f *configFlags) read() error {
	for _, path := range f.files {
		data, err := os.ReadFile(path)
		if err != nil {
			if strings.Contains(path, "=") && errors.Is(err, fs.ErrNotExist) {
				return usagef("--config %s: no such file (for one value use --global %s)", path, path)
			}
			return usageError{fmt.Errorf("--config: %w", err)}
		}
		var sets []configSet
		if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
			sets, err = yamlSets(path, data)
		} else {
			sets, err = lineSets(path, data)
		}
		if err != nil {
			return usageError{fmt.Errorf("--config %s: %w", path, err)}
		}
		f.sets = append(f.sets, sets...)
		if len(f.sets) > maxSets {
			return usagef("--config: more than %d configurations", maxSets)
		}
	}
	return nil
}

// lineSets reads one configuration as lines NAME=VALUE.
func lineSets(path string, data []byte) ([]configSet, error) {
	set := configSet{filepath.Base(path), map[string]string{}}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, fmt.Errorf("line %d: want NAME=VALUE", n)
		}
		set.values[name] = strings.TrimSpace(value)
	}
	return []configSet{set}, nil
}

// yamlSets reads the configurations of a YAML file: all combinations of the lists in "matrix", and
// those in "variants" by name.
func yamlSets(path string, data []byte) ([]configSet, error) {
	root, err := grammar.ReadNode(path, data)
	if err != nil {
		return nil, err
	}
	if root == nil || root.Kind != grammar.Mapping {
		return nil, errors.New("want a mapping with matrix: or variants:")
	}
	var out []configSet
	for _, p := range root.Pairs {
		switch {
		case p.Key.Text == "matrix" && p.Value.Kind == grammar.Mapping:
			sets, err := matrixSets(p.Value)
			if err != nil {
				return nil, err
			}
			out = append(out, sets...)
		case p.Key.Text == "variants" && p.Value.Kind == grammar.Mapping:
			for _, v := range p.Value.Pairs {
				set := configSet{v.Key.Text, map[string]string{}}
				for _, x := range v.Value.Pairs {
					if x.Value.Kind != grammar.Scalar {
						return nil, fmt.Errorf("line %d: want one value of %s", x.Key.Line, x.Key.Text)
					}
					set.values[x.Key.Text] = x.Value.Text
				}
				if v.Value.Kind == grammar.Scalar || v.Value.Kind == grammar.Sequence {
					return nil, fmt.Errorf("line %d: want NAME: VALUE pairs of variant %s", v.Key.Line, v.Key.Text)
				}
				out = append(out, set)
			}
		default:
			return nil, fmt.Errorf("line %d: %s: want matrix: with a list of values by name, or variants: with values by name", p.Key.Line, p.Key.Text)
		}
	}
	return out, nil
}

// matrixSets combines the values of each name with all of the others.
func matrixSets(n *grammar.Node) ([]configSet, error) {
	sets := []configSet{{"", map[string]string{}}}
	for _, p := range n.Pairs {
		values := p.Value.Items
		if p.Value.Kind == grammar.Scalar {
			values = []*grammar.Node{p.Value}
		}
		if len(values) == 0 {
			return nil, fmt.Errorf("line %d: want a list of values of %s", p.Key.Line, p.Key.Text)
		}
		if len(sets)*len(values) > maxSets {
			return nil, fmt.Errorf("line %d: more than %d combinations", p.Key.Line, maxSets)
		}
		var next []configSet
		for _, s := range sets {
			for _, v := range values {
				if v.Kind != grammar.Scalar {
					return nil, fmt.Errorf("line %d: want a number or a word", v.Line)
				}
				set := configSet{strings.TrimSpace(s.name + " " + p.Key.Text + "=" + v.Text), maps.Clone(s.values)}
				set.values[p.Key.Text] = v.Text
				next = append(next, set)
			}
		}
		sets = next
	}
	return sets, nil
}

// verifyAllConfigs verifies objects for kernels in many configurations.
func (c *verifyCommand) verifyAllConfigs(ctx context.Context, paths []string, sources []btfSource, table report.TableOptions) error {
	all := report.ConfigsDocuments{Schema: report.Schema, Results: []*report.ConfigsDocument{}}
	watch := c.silentProgress("an object for a kernel", len(paths)*len(sources))
	defer watch.end()
	for _, path := range paths {
		obj, err := c.objects.open(path)
		if err != nil {
			return err
		}
		for _, s := range sources {
			watch.add(1)
			doc, err := c.verifyConfigs(ctx, obj, s)
			if err != nil {
				return err
			}
			all.Results = append(all.Results, doc)
			all.Exit = exitcode.Worse(all.Exit, doc.Exit)
			if c.json {
				continue
			}
			if len(all.Results) > 1 {
				visible.Fprintln(c.stdout)
			}
			if err := report.WriteConfigs(c.stdout, doc, table); err != nil {
				return err
			}
		}
	}
	c.code = all.Exit
	if !c.json {
		return nil
	}
	return report.WriteJSON(c.stdout, all)
}

// verifyConfigs verifies the programs of an object for one kernel in many configurations.
func (c *verifyCommand) verifyConfigs(ctx context.Context, obj *loader.Object, s btfSource) (*report.ConfigsDocument, error) {
	names, target, opts, err := c.subject(obj, s)
	if err != nil {
		return nil, err
	}
	opts.LinkOnly, opts.Only = true, names
	linked, err := loadFor(obj, target, opts)
	if err != nil {
		return nil, err
	}
	doc := report.NewConfigsDocument(linked, s.Path)
	kernel := verifier.KernelOf(target)
	kernel.Lockdown, _ = proto.ParseLockdown(c.lockdown)
	if c.configs.all {
		constants := configs.Constants(linked)
		for _, name := range names {
			lp, ok := linked.Program(name)
			if !ok {
				continue
			}
			p, err := verifier.FromLinked(linked, lp)
			if err != nil {
				doc.AddUnlinked(lp, err)
				doc.Exit = exitcode.Worse(doc.Exit, exitLoad)
				continue
			}
			r, err := configs.Explore(ctx, kernel, p, constants, 0)
			if err != nil {
				return nil, codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
			}
			doc.Add(lp, p, r)
			c.exit(doc, r.Outcome())
		}
	}
	for _, set := range c.configs.sets {
		if err := c.verifySet(ctx, obj, target, opts, set, names, doc); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

func (c *verifyCommand) exit(doc *report.ConfigsDocument, o verifier.Outcome) {
	switch o {
	case verifier.Refused:
		doc.Exit = exitcode.Worse(doc.Exit, exitLoad)
	case verifier.Unknown:
		doc.Exit = exitcode.Worse(doc.Exit, exitNotSimulated)
	}
}

// verifySet verifies the programs in one configuration.
func (c *verifyCommand) verifySet(ctx context.Context, obj *loader.Object, target *loader.Target, opts loader.LoadOptions, set configSet, names []string, doc *report.ConfigsDocument) error {
	kconfig := maps.Clone(target.Kconfig)
	opts.Globals = maps.Clone(opts.Globals)
	for _, name := range slices.Sorted(maps.Keys(set.values)) {
		if strings.HasPrefix(name, "CONFIG_") {
			if kconfig == nil {
				kconfig = map[string]string{}
			}
			kconfig[name] = set.values[name]
			continue
		}
		if opts.Globals == nil {
			opts.Globals = map[string]string{}
		}
		opts.Globals[name] = set.values[name]
	}
	target = target.WithConfig(kconfig)
	linked, err := loadFor(obj, target, opts)
	if err != nil {
		return fmt.Errorf("configuration %s: %w", set.name, err)
	}
	kernel := verifier.KernelOf(target)
	kernel.Lockdown, _ = proto.ParseLockdown(c.lockdown)
	for _, name := range names {
		lp, ok := linked.Program(name)
		if !ok {
			continue
		}
		p, err := verifier.FromLinked(linked, lp)
		if err != nil {
			doc.AddSetError(lp, set.name, err)
			doc.Exit = exitcode.Worse(doc.Exit, exitLoad)
			continue
		}
		v, err := verifier.Verify(ctx, kernel, p, verifier.Options{})
		if err != nil {
			return codeError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
		}
		doc.AddSet(lp, set.name, v)
		c.exit(doc, v.Outcome)
	}
	return nil
}

// loadFor links an object for verification.
func loadFor(obj *loader.Object, target *loader.Target, opts loader.LoadOptions) (*loader.Linked, error) {
	linked, err := obj.Load(target, opts)
	switch {
	case errors.Is(err, loader.ErrOption):
		return nil, usageError{err}
	case err != nil:
		return nil, codeError{exitLoad, err}
	}
	return linked, nil
}
