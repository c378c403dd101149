package corpus

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Settings are what user space does with objects before it loads them, and what it expects then, by
// the object's name without ".o".
type Settings map[string]*ObjectSettings

// ObjectSettings are the settings of one object.
type ObjectSettings struct {
	Types    map[string]uapi.ProgType // by section or program
	MapSizes map[string]uint32
	// Refused are programs that user space expects the kernel to refuse; "*" is all of them.
	Refused map[string]bool
	// NotLoaded: user space never loads the object; it reads its types, for example.
	NotLoaded bool
}

// ReadSettings reads lines of three words: an object, what is set (type, map-size, refused,
// not-loaded), and NAME=VALUE, a program or *. Empty lines and those that begin with # are skipped.
func ReadSettings(r io.Reader) (Settings, error) {
	out := Settings{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		if len(w) != 3 {
			return nil, fmt.Errorf("line %d: %d words, want three: OBJECT type|map-size|refused|not-loaded NAME[=VALUE]", n, len(w))
		}
		s := out[w[0]]
		if s == nil {
			s = &ObjectSettings{Types: map[string]uapi.ProgType{}, MapSizes: map[string]uint32{}, Refused: map[string]bool{}}
			out[w[0]] = s
		}
		if err := s.set(w[1], w[2]); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return out, lines.Err()
}

func (s *ObjectSettings) set(kind, text string) error {
	name, value, _ := strings.Cut(text, "=")
	switch kind {
	case "type":
		t, ok := uapi.ParseProgType(value)
		if !ok {
			return fmt.Errorf("no program type %q", value)
		}
		s.Types[name] = t
	case "map-size":
		v, err := strconv.ParseUint(value, 0, 32)
		if err != nil {
			return fmt.Errorf("%q is not a number below 2^32", value)
		}
		s.MapSizes[name] = uint32(v)
	case "refused":
		s.Refused[name] = true
	case "not-loaded":
		s.NotLoaded = true
	default:
		return fmt.Errorf("%q is not type, map-size, refused or not-loaded", kind)
	}
	return nil
}

// Open returns the options to open an object with.
func (s *ObjectSettings) Open() (opts []loader.Option) {
	if s == nil {
		return nil
	}
	for name, t := range s.Types {
		opts = append(opts, loader.WithType(name, t))
	}
	return opts
}

// mustRefuse reports whether user space expects a program to be refused.
func (s *ObjectSettings) mustRefuse(program string) bool {
	return s != nil && (s.Refused["*"] || s.Refused[program])
}
