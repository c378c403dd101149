package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/loader"
)

// settled runs a skeleton and comments out what does not hold. A default run involves more than a
// file can set, such as addresses as keys, user memory, and state left by other events.
func settled(ctx context.Context, text []byte, l *loader.Linked, opt Options) ([]byte, error) {
	const rounds = 12
	for range rounds {
		wrong, err := tried(ctx, text, l, opt)
		if err != nil {
			return nil, err
		}
		lines := bytes.Split(text, []byte("\n"))
		changed := false
		for _, at := range wrong {
			if i := at.Line - 1; i >= 0 && i < len(lines) && !bytes.HasPrefix(bytes.TrimLeft(lines[i], " "), []byte("#")) {
				indent := len(lines[i]) - len(bytes.TrimLeft(lines[i], " "))
				lines[i] = append(append(bytes.Clone(lines[i][:indent]), "# not with these fields alone: "...), lines[i][indent:]...)
				for i++; i < len(lines) && belongs(lines[i], indent); i++ { // what belongs to it
					lines[i] = append([]byte("# "), lines[i]...)
				}
				changed = true
			}
		}
		if !changed {
			break
		}
		text = bytes.Join(withoutValues(lines), []byte("\n"))
	}
	return text, nil
}

// belongs reports whether a line belongs to the one above that has an indent. Comments do not count.
func belongs(line []byte, indent int) bool {
	rest := bytes.TrimLeft(line, " ")
	return len(rest) > 0 && rest[0] != '#' && len(line)-len(rest) > indent
}

// tried runs a skeleton and returns where it is wrong: values that a file cannot have, and
// expectations that do not hold.
func tried(ctx context.Context, text []byte, l *loader.Linked, opt Options) (wrong []grammar.Pos, err error) {
	f, err := Parse("skeleton.yaml", text)
	if err != nil {
		return nil, fmt.Errorf("scenario: the skeleton of %s: %w", l.Object.Name, err)
	}
	r, err := Open(f, l.Object, l.Target, opt)
	var list grammar.Errors
	var one *grammar.Error
	switch {
	case errors.As(err, &list):
		for _, e := range list {
			wrong = append(wrong, e.Pos)
		}
		return wrong, nil
	case errors.As(err, &one):
		return []grammar.Pos{one.Pos}, nil
	case err != nil:
		return nil, fmt.Errorf("scenario: the skeleton of %s: %w", l.Object.Name, err)
	}
	defer r.Close()
	results, err := r.All(ctx, nil)
	for _, res := range results {
		for _, e := range res.Failed() {
			if e.Pos != res.Run.ProgNode.Pos {
				wrong = append(wrong, e.Pos)
			}
		}
	}
	return wrong, err
}

// withoutValues comments out keys whose values have all been commented out, and gives a run without
// expectations an empty mapping.
func withoutValues(lines [][]byte) [][]byte {
	for i := len(lines) - 1; i >= 0; i-- {
		line := bytes.TrimLeft(lines[i], " ")
		if !bytes.HasSuffix(line, []byte(":")) || bytes.HasPrefix(line, []byte("#")) {
			continue
		}
		indent := len(lines[i]) - len(line)
		next := i + 1
		for next < len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[next], " "), []byte("#")) {
			next++
		}
		if next < len(lines) {
			rest := bytes.TrimLeft(lines[next], " ")
			if deeper := len(lines[next]) - len(rest); len(rest) > 0 && (deeper > indent || deeper == indent && bytes.HasPrefix(rest, []byte("- "))) {
				continue
			}
		}
		if string(line) == "expect:" {
			lines[i] = append(lines[i], " {}"...)
		} else {
			lines[i] = append(append(bytes.Clone(lines[i][:indent]), "# "...), line...)
		}
	}
	return lines
}
