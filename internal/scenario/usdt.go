package scenario

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/usdt"
)

// ofMarker sets where the arguments of a USDT probe are: what the scenario says, or the note of the
// binary that it names. The path in the program's section is never opened: the object is not
// trusted with files of the host.
func (r *Runner) ofMarker(run *Run, in *machine.Input) error {
	n := run.USDT
	if n == nil {
		return nil
	}
	text, err := n.NonEmpty("usdt")
	if err != nil {
		return err
	}
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		in.USDT = &text
		return nil
	}
	place := 1
	if i := strings.LastIndexByte(name, '#'); i >= 0 {
		v, err := strconv.Atoi(name[i+1:])
		if err != nil || v < 1 {
			return n.Errorf("usdt: want @FILE#N with the number of the place from 1, got %s", n.Describe())
		}
		name, place = name[:i], v
	}
	lp, _ := r.m.Linked().Program(run.Prog)
	probe := strings.Split(lp.AttachTo, ":")
	if len(probe) < 3 {
		return n.Errorf("usdt: program %s is not attached to a USDT probe (its section is not usdt/PATH:PROVIDER:NAME)", run.Prog)
	}
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.file.Path), path)
	}
	f, err := os.Open(path)
	if err != nil {
		return n.Wrap("usdt", err)
	}
	defer f.Close()
	notes, err := usdt.Find(f, r.m.Linked().Target.Arch, probe[len(probe)-2], probe[len(probe)-1])
	if err != nil {
		return n.Errorf("usdt: %s %v", name, err)
	}
	if place > len(notes) {
		return n.Errorf("usdt: %s has %d places with probe %s:%s", name, len(notes), probe[len(probe)-2], probe[len(probe)-1])
	}
	in.USDT = &notes[place-1].Args
	return nil
}
